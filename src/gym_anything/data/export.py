"""Exports: trajectories in, a folder out. The one door for programs; ``gym-anything export`` is its face."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Protocol

from gym_anything.data.hub import HubWriter
from gym_anything.data.output_folder import new_folder
from gym_anything.data.sft import SftWriter
from gym_anything.data.sources import LeftOut
from gym_anything.data.tables import TableWriter
from gym_anything.data.trajectory import Trajectory
from gym_anything.errors import BenchmarkError

Format = Literal["sft", "parquet", "hf"]
FORMATS: tuple[Format, ...] = ("sft", "parquet", "hf")


class Writer(Protocol):
    """Who writes trajectories in one format; a context manager."""

    def add(self, trajectory: Trajectory) -> str | None:
        """Write one; returns why it cannot be in this format, or None."""
        ...

    def __enter__(self) -> Any: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class ExportSummary:
    """What an export came to.

    Attributes:
        folder: where it lies. form: its format.
        episodes, steps: written. left_out: episodes by why they are not in it. stories: some of these in words.
    """

    folder: Path
    form: Format
    episodes: int
    steps: int
    left_out: Mapping[str, int] = field(default_factory=dict)
    stories: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "folder": str(self.folder),
            "format": self.form,
            "episodes": self.episodes,
            "steps": self.steps,
            "left_out": dict(self.left_out),
            "stories": list(self.stories),
        }


def export(
    trajectories: Iterable[Trajectory],
    out: Path,
    form: Format,
    *,
    allow_missing: bool = False,
    left_out: LeftOut | None = None,
) -> ExportSummary:
    """Write trajectories into a new folder, one after the other; it appears when all are written.

    Args:
        out: not there yet, or empty.
        form: ``sft`` (JSON lines and pictures), ``parquet`` (typed tables and pictures), ``hf`` (a data set with the
            pictures in it).
        allow_missing: chat formats take episodes too of which not all pictures were kept.
        left_out: what the source of the trajectories has left out so far; what this leaves out is added.
    Raises: BenchmarkError (the folder is taken; nothing was left to write), MissingExtra (before anything is read).
    """
    left_out = left_out if left_out is not None else LeftOut()
    episodes = steps = 0
    with new_folder(out) as folder:
        with _writer(folder, form, allow_missing=allow_missing) as writer:
            for trajectory in trajectories:
                reason = writer.add(trajectory)
                if reason is not None:
                    left_out.add(reason)
                    continue
                episodes += 1
                steps += len(trajectory.steps)
        if episodes == 0:
            raise BenchmarkError(_nothing(left_out), detail={"left_out": dict(left_out.counts)})
    return ExportSummary(out.absolute(), form, episodes, steps, dict(left_out.counts), tuple(left_out.stories))


def _writer(folder: Path, form: Format, *, allow_missing: bool) -> Writer:
    match form:
        case "sft":
            return SftWriter(folder, allow_missing=allow_missing)
        case "parquet":
            return TableWriter(folder)
        case "hf":
            return HubWriter(folder, allow_missing=allow_missing)
    raise BenchmarkError(f"there is no format {form!r}; there are {', '.join(FORMATS)}")


def _nothing(left_out: LeftOut) -> str:
    counts = ", ".join(f"{count} {reason}" for reason, count in left_out.counts.items())
    hint = ""
    if "without all its pictures" in left_out.counts:
        hint = "; play without --fast-io, which keeps two pictures a second, or take them by --allow-missing-pictures"
    return f"no episode is left to export: {counts or 'there is none'}{hint}"
