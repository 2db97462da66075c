"""A private desktop to measure on: X server, desktop service, a window that is painted, a terminal to type into."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from gym_anything._util import proc
from gym_anything._util.deadline import Deadline
from gym_anything._util.state_dir import Run
from gym_anything._util.supervisor import Supervisor
from gym_anything._util.waiting import wait_until
from gym_anything.actions.model import Click
from gym_anything.runtime.desktop.private_screen import PrivateScreen

SIZE = (1920, 1080)
_START_S, _PROGRAM_S, _LIFE_S = 30.0, 20.0, 3600.0
_NANOSECONDS_PER_S = 1e9


class Rig:
    """One X server with everything that is measured. A context manager; its end leaves nothing."""

    def __init__(self, server: str) -> None:
        """Start it. Raises: GymAnythingError kinds when it does not come up; nothing is left then."""
        self.server = server
        self._world = Run.current().new_world("bench")
        try:
            began = time.perf_counter()
            self.screen = PrivateScreen(server, self._world, SIZE, Deadline.after(_START_S))
            self.desktop = self.screen.start_service(Deadline.after(_START_S))
            self.desktop.frame()
            self.start_ms = (time.perf_counter() - began) * 1000
            self.painter = self.screen.x_client(Deadline.after(_LIFE_S))
            self.painter.show_window(0x102030)
        except BaseException:
            self.close()
            raise

    @property
    def folder(self) -> Path:
        """A folder for what is written; it goes with the rig."""
        return self._world.path

    @property
    def service_pid(self) -> int:
        """The process of the desktop service."""
        assert self.screen.service is not None
        return self.screen.service.pid

    def run(self, argv: Sequence[str]) -> None:
        """Run one of the other ways' programs on the screen to its end. Raises: CalledProcessError, TimeoutExpired."""
        env = {**os.environ, **self.screen.env}
        subprocess.run(argv, env=env, check=True, capture_output=True, timeout=_PROGRAM_S)

    def open_terminal(self) -> Terminal:
        """Open a terminal over the painted window."""
        return Terminal(self)

    def processor_s(self) -> float:
        """Return the processor time that the service has used."""
        threads = Path(f"/proc/{self.service_pid}/task").glob("*/schedstat")
        return sum(int(path.read_text(encoding="ascii").split()[0]) for path in threads) / _NANOSECONDS_PER_S

    def memory_mib(self) -> float:
        """Return the service's proportional share of memory."""
        return proc.pss_kib(self.service_pid) / 1024

    def close(self) -> None:
        """End everything, and remove its folder."""
        for part in ("desktop", "painter"):
            if hasattr(self, part):
                getattr(self, part).close()
        Supervisor.shared().stop_world(self._world.id)
        self._world.remove()

    def __enter__(self) -> Rig:
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

    def take(self, count: int) -> str:
        """Wait until so much has arrived, then return it and begin anew."""
        wait_until(
            lambda: self._typed.stat().st_size >= count,
            deadline=Deadline.after(_PROGRAM_S),
            awaited="the typed text",
            poll_s=0.002,
            status=lambda: f"{self._typed.stat().st_size} of {count} bytes",
        )
        text = self._typed.read_text(encoding="utf-8", errors="replace")
        os.truncate(self._typed, 0)  # cat appends
        return text

    def close(self) -> None:
        """Close its window."""
        self._process.stop()
