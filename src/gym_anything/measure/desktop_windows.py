"""Programs in windows of their own that answer what is done to them: one takes another colour, one takes text."""

from __future__ import annotations

import os
import shutil
import sys
import time
from types import TracebackType

from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.actions.model import Click
from gym_anything.measure.desktop_rig import Rig

_START_S, _TYPED_S, _QUIET_S = 30.0, 60.0, 0.5


class ReactingWindow:
    """A window over the whole screen, of a process of its own, that takes another colour at every press."""

    def __init__(self, rig: Rig) -> None:
        """Open it."""
        ready = rig.folder / "reacting-window-ready"
        argv = [sys.executable, "-m", "gym_anything.measure.reacting_window", str(ready)]
        self._process = rig.screen.spawn(argv, "the reacting window", rig.folder / "reacting-window.log")
        wait_until(ready.exists, deadline=Deadline.after(_START_S), awaited="the reacting window")

    def close(self) -> None:
        """Close it."""
        self._process.stop()

    def __enter__(self) -> ReactingWindow:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


class Terminal:
    """An xterm in which ``cat`` writes what it is typed into a file."""

    def __init__(self, rig: Rig) -> None:
        """Open it and give it the focus."""
        self._typed = rig.folder / "typed.txt"
        self._typed.touch()
        ready = rig.folder / "terminal-ready"
        script = f"stty -echo -icanon min 1 -iexten -isig -ixon; : > {ready}; exec cat >> {self._typed}"
        argv = ["xterm", "-u8", "-geometry", "80x24+0+0", "-e", "sh", "-c", script]
        self._process = rig.screen.spawn(argv, "xterm", rig.folder / "xterm.log", {"LANG": "C.UTF-8"})
        wait_until(ready.exists, deadline=Deadline.after(_START_S), awaited="the terminal")
        rig.desktop.send([Click("left", 200, 100)])

    @staticmethod
    def missing() -> str | None:
        """Say why there can be none."""
        return None if shutil.which("xterm") else "xterm is not installed"

    def take(self, awaited: str) -> tuple[str, float]:
        """Wait until a text has arrived, or nothing has for half a second; then begin anew.

        Returns: what arrived, and when the last of it did (``time.perf_counter``).
        """
        want, seen, changed_at = len(awaited.encode()), 0, time.perf_counter()

        def complete_or_quiet() -> bool:
            nonlocal seen, changed_at
            size, now = self._typed.stat().st_size, time.perf_counter()
            if size != seen:
                seen, changed_at = size, now
            return size >= want or now - changed_at > _QUIET_S

        wait_until(
            complete_or_quiet,
            deadline=Deadline.after(_TYPED_S),
            awaited="the typed text",
            poll_s=0.001,
            status=lambda: f"{seen} of {want} bytes",
        )
        text = self._typed.read_text(encoding="utf-8", errors="replace")
        os.truncate(self._typed, 0)  # cat appends
        return text, changed_at

    def close(self) -> None:
        """Close its window."""
        self._process.stop()

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()
