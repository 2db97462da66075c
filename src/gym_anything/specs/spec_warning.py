"""What is odd about a spec but does not stop it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from gym_anything.specs.near_miss import near_miss


@dataclass(frozen=True, slots=True)
class SpecWarning:
    """One remark about a spec.

    Attributes:
        file: where it is.
        key: key path; empty for the file as a whole.
        kind: stable word for counting and filtering: ``near-miss``, ``reward-type``, ``duplicate-target`` …
        message: the remark, with what was done about it.
    """

    file: str
    key: str
    kind: str
    message: str

    def __str__(self) -> str:
        return f"{self.file}: {self.key}: {self.message}" if self.key else f"{self.file}: {self.message}"

    def as_dict(self) -> dict[str, str]:
        """Return the plain form for reports."""
        return asdict(self)


def near_miss_warnings(origin: str, data: Mapping[str, Any], known: tuple[str, ...]) -> list[SpecWarning]:
    """Return a warning for each unknown top-level key that looks like a slip of a known one."""
    found = []
    for key in data:
        meant = near_miss(key, known) if key not in known else None
        if meant:
            message = f"unknown key, kept in extras; did you mean {meant!r}?"
            found.append(SpecWarning(origin, key, "near-miss", message))
    return found
