"""A Linux desktop reached by the runner contract alone: its programs, its files, its windows, and input for them."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from PIL.Image import Image

from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.episode.pacing import let_time_pass
from gym_anything.errors import DeadlineExceeded, GuestCommandFailed, GuestFileNotFound
from gym_anything.runtime.runners.base import BaseRunner
from gym_anything.runtime.runners.base_guest import accepts_keyword

FOLDER = "/tmp/gym-anything-input-latency"
T = TypeVar("T")
Box = tuple[int, int, int, int]
"""x, y, width, height."""

_NEEDED = ("exec", "copy_to", "copy_from")
_OPEN_S, _COMMAND_S = 180.0, 60.0
_QUIET_MS, _REST_MS = 150.0, 5000.0
_DOUBLE_CLICK_S = 0.5
_SHORT_QUIET_MS, _SHORT_REST_MS = 30.0, 500.0


class GuestDesktop:
    """The world of an environment, with a folder of its own in it; ``close`` takes both out again."""

    def __init__(self, runner: BaseRunner) -> None:
        """Nothing is done in the world before the first need."""
        self.runner = runner
        self._is_made = False

    # --- what there is -------------------------------------------------------------------------------------------

    def missing(self, *programs: str) -> str | None:
        """Say why programs cannot be run here; None when they can."""
        if not self.runner.has_screen():
            return "this world has no screen"
        if self.runner.get_platform_family() != "linux":
            return f"the programs are of Linux desktops, and this is {self.runner.get_platform_family()}"
        if not all(self.runner.overrides([name]) for name in _NEEDED):
            return "this world runs no commands, or has no files"
        found = self.run(f"for name in {shlex.join(programs)}; do command -v $name >/dev/null && echo $name; done")
        lacking = [name for name in programs if name not in found.split()]
        return f"the world has no {', '.join(lacking)}" if lacking else None

    def screen(self) -> tuple[int, int]:
        """Return the size of the screen in pixels."""
        size = self.runner.screen_size()
        assert size is not None, "only worlds with a screen are measured"
        return size

    # --- programs and files --------------------------------------------------------------------------------------

    def run(self, command: str, timeout_s: float = _COMMAND_S) -> str:
        """Run a command line and return its standard output."""
        limits = {"timeout": timeout_s} if accepts_keyword(self.runner.exec_capture, "timeout") else {}
        return self.runner.exec_capture(command, **limits)

    def put(self, name: str) -> str:
        """Copy one of the files beside this module into the world and return its path there."""
        self._make_folder()
        path = f"{FOLDER}/{name}"
        with resources.as_file(resources.files(__package__) / "guest" / name) as file:
            self.runner.copy_to(file, path)
        return path

    def write(self, name: str, text: str) -> str:
        """Write a file that everybody may change, and return its path."""
        self._make_folder()
        path = f"{FOLDER}/{name}"
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "source"
            source.write_text(text, encoding="utf-8")
            self.runner.copy_to(source, path)
        self.run(f"chmod 666 {path}")
        return path

    def read(self, path: str) -> bytes | None:
        """Return a file's content; None where there is no such file."""
        with tempfile.TemporaryDirectory() as folder:
            try:
                self.runner.copy_from(path, Path(folder) / "copy")
            except GuestFileNotFound:
                return None
            return (Path(folder) / "copy").read_bytes()

    def open_window(self, window_class: str, box: Box, *argv: str) -> None:
        """Start a program and place its window. Raises: GuestCommandFailed when it shows none."""
        x, y, width, height = box
        script = self.put("open_window.sh")
        words = ["sh", script, FOLDER, window_class, *map(str, (width, height, x, y)), *argv]
        said = self.run(f"{shlex.join(words)} 2>&1", _OPEN_S).strip()
        number = said.rpartition("\n")[2]
        if not number.isdecimal():
            raise GuestCommandFailed(f"{argv[0]} shows no window: {said[-600:]}", detail={"command": argv[0]})
        self.rest()

    def titles(self, window_class: str) -> list[str]:
        """Return the titles of all visible windows of a class."""
        found = f"$(xdotool search --onlyvisible --class {window_class} 2>/dev/null)"
        return self.run(f"for window in {found}; do xdotool getwindowname $window; done").splitlines()

    def _make_folder(self) -> None:
        if not self._is_made:
            self.run(f"mkdir -p {FOLDER} && chmod 777 {FOLDER}")
            self._is_made = True

    def close(self) -> None:
        """End the programs and remove the folder: a world may live longer than this measurement."""
        if self._is_made:
            started = f"for group in $(cat {FOLDER}/started 2>/dev/null); do kill -KILL -- -$group; done"
            self.run(f"{started} 2>/dev/null; rm -rf {FOLDER}")
            self._is_made = False

    # --- input and pictures --------------------------------------------------------------------------------------

    def act(self, *actions: dict[str, Any]) -> None:
        """Do actions; where the world does not acknowledge input, let each be taken before the next."""
        for action in actions:
            self.runner.inject_action(action)
            if not self.runner.acks_input_delivery():
                self.rest()

    def rest(self) -> None:
        """Wait until the screen is still; five seconds at most, since some never are."""
        self.runner.settle(_QUIET_MS, _REST_MS)

    def let_clicks_pass(self) -> None:
        """Let so much time pass that the next press is no part of a double click with the last one.

        GTK 3 takes a double click for two single ones that soon after a click elsewhere, whoever makes them.
        """
        let_time_pass(self.runner, _DOUBLE_CLICK_S, "the time of a double click")

    def rest_shortly(self) -> None:
        """Wait until nothing is being drawn; half a second at most."""
        if self.runner.has_screen():
            self.runner.settle(_SHORT_QUIET_MS, _SHORT_REST_MS)

    def picture(self) -> Image:
        """Return the screen once it is still."""
        self.rest()
        return self.runner.capture_screenshot_image()


def last_answer(ask: Callable[[], T], is_right: Callable[[T], bool], limit_s: float, awaited: str) -> T:
    """Ask until an answer is right, at most so long, and return the last one, right or not."""
    answer = ask()

    def asked() -> bool:
        nonlocal answer
        answer = ask()
        return is_right(answer)

    try:
        wait_until(asked, deadline=Deadline.after(limit_s), awaited=awaited)
    except DeadlineExceeded:
        return answer  # the caller compares, and says what came instead
    return answer
