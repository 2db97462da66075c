"""A map in a browser: what its page has understood of the input stands in its window's title."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from gym_anything.errors import GuestCommandFailed
from gym_anything.measure.input_latency.evidence import Check, Evidence, Picture, Strip
from gym_anything.measure.input_latency.guest_desktop import FOLDER, Box, GuestDesktop, last_answer
from gym_anything.measure.input_latency.menus import show_menu

PROGRAMS = ("chromium", "xdotool")
SEARCH = "Zürich → 東京"
DRAG = (260, -140)
_CLASS = "chromium"
_OPEN_S, _ANSWER_S = 240.0, 30.0
_PART = "map"
_OPTIONS = (
    "--no-first-run", "--no-default-browser-check", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--disable-gpu", "--password-store=basic",
)  # fmt: skip
_FIELD = (200, 44)
"""Where the search field is in the page, in its pixels."""


class MapPage:
    """The browser's window. Points are of the page until ``_at`` puts them on the screen."""

    def __init__(self, desktop: GuestDesktop) -> None:
        """Open it, and find out where the page begins in its window. Raises: GuestCommandFailed."""
        self._desktop = desktop
        width, height = desktop.screen()
        self.box: Box = (width // 12, height // 12, min(1000, width * 3 // 4), min(640, height * 3 // 4))
        page, profile = desktop.put("map.html"), f"{FOLDER}/browser"
        argv = ["chromium", *_OPTIONS, f"--user-data-dir={profile}", f"--app=file://{page}"]
        desktop.open_window(_CLASS, self.box, *argv)
        if not self._state(lambda state: "menu" in state, "the page", _OPEN_S):
            raise GuestCommandFailed(
                f"the browser does not show the page within {_OPEN_S:g} s; its windows: {desktop.titles(_CLASS)}"
            )
        desktop.rest()
        x, y = self.box[0] + self.box[2] // 2, self.box[1] + self.box[3] // 2
        desktop.act({"mouse": {"right_click": [x, y]}})
        menu = self._state(lambda state: bool(state.get("menu")), "the page's answer to a right click").get("menu")
        if not menu:
            raise GuestCommandFailed("the page in the browser does not answer to a right click")
        self._origin = x - menu[0], y - menu[1]
        desktop.act({"keyboard": {"keys": ["Escape"]}})

    def try_all(self, found: Evidence) -> None:
        """Search, drag, zoom in and out, click twice, and ask the page what it has understood."""
        act, picture = self._desktop.act, self._desktop.picture
        act(
            {"mouse": {"left_click": self._at(_FIELD)}},
            {"keyboard": {"text": SEARCH}},
            {"keyboard": {"keys": ["Return"]}},
        )
        self._check(found, "text in the search field", {"query": SEARCH})
        before, (start, end) = picture(), self._path()
        act({"mouse": {"left_click_drag": [list(start), list(end)]}})
        self._check(found, "drag, in pixels", {"x": DRAG[0], "y": DRAG[1]})
        dragged = picture()
        # A browser does not count the first turn of a wheel over a new window: it only learns where the wheel stands.
        act({"mouse": {"move": list(start)}}, {"mouse": {"scroll": -1}}, {"mouse": {"scroll": 1}})
        self._desktop.rest()
        still = self._state(lambda state: True, "the page").get("wheel", 0)
        act({"mouse": {"scroll": -5}})
        zoomed = self._state(lambda state: state["wheel"] < still, "the page's answer to the wheel").get("wheel", 0)
        near = picture()
        found.checks.append(
            Check.equal(_PART, "5 wheel clicks up", "zoomed in", "zoomed in" if zoomed < still else "nothing")
        )
        act({"mouse": {"scroll": 5}})
        self._check(found, "5 wheel clicks down", {"wheel": still})
        far = picture()
        self._desktop.let_clicks_pass()
        clicks = self._state(lambda state: True, "the page")
        act({"mouse": {"double_click": list(start)}})
        more = {"clicks": clicks.get("clicks", 0) + 2, "doubles": clicks.get("doubles", 0) + 1}
        self._check(found, "double click", more)
        pictures = (Picture("searched", before), Picture(f"dragged by {DRAG[0]}, {DRAG[1]}", dragged, (start, end)))
        strips = found.sheets.setdefault("drag", [])
        strips.append(Strip("Map: drag", self.box, pictures))
        wheel = (
            Picture("before", dragged),
            Picture("5 wheel clicks up", near, (start,)),
            Picture("5 wheel clicks down", far, (start,)),
        )
        strips.append(Strip("Map: zoom", self.box, wheel))

    def show_menu(self, found: Evidence) -> None:
        """Open the page's menu by a right click and close it by Escape; the page says where it was asked for."""
        point = self._at((self.box[2] // 3, self.box[3] // 3))
        show_menu(self._desktop, found, "Map", self.box, (point[0], point[1]))

    def _path(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return where the drag begins and ends, on the screen."""
        x, y = self._at((self.box[2] // 3, self.box[3] * 2 // 3))
        return (x, y), (x + DRAG[0], y + DRAG[1])

    def _at(self, point: tuple[int, int]) -> list[int]:
        return [self._origin[0] + point[0], self._origin[1] + point[1]]

    def _check(self, found: Evidence, name: str, expected: Mapping[str, Any]) -> None:
        def part_of(state: Mapping[str, Any]) -> dict[str, Any]:
            return {key: state.get(key) for key in expected}

        state = self._state(lambda state: part_of(state) == expected, name)
        words = [json.dumps(values, ensure_ascii=False) for values in (dict(expected), part_of(state))]
        found.checks.append(Check.equal(_PART, name, *words))

    def _state(self, is_right: Any, awaited: str, limit_s: float = _ANSWER_S) -> dict[str, Any]:
        """Return what the page has understood once it is right; else its last answer ({} where it has none)."""

        def ask() -> dict[str, Any]:
            for title in self._desktop.titles(_CLASS):
                if title.startswith("{") and title.endswith("}"):
                    state: dict[str, Any] = json.loads(title)
                    return state
            return {}

        return last_answer(ask, lambda state: bool(state) and is_right(state), limit_s, awaited)
