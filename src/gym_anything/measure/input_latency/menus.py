"""A right click opens a menu, and Escape closes it: seen in pictures."""

from __future__ import annotations

from typing import Any

import numpy as np

from gym_anything.measure.input_latency.evidence import Check, Evidence, Picture, Strip
from gym_anything.measure.input_latency.guest_desktop import Box, GuestDesktop, last_answer

_MENU_PIXELS = 4000
"""A menu changes more of the screen than a caret, a clock or a button under the pointer."""
_SHOWN_S = 20.0


def show_menu(desktop: GuestDesktop, found: Evidence, title: str, box: Box, point: tuple[int, int]) -> None:
    """Right-click at a point, picture what opens, close it by Escape, and check that both can be seen."""

    def near(picture: Any) -> Any:
        x, y = max(0, point[0] - 300), max(0, point[1] - 300)
        return np.asarray(picture.crop((x, y, x + 600, y + 600)), dtype=np.int16)

    def changed(one: Any, other: Any) -> int:
        return int((np.abs(near(one) - near(other)).max(axis=2) > 24).sum())

    before = desktop.picture()
    desktop.act({"mouse": {"right_click": list(point)}})
    opened = last_answer(desktop.picture, lambda now: changed(before, now) > _MENU_PIXELS, _SHOWN_S, "a menu")
    desktop.act({"keyboard": {"keys": ["Escape"]}})
    least = min(changed(before, opened), _MENU_PIXELS) / 10
    closed = last_answer(desktop.picture, lambda now: changed(before, now) < least, _SHOWN_S, "no menu")
    pictures = (Picture("before", before), Picture("right click", opened, (point,)), Picture("Escape", closed))
    found.sheets.setdefault("menus", []).append(Strip(title, box, pictures))
    shown, left = changed(before, opened), changed(before, closed)
    words = {True: "a menu, then none"}
    got = words.get(shown > _MENU_PIXELS and left < least, f"{shown} pixels changed, then {left}")
    found.checks.append(Check.equal("menus", f"{title}: right click, Escape", words[True], got))
