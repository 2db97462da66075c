"""The way into a guest that has no ``ga-guest``: what its runner asks of it."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from gym_anything._util.deadline import Deadline
from gym_anything.runtime.guest.exec_result import ExecResult


class OtherShell(Protocol):
    """Command lines and files. Everything may be called from any thread; ``abort`` ends what is blocked."""

    def run(self, command: str, deadline: Deadline) -> ExecResult:
        """Run one command line of the guest's own shell, with the most rights there are."""
        ...

    def put(self, source: Path, destination: str, deadline: Deadline) -> None:
        """Copy a file, or a folder with what is in it, into the guest."""
        ...

    def get(self, source: str, destination: Path, deadline: Deadline) -> None:
        """Copy a file, or a folder with what is in it, out of the guest."""
        ...

    def is_up(self, deadline: Deadline) -> str:
        """Return nothing when the guest can be used, else what it is still waiting for."""
        ...

    def abort(self) -> None:
        """End every blocked and later call with ``Aborted``; returns at once."""
        ...
