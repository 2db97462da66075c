"""Copies of a running machine's memory: most of it while it runs, what has changed since while it stands still.

A *whole* copy needs nothing else, and may stay. *Changes* are what differs from the file that the machine is a copy of;
they are mapped over it (``ga-memory``), so that what every copy has in common is written no second time.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from gym_anything._util.reflink import copy_file
from gym_anything.errors import CheckpointError
from gym_anything.runtime.qemu.private_memory import PAGE_BYTES, Pages, PrivateMemory, Run, runs_of, write_shared

_PAIR = np.dtype("<u8")


@dataclass(frozen=True, slots=True)
class MemoryFiles:
    """What the memory of clones is made of: a file, and the file with what is different from it."""

    whole: Path
    changes: Path | None = None

    @property
    def all(self) -> tuple[Path, ...]:
        """Both, or the one."""
        return (self.whole,) if self.changes is None else (self.whole, self.changes)


class MemoryCopy(Protocol):
    """A copy in the making."""

    def begin(self, pid: int) -> None:
        """Copy what can be copied while the machine runs. Raises: CheckpointError."""

    def finish(self, pid: int) -> None:
        """Copy what is missing; the machine stands still. Raises: CheckpointError."""


class WholeCopy:
    """A new file with all of the memory."""

    def __init__(self, made_of: Path | None, target: Path) -> None:
        """Args: made_of: the file that the machine is a copy of; None for a machine that was booted."""
        self._made_of, self._target = made_of, target

    def begin(self, pid: int) -> None:
        """See ``MemoryCopy``. What was written over is quicker to write once more, and waits for no disk."""
        if self._made_of is not None:
            copy_file(self._made_of, self._target)
            self._write(pid, self._made_of)

    def finish(self, pid: int) -> None:
        """See ``MemoryCopy``."""
        if self._made_of is None:
            write_shared(pid, self._target)
        else:
            self._write(pid, self._made_of)

    def _write(self, pid: int, made_of: Path) -> None:
        memory = PrivateMemory(pid, (made_of,))
        memory.write(runs_of(memory.own()), self._target)


class ChangesCopy:
    """A new file with what is different from the file that the machine is a copy of, in the end or all along."""

    def __init__(self, made_of: MemoryFiles, target: Path) -> None:
        self._made_of, self._target = made_of, target
        self._old: list[Run] = []
        self._seen: Pages | None = None

    def begin(self, pid: int) -> None:
        """See ``MemoryCopy``."""
        size = self._made_of.whole.stat().st_size
        if self._made_of.changes is not None:
            self._old = read_list(self._made_of.changes, size)
        with self._target.open("xb") as file:
            os.fchmod(file.fileno(), 0o600)
            file.truncate(size)
        memory = PrivateMemory(pid, self._made_of.all)
        self._seen = memory.own()
        memory.write([*self._old, *runs_of(self._seen)], self._target)

    def finish(self, pid: int) -> None:
        """See ``MemoryCopy``."""
        memory = PrivateMemory(pid, self._made_of.all)
        own = memory.own()
        runs = runs_of(own if self._seen is None else own | self._seen)
        memory.write(runs, self._target)
        write_list(self._target, self._made_of.whole.stat().st_size, [*self._old, *runs])


def write_list(changes: Path, size: int, runs: Sequence[Run]) -> None:
    """Append the list of what a file of changes holds, where ``ga-memory`` looks for it: behind the memory's size."""
    pairs = np.array([*((run.place, run.size) for run in runs), (0, 0)], _PAIR)
    with changes.open("r+b") as file:
        file.seek(size)
        file.write(pairs.tobytes())


def read_list(changes: Path, size: int) -> list[Run]:
    """Return what a file of changes holds. Raises: CheckpointError when it has no whole list."""
    with changes.open("rb") as file:
        file.seek(size)
        data = file.read()
    pairs = np.frombuffer(data, _PAIR).reshape(-1, 2) if len(data) % (2 * _PAIR.itemsize) == 0 else None
    if pairs is None or not len(pairs) or pairs[-1].any() or (pairs % PAGE_BYTES).any():
        raise CheckpointError(f"{changes} does not say whole what it holds of a machine's memory")
    return [Run(int(place), int(length)) for place, length in pairs[:-1]]
