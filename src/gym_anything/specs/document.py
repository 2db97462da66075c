"""Plain JSON data: what a spec file holds, and the check that a dict holds nothing else."""

from __future__ import annotations

import math
from typing import Any

from gym_anything.specs.problem import Problem

MAX_DEPTH = 64
"""Nesting that is refused beyond; real content stays below ten."""


def plain_copy(value: Any, *, path: str = "", depth: int = 0) -> Any:
    """Return a deep copy made of dict, list, str, int, float, bool and None.

    Args:
        value: the data; tuples become lists.
        path: key path of ``value``, for the error.
    Raises: Problem for anything that JSON cannot hold: other types, keys that are no text, NaN, broken Unicode, and
        nesting beyond ``MAX_DEPTH`` (which also catches data that contains itself).
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value, path)
    if isinstance(value, int | float):
        return _number(value, path)
    if depth >= MAX_DEPTH:
        raise Problem(path, f"is nested deeper than {MAX_DEPTH} levels", "flatten it")
    if isinstance(value, dict):
        return {_key(k, path): plain_copy(v, path=join(path, k), depth=depth + 1) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain_copy(v, path=f"{path}[{i}]", depth=depth + 1) for i, v in enumerate(value)]
    raise Problem(
        path, f"is a {type(value).__name__}, which a spec cannot hold", "use text, numbers, lists and objects"
    )


def join(path: str, key: object) -> str:
    """Return the key path of ``key`` inside ``path``: ``hooks.pre_start``."""
    word = str(key) if str(key).isprintable() else ascii(key)
    return f"{path}.{word}" if path else word


def kind_of(value: Any) -> str:
    """Return the word that people use for a JSON value's type."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true/false"
    for types, word in (((int, float), "a number"), (str, "text"), (dict, "an object"), ((list, tuple), "a list")):
        if isinstance(value, types):
            return word
    return f"a {type(value).__name__}"


def _text(value: str, path: str) -> str:
    if not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise Problem(path, "holds half of a character (a lone surrogate)", "write the character itself") from None
    return str(value)


def _number(value: float, path: str) -> float:
    if isinstance(value, float) and not math.isfinite(value):
        raise Problem(path, "is not a finite number", "write a finite number, or leave the key out")
    return value


def _key(key: object, path: str) -> str:
    if not isinstance(key, str):
        raise Problem(path, f"has the key {key!r:.60}, which is {kind_of(key)}", "put the key in quotes")
    return _text(key, join(path, "<key>"))
