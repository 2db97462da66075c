"""An X server and a desktop service of one's own, to examine or to measure: nobody else can enter, nothing is left."""

from __future__ import annotations

import os
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

from gym_anything._util import logs
from gym_anything._util.deadline import Deadline
from gym_anything._util.state_dir import WorldDir
from gym_anything._util.supervisor import SupervisedProcess, Supervisor
from gym_anything._util.waiting import wait_until
from gym_anything.errors import HostError, NativeProgramMissing
from gym_anything.runtime.desktop.client import DesktopClient
from gym_anything.runtime.desktop.x_client import COOKIE_BYTES, XClient, write_cookie_file
from gym_anything.runtime.native.locate import find_program

# The options differ in what keeps the server to itself: no TCP, no abstract socket, VNC on a private Unix socket.
SERVERS = {
    "Xvnc": "-geometry {size} -depth 24 -rfbport -1 -rfbunixpath {folder}/vnc -SecurityTypes None",
    "Xvfb": "-screen 0 {size}x24",
}
"""Program to options, the preferred first."""
PACKAGES = {"Xvnc": "tigervnc-standalone-server", "Xvfb": "xvfb"}
_COMMON = "-auth {folder}/cookie -nolisten tcp -nolisten local -noreset"
_DISPLAYS = (1000, 50_000)
_TRIES = 5


class PrivateScreen:
    """An X server with a cookie of its own. Its programs carry its world's label, and ``stop_world`` ends them."""

    def __init__(self, server: str, world: WorldDir, size: tuple[int, int], deadline: Deadline) -> None:
        """Start the server.

        Args:
            server: a key of ``SERVERS``.
            world: whose folder holds cookie, sockets and logs. The caller ends it, also when this raises.
        Raises: ProcessStartFailed, HostError (it ended at once; with the log's tail), DeadlineExceeded.
        """
        self.world, self._folder = world, world.path
        self.cookie = os.urandom(COOKIE_BYTES)
        self.service: SupervisedProcess | None = None
        write_cookie_file(self._folder / "cookie", self.cookie)
        self.number = self._start(server, f"{size[0]}x{size[1]}", deadline)

    @property
    def env(self) -> dict[str, str]:
        """What a program needs to reach the screen."""
        return {"DISPLAY": f":{self.number}", "XAUTHORITY": str(self._folder / "cookie")}

    def x_client(self, deadline: Deadline) -> XClient:
        """Connect a client that paints and reads back by itself. Raises: OSError, WorldLost."""
        return XClient(socket_of(self.number), self.cookie, deadline)

    def start_service(self, deadline: Deadline) -> DesktopClient:
        """Start a desktop service on the screen and connect to it.

        Raises: NativeProgramMissing, HostError, as ``DesktopClient.connect``.
        """
        program = find_program("ga-desktop")
        if program is None:
            raise NativeProgramMissing("ga-desktop is not built", detail={"fix": "gym-anything doctor --fix"})
        path, log = self.world.socket_path("desktop"), self.service_log
        argv = [str(program), "--display", f":{self.number}", "--socket", str(path)]
        self.service = self.spawn(argv, "ga-desktop", log)
        _until_it_listens(self.service, path, log, deadline)
        if self.service.poll() is not None:
            raise HostError(f"ga-desktop ended with {self.service.returncode}")
        return DesktopClient.connect(path, deadline=deadline)

    @property
    def service_log(self) -> Path:
        """What the service said on standard error."""
        return self._folder / "service.log"

    def spawn(
        self, argv: Sequence[str], name: str, log: Path, env: Mapping[str, str] | None = None
    ) -> SupervisedProcess:
        """Start a program on the screen; what it says goes to ``log``. Raises: as ``Supervisor.spawn``."""
        reach = self.env if hasattr(self, "number") else {}
        with log.open("wb") as file:
            out = file.fileno()
            everything = {**os.environ, **reach, **self.world.env, **(env or {})}
            return Supervisor.shared().spawn(argv, name=name, env=everything, stdout=out, stderr=out)

    def _start(self, name: str, size: str, deadline: Deadline) -> int:
        """Start it on a display number of our own choice. ``-displayfd`` would let two servers take the same one."""
        options = f"{_COMMON} {SERVERS[name]}".split()
        for _ in range(_TRIES):
            display = random.randrange(*_DISPLAYS)
            argv = [name, f":{display}", *(option.format(folder=self._folder, size=size) for option in options)]
            log = self._folder / f"server-{display}.log"
            process = self.spawn(argv, name, log)
            _until_it_listens(process, Path(socket_of(display)), log, deadline)
            if process.poll() is None:
                return display
        raise HostError(f"it ended with {process.returncode}: {logs.tail(log, 5)}")


def _until_it_listens(process: SupervisedProcess, path: Path, log: Path, deadline: Deadline) -> None:
    wait_until(
        lambda: path.is_socket() or process.poll() is not None,
        deadline=deadline,
        awaited=f"{process.name}'s socket",
        log_tail=lambda: logs.tail(log, 5),
    )


def socket_of(display: int) -> str:
    """Return the Unix socket of a display."""
    return f"/tmp/.X11-unix/X{display}"
