"""A task's ``init_pyautogui`` as actions: dicts of several dialects, and calls written as text (read, never run)."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from gym_anything.errors import SpecInvalid

Point = tuple[Any, Any]
_CLICKS = {
    "click": "left_click",
    "left_click": "left_click",
    "leftClick": "left_click",
    "right_click": "right_click",
    "rightClick": "right_click",
    "middle_click": "middle_click",
    "middleClick": "middle_click",
    "double_click": "double_click",
    "doubleClick": "double_click",
    "triple_click": "triple_click",
    "tripleClick": "triple_click",
}
_COUNTED = {("left", 1): "left_click", ("left", 2): "double_click", ("left", 3): "triple_click",
            ("right", 1): "right_click", ("middle", 1): "middle_click"}  # fmt: skip
_POSITIONAL = {
    "click": ("x", "y", "clicks", "interval", "button"),
    "moveTo": ("x", "y"),
    "dragTo": ("x", "y"),
    "write": ("text",),
    "typewrite": ("text",),
    "press": ("keys", "presses"),
    "keyDown": ("keys",),
    "keyUp": ("keys",),
    "scroll": ("amount",),
    "hscroll": ("amount",),
    "sleep": ("seconds",),
}
_NAMES_OF = {"message": "text", "key": "keys", "clicks": "amount", "secs": "seconds"}
_IGNORED = {"duration", "interval", "tween", "_pause", "logScreenshot"}


def init_actions(items: object) -> list[dict[str, Any]]:
    """Return the contract's action dicts for ``init_pyautogui``.

    An item is an action of the contract; or ``{"type": …}`` with ``keys``, ``text``, ``wait``, ``click`` and kin; or
    text with calls of the pyautogui library and literal arguments (``"pyautogui.click(10, 20)"``), one a line.
    Raises: SpecInvalid that names the item.
    """
    if isinstance(items, str | Mapping):
        items = [items]
    if not isinstance(items, list | tuple):
        raise _error(0, f"must be a list, it is {items!r:.100}")
    reader = _Reader()
    actions: list[dict[str, Any]] = []
    for index, item in enumerate(items):
        try:
            actions += reader.read(item)
        except ValueError as error:
            raise _error(index, str(error)) from error
    return actions


def _error(index: int, message: str) -> SpecInvalid:
    return SpecInvalid(f"init.init_pyautogui[{index}]: {message}", detail={"key": f"init.init_pyautogui[{index}]"})


class _Reader:
    """Reads items in order; knows where the pointer was left, for calls that act where it is."""

    def __init__(self) -> None:
        self._pointer: Point | None = None

    def read(self, item: Any) -> list[dict[str, Any]]:
        if isinstance(item, str):
            return [action for name, arguments in _calls(item) for action in self._call(name, arguments)]
        if not isinstance(item, Mapping):
            raise ValueError(f"must be an action or text, it is {item!r:.100}")
        if "mouse" in item or "keyboard" in item or "action" in item:
            return [dict(item)]
        arguments = {k: v for k, v in item.items() if k != "type"}
        return self._call(str(item.get("type")), arguments)

    def _call(self, name: str, arguments: dict[str, Any]) -> list[dict[str, Any]]:
        if name in _CLICKS:
            return [self._click(_CLICKS[name], arguments)]
        if name in ("move", "moveTo", "mouse_move"):
            self._pointer = self._point(arguments)
            return [{"mouse": {"move": list(self._pointer)}}]
        if name in ("drag", "dragTo", "left_click_drag"):
            return [self._drag(arguments)]
        if name in ("text", "type", "write", "typewrite"):
            return self._write(arguments)
        if name in ("keys", "key", "press", "hotkey", "keyDown", "keyUp", "keys_down", "keys_up"):
            return _keys(name, arguments)
        if name in ("wait", "sleep"):
            return [{"action": "wait", "time": _pick(arguments, "seconds", "time", "duration")}]
        if name in ("scroll", "hscroll"):
            return [{"mouse": {name: _pick(arguments, "amount", "dy", "value")}}]
        raise ValueError(f"{name!r} is not known; known: click, move, drag, text, keys, hotkey, wait, scroll and kin")

    def _click(self, kind: str, arguments: dict[str, Any]) -> dict[str, Any]:
        button, clicks = next(meant for meant, name in _COUNTED.items() if name == kind)
        wanted = (arguments.get("button", button), arguments.get("clicks", clicks))
        if wanted not in list(_COUNTED):  # a list: what came may not be hashable
            raise ValueError(f"{wanted[1]!r} clicks of the {wanted[0]!r} button are no action of the contract")
        kind = _COUNTED[wanted[0], wanted[1]]
        self._pointer = self._point(arguments)
        return {"mouse": {kind: list(self._pointer)}}

    def _drag(self, arguments: dict[str, Any]) -> dict[str, Any]:
        end = arguments.get("end", arguments.get("to"))
        start = _pair(arguments.get("start", arguments.get("from", self._pointer)))
        self._pointer = self._point(arguments) if end is None else _pair(end)
        return {"mouse": {"left_click_drag": [list(start), list(self._pointer)]}}

    def _point(self, arguments: dict[str, Any]) -> Point:
        for key in ("position", "coordinate", "point"):
            value = arguments.get(key)
            if isinstance(value, list | tuple) and len(value) == 2:
                return value[0], value[1]
        x, y = arguments.get("x"), arguments.get("y")
        if x is None and y is None and self._pointer is not None:
            return self._pointer
        if x is None or y is None:
            raise ValueError("needs x and y")
        return x, y

    def _write(self, arguments: dict[str, Any]) -> list[dict[str, Any]]:
        text = _pick(arguments, "text", "message", "value")
        if isinstance(text, list):  # pyautogui's write takes a list of key names, too
            return [{"keyboard": {"keys": key}} for key in text]
        return [{"keyboard": {"text": text}}]


def _pair(value: Any) -> Point:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise ValueError(f"a drag needs a start (move there first) and an end, each [x, y], not {value!r:.80}")
    return value[0], value[1]


def _keys(name: str, arguments: dict[str, Any]) -> list[dict[str, Any]]:
    keys = _pick(arguments, "keys", "key")
    if name in ("keyDown", "keys_down"):
        return [{"keyboard": {"keys_down": keys}}]
    if name in ("keyUp", "keys_up"):
        return [{"keyboard": {"keys_up": keys}}]
    if name != "press":
        return [{"keyboard": {"keys": keys}}]
    presses = arguments.get("presses", 1)
    if isinstance(presses, bool) or not isinstance(presses, int) or not 0 <= presses <= 1000:
        raise ValueError(f"presses must be a small integer, it is {presses!r}")
    single = keys if isinstance(keys, list) else [keys]
    return [{"keyboard": {"keys": key}} for _ in range(presses) for key in single]


def _pick(arguments: Mapping[str, Any], *names: str) -> Any:
    for name in names:
        if name in arguments:
            return arguments[name]
    raise ValueError(f"needs {' or '.join(names)}")


def _calls(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the calls in a text as (function, arguments); only literals are understood."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"is not readable as calls: {error}") from error
    calls: list[tuple[str, dict[str, Any]]] = []
    for statement in tree.body:
        if isinstance(statement, ast.Import):
            continue
        if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
            raise ValueError("only calls with literal arguments are read, such as pyautogui.click(10, 20)")
        calls.append(_one_call(statement.value))
    return calls


def _one_call(call: ast.Call) -> tuple[str, dict[str, Any]]:
    function = call.func
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        if function.value.id not in ("pyautogui", "pg", "time"):
            raise ValueError(f"{function.value.id}.{function.attr} is not known")
        name = function.attr
    elif isinstance(function, ast.Name):
        name = function.id
    else:
        raise ValueError("only calls such as pyautogui.click(10, 20) are read")
    try:
        values = [ast.literal_eval(argument) for argument in call.args]
        named = {str(k.arg): ast.literal_eval(k.value) for k in call.keywords}
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"the arguments of {name} must be literals") from error
    return name, _arguments(name, values, named)


def _arguments(name: str, values: list[Any], named: dict[str, Any]) -> dict[str, Any]:
    if name == "hotkey":
        return {"keys": values[0] if len(values) == 1 and isinstance(values[0], list) else values}
    names = _POSITIONAL.get(name, _POSITIONAL["click"] if name in _CLICKS else ())
    if values and isinstance(values[0], list | tuple) and len(names) > 1 and names[:2] == ("x", "y"):
        values = [*values[0], *values[1:]]
    if len(values) > len(names):
        raise ValueError(f"{name} takes at most {len(names)} arguments here")
    arguments = dict(zip(names, values, strict=False))
    rename = {} if name in _CLICKS else _NAMES_OF
    arguments |= {rename.get(k, k): v for k, v in named.items()}
    arguments = {k: v for k, v in arguments.items() if k not in _IGNORED}
    if name == "scroll" and isinstance(arguments.get("amount"), int):
        arguments["amount"] = -arguments["amount"]  # the library counts up as positive, the contract down
    return arguments
