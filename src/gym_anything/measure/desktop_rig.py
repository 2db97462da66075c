"""A private desktop to measure on: X server, desktop service, a window that is painted."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from gym_anything._util.deadline import Deadline
from gym_anything._util.state_dir import Run
from gym_anything._util.supervisor import Supervisor
from gym_anything.measure.screen_environment import environment_for
from gym_anything.runtime.desktop.private_screen import PrivateScreen
from gym_anything.runtime.desktop.x_client import Box

SIZE = (1920, 1080)
FULL: Box = (0, 0, *SIZE)
PART: Box = (200, 150, 400, 300)
_START_S, _PROGRAM_S, _LIFE_S = 30.0, 60.0, 3600.0
_LINE_PX, _WORD_PX, _INK = 18, 64, 0x303438


class Rig:
    """One X server with everything that is measured. A context manager; its end leaves nothing."""

    def __init__(self, server: str, *, start_service: bool = True) -> None:
        """Start it. Raises: GymAnythingError kinds when it does not come up; nothing is left then."""
        self.server = server
        self._world = Run.current().new_world("bench")
        try:
            self.screen = PrivateScreen(server, self._world, SIZE, Deadline.after(_START_S))
            self.library_env = environment_for(self.screen.env, self.screen.cookie, self.folder)
            if start_service:
                self.desktop = self.screen.start_service(Deadline.after(_START_S))
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

    def open_window(self) -> None:
        """Cover the screen with the window that ``paint`` draws in."""
        self.painter = self.screen.x_client(Deadline.after(_LIFE_S))
        self.painter.show_window(0x102030)

    def paint(self, number: int, box: Box = FULL) -> int:
        """Fill a box with something like a page of text, all in one step; it is there when this returns.

        Args: number: another one gives another page; neighbours differ in every pixel.
        Returns: the colour of its top left corner.
        """
        paper = 0xA0A0A0 + number % 95 * 0x010101
        rng, (left, top, width, height) = random.Random(number), box
        rectangles = [(paper, *box)]
        for y in range(top + _LINE_PX, top + height - _LINE_PX, _LINE_PX):
            for x in range(left + _WORD_PX // 2, left + width - _WORD_PX, _WORD_PX):
                rectangles.append((_INK + rng.randrange(0x40), x, y, rng.randrange(8, _WORD_PX - 4), _LINE_PX // 2))
        self.painter.show_at_once(box, rectangles)
        return paper

    def run(self, argv: Sequence[str]) -> None:
        """Run one of the other ways' programs on the screen to its end. Raises: CalledProcessError, TimeoutExpired."""
        env = {**os.environ, **self.screen.env}
        subprocess.run(argv, env=env, check=True, capture_output=True, timeout=_PROGRAM_S)

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
