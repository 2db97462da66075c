"""What doctor reports: one row for each thing that it tried."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from gym_anything._util.deadline import Deadline


@dataclass(frozen=True, slots=True)
class Check:
    """One row.

    Attributes:
        name: stable short name, ``area`` or ``area:thing`` (``x-server``, ``limit:fs.aio-max-nr``).
        ok: it was tried and it works.
        detail: what was seen, or why it does not work.
        required: no world of any kind can run without it, or it was asked for by name. Only these decide the exit code.
        fix: the command line that repairs it; empty when it is fine.
    """

    name: str
    ok: bool
    detail: str
    required: bool = False
    fix: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return ``{name, ok, detail, required}`` and, for a failure, ``fix``."""
        row: dict[str, Any] = {"name": self.name, "ok": self.ok, "detail": self.detail, "required": self.required}
        return row if self.ok or not self.fix else {**row, "fix": self.fix}


@dataclass(frozen=True, slots=True)
class Report:
    """All rows of one examination."""

    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Tell whether everything required works."""
        return all(check.ok for check in self.checks if check.required)

    def to_dict(self) -> dict[str, Any]:
        """Return the document of ``doctor --json``."""
        return {"ok": self.ok, "checks": [check.to_dict() for check in self.checks]}


@dataclass(frozen=True, slots=True)
class Probe:
    """Something to try.

    Attributes:
        name: the name of its row when it gives no answer in time or breaks.
        run: tries it; leaves nothing behind; ends soon after the deadline.
        required: whether that row is required.
    """

    name: str
    run: Callable[[Deadline], Iterable[Check]]
    required: bool = False
