"""What a person types, as actions of the contract. Pure."""

from __future__ import annotations

import json
from typing import Any

from gym_anything.actions.parse import parse_actions
from gym_anything.errors import ActionError

HELP = """\
click X Y | double X Y | right X Y | middle X Y | move X Y | drag X1 Y1 X2 Y2
scroll N [X Y]     wheel clicks, positive is down
type TEXT          the rest of the line; \\n is Return
key CHORD          ctrl+s, Return, alt+Tab
wait SECONDS | look | done
{"mouse": …}       any action of the contract as JSON, or a list of them
"""
DONE = "done"
_CLICKS = {
    "click": "left_click",
    "double": "double_click",
    "triple": "triple_click",
    "right": "right_click",
    "middle": "middle_click",
    "move": "move",
}


def read_command(line: str, screen: tuple[int, int] | None) -> list[dict[str, Any]] | str:
    """Return the actions of a line, ``DONE``, or another text to show. Raises: ActionError."""
    text = line.strip()
    word, _, rest = text.partition(" ")
    word, rest = word.lower(), rest.strip()
    if word in ("done", "quit", "exit"):
        return DONE
    if word in ("", "help", "?"):
        return HELP
    if text[0] in "{[":
        return checked(_json(text), screen)
    return checked([_action(word, rest, line)], screen)


def checked(actions: Any, screen: tuple[int, int] | None) -> list[dict[str, Any]]:
    """Return actions that the contract takes. Raises: ActionError."""
    listed = actions if isinstance(actions, list) else [actions]
    parse_actions(listed, screen=screen)
    return listed


def _action(word: str, rest: str, line: str) -> dict[str, Any]:
    if word in _CLICKS:
        return {"mouse": {_CLICKS[word]: _numbers(word, rest, 2)}}
    if word == "drag":
        x1, y1, x2, y2 = _numbers(word, rest, 4)
        return {"mouse": {"left_click_drag": [[x1, y1], [x2, y2]]}}
    if word == "scroll":
        numbers = _numbers(word, rest, 1 if len(rest.split()) == 1 else 3)
        return {"mouse": {"scroll": numbers[0], **({"move": numbers[1:]} if numbers[1:] else {})}}
    if word == "type":
        typed = line.lstrip()[len("type") :].removeprefix(" ").rstrip("\r\n")
        return {"keyboard": {"text": typed.replace("\\n", "\n")}}
    if word == "key":
        return {"keyboard": {"keys": [rest]}}
    if word == "wait":
        return {"action": "wait", "time": _seconds(rest)}
    if word == "look":
        return {"action": "screenshot"}
    raise ActionError(f"unknown command {word!r:.40}; type help")


def _numbers(word: str, rest: str, count: int) -> list[int]:
    parts = rest.replace(",", " ").split()
    try:
        numbers = [int(part) for part in parts]
    except ValueError:
        numbers = []
    if len(numbers) != count:
        raise ActionError(f"{word} takes {count} whole numbers, got {rest!r:.60}")
    return numbers


def _seconds(rest: str) -> float:
    try:
        return float(rest)
    except ValueError:
        raise ActionError(f"wait takes seconds, got {rest!r:.40}") from None


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ActionError(f"that is no JSON: {error}") from None
