"""Trials of typing: a text is typed into a real application, and what arrived is compared with it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from gym_anything.actions.model import TypeText
from gym_anything.runtime.desktop.client import DesktopClient
from tests.integration.desktop.screen import Screen
from tests.integration.desktop.typing_matrix.target import Target, start_window_manager
from tests.integration.desktop.typing_matrix.texts import SCRIPTS


@dataclass(frozen=True)
class Trial:
    """One text typed.

    Attributes:
        typed: what was sent.
        arrived: what the application holds.
        ack_ms: until the acknowledgement.
        arrived_ms: until the application had given its text.
    """

    typed: str
    arrived: str
    ack_ms: float
    arrived_ms: float

    @property
    def exact(self) -> bool:
        return self.typed == self.arrived

    def difference(self) -> str:
        """Say where the two part."""
        pairs = zip(self.typed, self.arrived, strict=False)
        at = next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(self.typed), len(self.arrived)))
        typed, arrived = self.typed[at : at + 12], self.arrived[at : at + 12]
        return f"at {at}: {typed!a} became {arrived!a} ({len(self.typed)} characters, {len(self.arrived)} arrived)"


def type_text(client: DesktopClient, target: Target, text: str) -> Trial:
    """Type a text into an empty field and take it out again."""
    began = time.perf_counter()
    client.send([TypeText(text)])
    acknowledged = time.perf_counter()
    arrived = target.take(text)
    ended = time.perf_counter()
    return Trial(text, arrived, (acknowledged - began) * 1000, (ended - began) * 1000)


@contextlib.contextmanager
def opened(kind: type[Target], program: Path, folder: Path, server: str) -> Iterator[Target]:
    """Start an application on a screen of its own, under a window manager; everything ends with the block."""
    screen = Screen(program, folder, server=server)
    try:
        start_window_manager(screen)
        target = kind(screen, screen.client())
        try:
            target.begin()
            yield target
        finally:
            target.stop()
    finally:
        screen.stop()


def trials(target: Target, layout: str, script: str, count: int, seed: int) -> Iterator[Trial]:
    """Type ``count`` texts of a script in a layout; the same ones for the same seed."""
    target.screen.run("setxkbmap", layout)
    random = Random(f"{seed} {layout} {script}")
    for _ in range(count):
        yield type_text(target.client, target, SCRIPTS[script](random))
