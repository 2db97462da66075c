"""What was found beside the times: checks of what applications made of the input, files they saved, pictures."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from PIL.Image import Image

PARTS = {
    "events": "input devices, and how many events the X server got of each action",
    "editor": "what a text editor saved after clicks, drags, text and chords",
    "menus": "pictures of menus opened by a right click",
    "map": "a map in a browser: searched, dragged, zoomed, right-clicked",
}
"""Key (what ``--evidence`` takes) to what it is."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that must be so in the world when the input has arrived.

    Attributes:
        part: key of ``PARTS``.
        name: what was done.
        expected, got: what it must have led to, and what it did.
    """

    part: str
    name: str
    expected: str
    got: str
    ok: bool

    @classmethod
    def equal(cls, part: str, name: str, expected: Any, got: Any) -> Check:
        """Return a check that two values are the same."""
        return cls(part, name, str(expected), str(got), expected == got)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; every key is always there."""
        return {"part": self.part, "name": self.name, "expected": self.expected, "got": self.got, "ok": self.ok}


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of a contact sheet.

    Attributes:
        caption: what had been done.
        image: the whole screen.
        path: where the pointer went: one point for a click, two for a drag; empty: it did not matter.
    """

    caption: str
    image: Image
    path: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Strip:
    """Pictures in the order they were taken: one row of a contact sheet.

    Attributes:
        box: the part of the screen that is shown: x, y, width, height.
    """

    title: str
    box: tuple[int, int, int, int]
    pictures: tuple[Picture, ...]


@dataclass
class Evidence:
    """All that was found in one world.

    Attributes:
        devices: what the X server says of its input devices: name, use, enabled.
        events: action -> {"repetitions": n, "devices": {device -> {event -> count}}}.
        left_out: part -> why it was not looked at.
        files: name -> content, what the world's programs wrote.
        sheets: name -> rows of a contact sheet.
    """

    checks: list[Check] = field(default_factory=list)
    devices: list[dict[str, Any]] = field(default_factory=list)
    events: dict[str, dict[str, Any]] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    sheets: dict[str, list[Strip]] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Tell whether every check held."""
        return all(check.ok for check in self.checks)
