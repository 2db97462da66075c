"""One way of seeing, clicking or typing that is compared with ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

OURS = "ours"

WAYS = {
    OURS: "the desktop service",
    "pillow": "Pillow ImageGrab",
    "scrot": "scrot, a process each time",
    "import": "ImageMagick import, a process each time",
    "xdotool": "xdotool, a process each time; sees by scrot",
    "pyautogui": "pyautogui",
    "http": "PNG over HTTP; clicks by pyautogui",
}
"""Key (what ``--ways`` takes) to what it is."""


@dataclass(frozen=True, slots=True)
class Way:
    """One way of doing something.

    Attributes:
        key: names it for programs: a key of ``WAYS``, or that and what it gives ("ours_image").
        name: what people read.
        do: does it.
        missing: why it cannot be measured here.
    """

    key: str
    name: str
    do: Callable[..., Any]
    missing: str | None = None

    @property
    def is_ours(self) -> bool:
        """Tell whether it is ours, in whatever form."""
        return self.key.startswith(OURS)
