"""The keys of a US keyboard: all of ASCII, and the same in the host's table as in the guest's keyboard."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from gym_anything.actions.keys import keysym_of
from gym_anything.actions.model import Click, KeysDown, PressKeys, TypeText
from gym_anything.runtime.qemu.us_keys import Stroke, has_keys_for, stroke_of_character, stroke_of_key

pytestmark = pytest.mark.unit

LAYOUT = Path(__file__).parents[4] / "native/ga-inputd/layout.c"
ASCII = [chr(code) for code in range(32, 127)]


def test_all_of_ascii_can_be_typed_each_by_a_stroke_of_its_own() -> None:
    strokes = [stroke_of_character(character) for character in ASCII]
    assert None not in strokes and len(set(strokes)) == len(ASCII)
    assert stroke_of_character("A") == Stroke("a", shift=True)
    assert stroke_of_character("~") == Stroke("grave_accent", shift=True)
    assert stroke_of_character("\n") == Stroke("ret")


@pytest.mark.parametrize("text", ["ü", "naïve", "東京", "🎉", "a\x1b"])
def test_a_text_with_one_other_character_is_not_for_this_keyboard(text: str) -> None:
    assert not has_keys_for(TypeText(text))


def test_keys_have_strokes_by_name_and_by_character() -> None:
    assert stroke_of_key("Control_L") == Stroke("ctrl") and stroke_of_key("F12") == Stroke("f12")
    assert stroke_of_key("percent") == Stroke("5", shift=True)
    assert has_keys_for(PressKeys(("Control_L", "c"))) and has_keys_for(KeysDown(("Alt_L",)))
    assert not has_keys_for(PressKeys(("XF86AudioPlay",)))
    assert not has_keys_for(Click("left", 1, 1))


def test_the_guests_keyboard_has_the_same_keys() -> None:
    """A text that the host sends there must not be refused, nor one be kept from it."""
    source = LAYOUT.read_text()
    names = source[source.index("names[]") : source.index("};", source.index("names[]"))]
    keysyms = {int(number, 16) for number in re.findall(r"\{(0x[0-9a-f]+),", names)}
    known = {0xFF00 + low for low in range(256)}
    ours = {number for number in known if _stroke_of_number(number) is not None}
    assert keysyms == ours
    rows = source[source.index("rows[]") : source.index("};", source.index("rows[]"))]
    letters = re.findall(r"\{KEY_\w+, +('(?:\\.|[^'])'), +('(?:\\.|[^'])')\}", rows)
    typed = {ast.literal_eval(character) for pair in letters for character in pair}
    assert typed == {*ASCII, "\n", "\r", "\t", "\b"}


def _stroke_of_number(number: int) -> Stroke | None:
    from gym_anything.actions.keys import key_table

    names = [name for name, value in key_table().number_of.items() if value == number]
    return next((stroke_of_key(name) for name in names if keysym_of(name) == number), None)
