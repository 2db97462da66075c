"""The page of actions: each row is an action that was parsed while the page was made."""

from __future__ import annotations

import json
from typing import Any

from gym_anything.actions.key_table import key_table, normalised
from gym_anything.actions.parse import BUTTON_CHANGES, KEYBOARD_KEYS, MOUSE_KEYS, parse_action
from tools.field_docs import table_cell

_INTRODUCTION = """\
# Actions

`env.step` takes one dict or a list of dicts. Coordinates are guest screen pixels, origin top left; a point outside the
screen, an unknown key, a value of the wrong type or an unknown sub-key is an `ActionError`, and nothing of the list is
done. Several sub-keys in one dict run in the order of this table. Text is typed exactly: any Unicode, in order.
"""
_MOUSE: dict[str, tuple[Any, str]] = {
    "left_click": ([640, 400], "press and release the left button there"),
    "right_click": ([640, 400], "the same with the right button"),
    "middle_click": ([640, 400], "the same with the middle button"),
    "double_click": ([640, 400], "two clicks within the guest's double-click time"),
    "triple_click": ([640, 400], "three of them"),
    "left_click_drag": ([[100, 100], [300, 200]], "press, move in steps, release"),
    "right_click_drag": ([[100, 100], [300, 200]], "the same with the right button"),
    "move": ([640, 400], "move the pointer"),
    "buttons": ({"left_down": True}, "press or release where the pointer is; a button stays down until it is released"),
    "hscroll": (2, "turn the wheel sideways, in wheel clicks; positive is right"),
    "scroll": (3, "turn the wheel, in wheel clicks; **positive is down**"),
}
_KEYBOARD: dict[str, tuple[Any, str]] = {
    "text": ("Grüße 🎉\n", "type it; `\\n` and `\\r` are Return, `\\t` Tab, `\\b` BackSpace"),
    "keys": (["ctrl", "s"], "press in order, release in reverse; one key may stand alone"),
    "keys_down": (["shift"], "press and hold, across actions; released at the end of the episode at the latest"),
    "keys_up": (["shift"], "release"),
}
_CONTROL: tuple[tuple[dict[str, Any], str], ...] = (
    ({"action": "wait", "time": 0.5}, "let seconds pass; a world with a clock of its own lets its own pass (`type` for `action`, `seconds` for `time` are fine, too)"),
    ({"action": "screenshot"}, "no input; the observation follows anyway"),
    ({"action": "settle", "quiet_ms": 100, "max_ms": 2000}, "return once the screen has been still for `quiet_ms`, or after `max_ms`; `info[\"action_result\"]` says which"),
    ({"action": "settle", "ignore": [[1200, 0, 80, 24]]}, "the same; changes inside these boxes `[x, y, width, height]` do not count (at most 16)"),
)  # fmt: skip
_BLINKS = """
What blinks need not keep a settle waiting. Boxes in which changes never count are given for an environment, `from_config(...,
settle_ignore=[[x, y, width, height]])` or `settle_ignore` in its env file, for one step, `env.step(..., settle_ignore=...)`, or for
one settle action. A desktop with our desktop service also learns by itself, while it settles: a place of at most 10,000 pixels
that was seen to go back and forth between the same two pictures (a caret), or of at most 6,000 pixels that changed once a second,
four times, in the same spot (a clock; a counter that counts seconds looks the same), both with no input in between, is left out until
it shows anything else.
Spinners, progress bars and videos always count. `ignored` beside `settled` names every box that was left out: those given, and
those learnt that blinked meanwhile.
"""
_VOCABULARIES = {
    "general": "Any vocabulary",
    "vk": "With the prefix `VK_`",
    "key": "With the prefix `KEY_`",
    "keycode": "With the prefix `KEYCODE_`",
}
_SCREEN = (1280, 800)


def actions_page() -> str:
    """Render the tables of input, control actions and keys."""
    assert (set(_MOUSE), set(_KEYBOARD)) == (set(MOUSE_KEYS), set(KEYBOARD_KEYS)), "a row is missing, or one too many"
    lines = [_INTRODUCTION, "## Input\n", "| action | effect |", "|---|---|"]
    lines += [_row({"mouse": {key: value}}, effect) for key, (value, effect) in _MOUSE.items()]
    lines += [_row({"keyboard": {key: value}}, effect) for key, (value, effect) in _KEYBOARD.items()]
    lines.append(f"\nButtons: {', '.join(f'`{name}`' for name in BUTTON_CHANGES)}.\n")
    lines += ["## Control\n", "| action | effect |", "|---|---|", *(_row(raw, effect) for raw, effect in _CONTROL)]
    lines.append(
        '\nWith `from_config(..., pacing="settle")` every step settles by itself: after input it waits until the screen has been still for '
        '100 ms, at most the 2 s that normal mode sleeps, and `info["settle"]` says which; between two actions of one list 40 ms, at '
        "most the 0.2 s. On a desktop with our desktop service quiet counts only once the application has taken the input.\n"
    )
    lines.append(_BLINKS)
    lines.append(
        "\nAnything else (`voice`, `api_call`, a runner's own actions) is passed to the runner, which does it or raises.\n"
    )
    return "\n".join([*lines, *_keys()]) + "\n"


def _row(raw: dict[str, Any], effect: str) -> str:
    parse_action(raw, screen=_SCREEN)
    return f"| `{table_cell(json.dumps(raw, ensure_ascii=False))}` | {table_cell(effect)} |"


def _keys() -> list[str]:
    lines = [
        "## Keys\n\nA key is named by its X11 keysym name (`Return`, `Page_Down`, `eacute`, `U20AC`), by the character itself, or by any of "
        "these names, without regard to case, spaces, `_` and `-`. A chord may be one text: `ctrl+shift+t`. An unknown name is an "
        "error that lists near misses.\n"
    ]
    for vocabulary, aliases in key_table().alias_of.items():
        by_key: dict[str, list[str]] = {}
        for alias, name in aliases.items():
            if alias != normalised(name):
                by_key.setdefault(name, []).append(alias)
        lines += [f"### {_VOCABULARIES[vocabulary]}\n", "| key | also called |", "|---|---|"]
        lines += [f"| `{name}` | {_words(words)} |" for name, words in by_key.items()]
        lines.append("")
    return lines


def _words(words: list[str]) -> str:
    return ", ".join("`` ` ``" if word == "`" else f"`{table_cell(word)}`" for word in words)
