"""A text editor: each gesture changes a line of its own, and the saved file says whether it did so exactly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gym_anything.measure.input_latency.evidence import Check, Evidence, Picture, Strip
from gym_anything.measure.input_latency.guest_desktop import Box, GuestDesktop, last_answer
from gym_anything.measure.input_latency.menus import show_menu
from gym_anything.measure.input_latency.text_layout import TextLine, find_lines

PROGRAMS = ("mousepad", "xdotool")
TEXT = "Grüße aus Köln, Привет, 東京で会いましょう, ½ € 🎉"
_SHOWN_S, _SAVE_S = 60.0, 20.0
_BELOW_PX = 14
"""The arrow of a drag is drawn so far below the line that it selects, for it to be seen."""
_PART = "editor"
Action = dict[str, Any]


def _click(point: tuple[int, int]) -> Action:
    return {"mouse": {"left_click": list(point)}}


def _keys(*keys: str) -> Action:
    return {"keyboard": {"keys": list(keys)}}


def _text(text: str) -> Action:
    return {"keyboard": {"text": text}}


@dataclass(frozen=True, slots=True)
class Gesture:
    """One way of changing a line.

    Attributes:
        name: what people read.
        line: as it is; it neither begins nor ends with a blank.
        first: what is done to the line, given where it is.
        then: what shows that this has worked.
        becomes: the line as it must be saved.
    """

    name: str
    line: str
    first: Callable[[TextLine], list[Action]]
    then: list[Action]
    becomes: str


def _drag(line: TextLine, begin: int, end: int) -> list[Action]:
    return [{"mouse": {"left_click_drag": [list(line.before(begin)), list(line.before(end))]}}]


def _shift_click(line: TextLine, begin: int, end: int) -> list[Action]:
    shift = [{"keyboard": {"keys_down": ["shift"]}}, {"keyboard": {"keys_up": ["shift"]}}]
    return [_click(line.before(begin)), shift[0], _click(line.before(end)), shift[1]]


GESTURES = (
    Gesture("click", "click between these halves: leftright",
            lambda line: [_click(line.before(32))], [_text("|")],
            "click between these halves: left|right"),
    Gesture("double click", "double click a replaceable word of it",
            lambda line: [{"mouse": {"double_click": list(line.over(15, 25))}}], [_text("replaced")],
            "double click a replaced word of it"),
    Gesture("drag selection", "drag over [what is between brackets] and stop",
            lambda line: _drag(line, 10, 36), [_text("it")],
            "drag over it and stop"),
    Gesture("triple click", "triple click anywhere in this line",
            lambda line: [{"mouse": {"triple_click": list(line.over(13, 20))}}], [_text("the whole line is new")],
            "the whole line is new"),
    Gesture("click with shift held", "hold shift and click: keep (remove) keep",
            lambda line: _shift_click(line, 27, 35), [_keys("Delete")],
            "hold shift and click: keep  keep"),
    Gesture("chords", "cut the last word and paste it: first",
            lambda line: [_click(line.over(8, 11)), _keys("End"), _keys("ctrl", "shift", "Left")],
            [_keys("ctrl", "x"), _keys("Home"), _keys("ctrl", "v")], "firstcut the last word and paste it: "),
    Gesture("text", "text:", lambda line: [_click(line.over(1, 2)), _keys("End")],
            [_text(" " + TEXT)], f"text: {TEXT}"),
)  # fmt: skip
"""The text comes last: letters of other fonts make its line higher."""


class Editor:
    """An editor's window with the lines of all gestures in it, a free line between two of them."""

    def __init__(self, desktop: GuestDesktop) -> None:
        """Open it. Raises: GuestCommandFailed."""
        self._desktop = desktop
        self._lines = [gesture.line for gesture in GESTURES]
        self._file = desktop.write("editor.txt", self._document())
        width, height = desktop.screen()
        self.box: Box = (width // 16, height // 16, min(1000, width * 3 // 4), min(600, height * 3 // 4))
        desktop.open_window("mousepad", self.box, "mousepad", "--disable-server", self._file)

    def try_gestures(self, found: Evidence) -> None:
        """Do every gesture, save, and compare the saved file; keep it, and a row of pictures of the drag."""
        width, height = self._desktop.screen()
        self._desktop.act(
            {"mouse": {"move": [width - 1, height - 1]}}
        )  # some pictures show the pointer: not over the text
        lines = last_answer(self._find_lines, lambda lines: lines is not None, _SHOWN_S, "the text in the editor")
        if lines is None:
            picture = Strip("the editor", self.box, (Picture("no text found", self._desktop.picture()),))
            found.sheets["editor"] = [picture]
            found.checks.append(Check(_PART, "text on the screen", f"{len(GESTURES)} lines", "another number", False))
            return
        for number, (gesture, line) in enumerate(zip(GESTURES, lines, strict=True)):
            pictures = [] if gesture.name != "drag selection" else [Picture("before", self._desktop.picture())]
            first = gesture.first(line)
            self._desktop.let_clicks_pass()
            self._desktop.act(*first)
            if pictures:
                path = tuple((x, y + _BELOW_PX) for x, y in first[0]["mouse"]["left_click_drag"])
                pictures.append(Picture("dragged", self._desktop.picture(), path))
            self._desktop.act(*gesture.then, _keys("ctrl", "s"))
            found.checks.append(self._saved(gesture, number, found))
            if pictures:
                pictures.append(Picture("typed over the selection", self._desktop.picture()))
                box = (*self.box[:3], lines[-1].middle - self.box[1])
                found.sheets.setdefault("drag", []).append(Strip("Editor: drag selection", box, tuple(pictures)))

    def show_menu(self, found: Evidence) -> None:
        """Open the context menu by a right click and close it by Escape."""
        x, y, width, height = self.box
        show_menu(self._desktop, found, "Editor", self.box, (x + width // 2, y + height * 5 // 8))

    def _find_lines(self) -> list[TextLine] | None:
        return find_lines(self._desktop.runner.capture_frame().array, self.box, self._lines)

    def _document(self) -> str:
        return "\n\n".join(self._lines) + "\n"

    def _saved(self, gesture: Gesture, number: int, found: Evidence) -> Check:
        """Compare the saved file; the next gesture starts from what came, so that each is judged alone."""
        others, self._lines[number] = list(self._lines), gesture.becomes
        expected = self._document()

        def saved() -> str:
            return (self._desktop.read(self._file) or b"").decode("utf-8", "replace")

        text = last_answer(saved, lambda text: text == expected, _SAVE_S, "the saved file")
        found.files[f"editor/{gesture.name.replace(' ', '-')}.txt"] = text.encode()
        if text == expected:
            return Check.equal(_PART, gesture.name, gesture.becomes, gesture.becomes)
        lines = text.removesuffix("\n").split("\n\n")
        if len(lines) != len(others):
            return Check(_PART, gesture.name, gesture.becomes, text, False)
        self._lines = lines
        changed = [line for line, before in zip(lines, others, strict=True) if line != before]
        return Check(_PART, gesture.name, gesture.becomes, " / ".join(changed) or "nothing has changed", False)
