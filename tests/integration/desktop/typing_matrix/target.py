"""A real application with a text field that can be typed into, read past the keyboard, and emptied."""

from __future__ import annotations

import json
import queue
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any, ClassVar

from gym_anything._util.waiting import wait_until
from gym_anything.actions.model import Click, PressKeys
from gym_anything.runtime.desktop.client import DesktopClient
from tests.integration.desktop.screen import Screen, soon

FIELDS = Path(__file__).with_name("fields")
SYSTEM_PYTHON = "/usr/bin/python3"
LIMIT_S = 15.0


def start_window_manager(screen: Screen) -> None:
    """Start openbox and wait until it manages windows."""
    screen.start(["openbox"])
    wait_until(lambda: "= _NET" in screen.run("xprop", "-root", "_NET_SUPPORTED"), deadline=soon(), awaited="openbox")


class Target:
    """A text field with the focus. F9 makes it give what it holds, and empty itself: so every key before has been read."""

    name: ClassVar[str]
    programs: ClassVar[tuple[str, ...]] = ()
    is_quick: ClassVar[bool] = True

    def __init__(self, screen: Screen, client: DesktopClient) -> None:
        """Nothing runs before ``begin``; ``stop`` comes after it, however it ended."""
        self.screen = screen
        self.client = client
        self.given: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def begin(self) -> None:
        """Start the application and put the focus into its field."""
        self.start()
        self.client.settle(200, 5000)
        self.client.send([Click("left", 300, 300)])

    @classmethod
    def missing(cls) -> str:
        """Return why this application cannot be started here; empty when it can."""
        absent = [program for program in cls.programs if shutil.which(program) is None]
        return f"{absent} not installed" if absent else ""

    def start(self) -> None:
        """Start the application and wait until it has a window."""
        raise NotImplementedError

    def take(self, wanted: str = "") -> str:
        """Return what the field holds, once it has read every key sent so far, and empty it; ``wanted`` may help it to know."""
        self.client.send([PressKeys(("F9",))])
        return self.next_given()

    def next_given(self) -> str:
        try:
            return self.given.get(timeout=LIMIT_S)
        except queue.Empty:
            return "(the application gave nothing)"

    def stop(self) -> None:
        """End what the screen does not end."""

    def start_program(self, *argv: str | Path) -> subprocess.Popen[bytes]:
        """Start a program that prints a JSON text a line, the first one when it is ready."""
        program = self.screen.start(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        threading.Thread(target=self._read, args=(program,), daemon=True).start()
        assert self.given.get(timeout=60) == "ready"
        return program

    def _read(self, program: subprocess.Popen[bytes]) -> None:
        assert program.stdout
        for line in program.stdout:
            self.given.put(json.loads(line))


def cannot_import(statement: str) -> str:
    """Return why the system's Python cannot do an import; empty when it can."""
    tried = subprocess.run([SYSTEM_PYTHON, "-c", statement], capture_output=True, text=True)
    return tried.stderr.strip().splitlines()[-1] if tried.returncode else ""
