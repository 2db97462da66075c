"""How far a build is: what mmdebstrap says in its log, then how many files are written."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from gym_anything._util import logs
from gym_anything.runtime.images.finish import Finisher

_TICKS = 500

Progress = Callable[[str, int], object]
"""Told what is being done, and how many files are written so far."""


class LogWatch:
    """Tells the progress: what mmdebstrap says it is doing, then how many files are written."""

    def __init__(self, log: Path, progress: Progress, finisher: Finisher) -> None:
        self._log = log
        self._progress = progress
        self._finisher = finisher
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="image-log", daemon=True)
        self._thread.start()

    def tick(self) -> None:
        """Count a file."""
        if self._finisher.members % _TICKS == 0:
            self._progress("writing the root file system", self._finisher.members)

    def stop(self) -> None:
        """End; returns when nothing more is told."""
        self._ended.set()
        self._thread.join()

    def _follow(self) -> None:
        told = ""
        while not self._ended.wait(0.2):
            if self._finisher.members:
                continue
            said = stage_of(logs.tail(self._log, 40))
            if said and said != told:
                told = said
                self._progress(said, 0)


def stage_of(log: str) -> str:
    """Return the last thing mmdebstrap said that it is doing."""
    found: Sequence[str] = [line[3:].strip().rstrip(".") for line in log.splitlines() if line.startswith("I: ")]
    return found[-1] if found else ""
