"""A real X server, a real desktop service on it, and independent eyes and hands, for tests."""

from __future__ import annotations

import contextlib
import os
import queue
import secrets
import signal
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt
from PIL import Image

from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.runtime.desktop.client import DesktopClient
from tests.integration.desktop.servers import XORG as XORG
from tests.integration.desktop.servers import XVFB as XVFB
from tests.integration.desktop.servers import XVNC as XVNC
from tests.integration.desktop.servers import server_argv


def soon(seconds: float = 20.0) -> Deadline:
    """Return a deadline that a healthy test never meets."""
    return Deadline.after(seconds)


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a process that the test started, and what it has started in its turn."""
    if process.poll() is None:
        process.send_signal(signal.SIGCONT)
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(5)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(5)


class Screen:
    """An X server and a ga-desktop. Starts on creation; ``stop`` ends all that it started."""

    def __init__(
        self,
        program: Path,
        folder: Path,
        *,
        server: str = XVFB,
        size: tuple[int, int] = (1280, 800),
        server_options: Sequence[str] = (),
        start_service: bool = True,
    ) -> None:
        self.program = program
        self.folder = folder
        self.processes: list[subprocess.Popen[bytes]] = []
        self.clients: list[DesktopClient] = []
        self.token = secrets.token_bytes(32)
        self.socket = folder / "desktop.sock"
        reader, writer = os.pipe()
        common = ["-displayfd", str(writer), "-nolisten", "tcp", "-noreset", *server_options]
        try:
            self.server = self.start(server_argv(server, folder, size, common), pass_fds=[writer])
        finally:
            os.close(writer)
        with os.fdopen(reader) as answer:
            self.display = f":{answer.readline().strip()}"
        if start_service:
            self.service = self.start_service()

    def start(
        self,
        argv: Sequence[str | Path],
        *,
        pass_fds: Sequence[int] = (),
        stdin: int | None = subprocess.DEVNULL,
        stdout: int | IO[bytes] | None = subprocess.DEVNULL,
    ) -> subprocess.Popen[bytes]:
        """Start a program on the screen; ``stop`` ends it."""
        env = {**os.environ, "DISPLAY": getattr(self, "display", ""), "LANG": "C.UTF-8", "GTK_IM_MODULE": "none"}
        env |= {"GTK_A11Y": "none", "NO_AT_BRIDGE": "1", "DBUS_SESSION_BUS_ADDRESS": "disabled:"}
        with (self.folder / f"{Path(argv[0]).name}.log").open("ab") as log:
            process = subprocess.Popen(
                argv, env=env, pass_fds=pass_fds, stdin=stdin, stdout=stdout, stderr=log, start_new_session=True
            )
        self.processes.append(process)
        return process

    def start_service(self, *options: str) -> subprocess.Popen[bytes]:
        """Start a desktop service on the screen."""
        reader, writer = os.pipe()
        os.write(writer, self.token)
        os.close(writer)
        argv = [str(self.program), "--display", self.display, "--socket", str(self.socket), "--token-fd", str(reader)]
        try:
            return self.start([*argv, *options], pass_fds=[reader])
        finally:
            os.close(reader)

    def client(self) -> DesktopClient:
        """Return a new client."""
        self.clients.append(DesktopClient.connect(self.socket, deadline=soon(), token=self.token))
        return self.clients[-1]

    def run(self, *argv: str) -> str:
        """Run a program on the screen to its end and return what it says."""
        env = {**os.environ, "DISPLAY": self.display}
        return subprocess.run(argv, env=env, check=True, capture_output=True, text=True, timeout=20).stdout

    def grab(self) -> npt.NDArray[np.uint8]:
        """Return the screen as ImageMagick sees it: eyes that share nothing with ours."""
        path = self.folder / "grab.ppm"
        self.run("import", "-silent", "-window", "root", "-depth", "8", str(path))
        with Image.open(path) as image:
            return np.asarray(image.convert("RGB"))

    def keyboard_map(self) -> str:
        """Return the whole keyboard map as text, as xkbcomp sees it."""
        return self.run("xkbcomp", "-xkb", self.display, "-")

    def log(self, name: str) -> str:
        """Return what a program said on stderr."""
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def stop(self) -> None:
        """End everything, the X server last."""
        for client in self.clients:
            client.close()
        for process in reversed(self.processes):
            stop(process)
            for pipe in (process.stdin, process.stdout):
                if pipe:
                    pipe.close()


class Probe:
    """A window that draws what it is told and says what input it got."""

    def __init__(self, screen: Screen, program: Path, box: tuple[int, int, int, int]) -> None:
        argv = [program, *map(str, box)]
        self.process = screen.start(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.events: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        assert self._next() == "ready"

    def tell(self, command: str) -> None:
        """Give a command and wait until the X server has done it."""
        self.tell_only(command)
        self.await_done()

    def tell_only(self, command: str) -> None:
        """Give a command without waiting."""
        assert self.process.stdin
        self.process.stdin.write(command.encode() + b"\n")
        self.process.stdin.flush()

    def await_done(self) -> None:
        """Wait for the answer to ``tell_only``."""
        while (line := self._next()) != "done":
            self.events.append(line)

    def await_events(self, count: int, kind: str = "") -> list[list[str]]:
        """Wait for ``count`` events of a kind and return all of the kind, split into words."""

        def enough() -> bool:
            while not self._lines.empty():
                self.events.append(self._lines.get())
            return len(self.of(kind)) >= count

        wait_until(enough, deadline=soon(), awaited=f"{count} events {kind!r}", status=lambda: repr(self.events[-20:]))
        return self.of(kind)

    def of(self, kind: str) -> list[list[str]]:
        """Return the events seen so far whose line starts with ``kind``."""
        return [line.split() for line in self.events if line.startswith(kind)]

    def forget(self) -> None:
        """Forget the events so far; what the X server has delivered is in them."""
        self.tell("sync")
        self.events.clear()

    def _next(self) -> str:
        return self._lines.get(timeout=20)

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self._lines.put(line.decode().strip())
