"""YAML as specs have it: plain data only.

Tags and duplicate keys are refused, nesting and the data that aliases unfold into are bounded, and dates and base-60
numbers stay text, so that a file means the same as JSON. Otherwise words mean what they mean to PyYAML's safe loader.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml import events

from gym_anything.specs.document import MAX_DEPTH, join, plain_copy
from gym_anything.specs.problem import Problem

MAX_NODES = 200_000
"""Values that a file may hold after its aliases are unfolded."""
_MERGE = "<<"
_BOOLEANS = {w: w in ("yes", "true", "on") for w in ("yes", "no", "true", "false", "on", "off")}
_NULLS = {"", "~", "null", "Null", "NULL"}
# As PyYAML's resolver has them (a float needs its point, an exponent its sign), without base 60.
_INTEGER = re.compile(r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]+|0|[1-9][0-9_]*)")
_FLOAT = re.compile(r"(?:[-+]?[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+][0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


@dataclass
class _Open:
    """A mapping or list whose end has not come yet."""

    path: str
    container: dict[str, Any] | list[Any]
    anchor: str | None
    key: str | None = None
    merging: bool = False
    merged: list[dict[str, Any]] = field(default_factory=list)

    def child_path(self) -> str:
        if isinstance(self.container, list):
            return f"{self.path}[{len(self.container)}]"
        return join(self.path, self.key) if self.key is not None else self.path


def parse_yaml(text: str) -> Any:
    """Parse YAML text into plain JSON data.

    Raises: Problem with the line; the text itself is never quoted, since it may be a secret.
    """
    return _Builder().build(text)


class _Builder:
    """Builds data from the parser's events: no recursion, so that depth cannot hurt."""

    def __init__(self) -> None:
        self._stack: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._nodes = 0
        self._result: Any = None
        self._documents = 0

    def build(self, text: str) -> Any:
        try:
            for event in _events(text):
                self._take(event)
        except Problem as problem:
            if problem.key or not self._stack:
                raise
            raise Problem(self._stack[-1].child_path(), problem.what, problem.fix) from None
        return self._result

    def _take(self, event: yaml.Event) -> None:
        line = event.start_mark.line + 1 if event.start_mark else 0
        if isinstance(event, events.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                raise Problem("", f"holds a second document (line {line})", "one file, one document")
        elif isinstance(event, events.AliasEvent):
            self._alias(event, line)
        elif isinstance(event, events.NodeEvent):
            self._refuse_tag(event, line)
            if isinstance(event, events.ScalarEvent):
                self._scalar(event, line)
            else:
                self._open(event, line)
        elif isinstance(event, events.MappingEndEvent | events.SequenceEndEvent):
            self._close()

    def _open(self, event: events.NodeEvent, line: int) -> None:
        path = self._stack[-1].child_path() if self._stack else ""
        self._refuse_as_key(line)
        if len(self._stack) >= MAX_DEPTH:
            raise Problem(path, f"is nested deeper than {MAX_DEPTH} levels (line {line})", "flatten it")
        container: dict[str, Any] | list[Any] = {} if isinstance(event, events.MappingStartEvent) else []
        self._stack.append(_Open(path, container, event.anchor))

    def _close(self) -> None:
        done = self._stack.pop()
        if isinstance(done.container, dict):
            for source in done.merged:
                for key, value in source.items():
                    done.container.setdefault(key, value)
        self._store(done.container, done.anchor)

    def _scalar(self, event: events.ScalarEvent, line: int) -> None:
        plain = event.implicit[0] and event.style is None
        if self._awaits_key():
            self._key(event.value, plain, line)
        else:
            path = self._stack[-1].child_path() if self._stack else ""
            self._store(_value(event.value, path, line) if plain else event.value, event.anchor)

    def _key(self, word: str, plain: bool, line: int) -> None:
        top = self._stack[-1]
        if plain and word != _MERGE and not isinstance(_value(word, top.path, line), str):
            raise Problem(join(top.path, word), f"is a key that YAML does not read as text (line {line})", "quote it")
        assert isinstance(top.container, dict)
        top.merging = plain and word == _MERGE
        if word in top.container or (top.merging and top.merged):
            raise Problem(join(top.path, word), f"is there twice (line {line})", "keep one of the two")
        top.key = word

    def _alias(self, event: events.AliasEvent, line: int) -> None:
        self._refuse_as_key(line)
        path = self._stack[-1].child_path() if self._stack else ""
        found = self._anchors.get(event.anchor or "")
        if found is None:
            raise Problem(path, f"refers to an anchor that is not complete here (line {line})", "write the value out")
        value, size = found
        self._count(size, line)
        self._store(plain_copy(value, path=path), None, counted=True)

    def _store(self, value: Any, anchor: str | None, *, counted: bool = False) -> None:
        if not counted:
            self._count(1, 0)
        if anchor is not None:
            self._anchors[anchor] = (value, _size(value))
        if not self._stack:
            self._result = value
            return
        top = self._stack[-1]
        if isinstance(top.container, list):
            top.container.append(value)
        elif top.merging:
            top.merged += _merge_sources(value, top.path)
            top.key = None
        else:
            assert top.key is not None
            top.container[top.key] = value
            top.key = None

    def _awaits_key(self) -> bool:
        return bool(self._stack) and isinstance(self._stack[-1].container, dict) and self._stack[-1].key is None

    def _refuse_as_key(self, line: int) -> None:
        if self._awaits_key():
            raise Problem(self._stack[-1].path, f"has a key that is not text (line {line})", "use plain text as keys")

    def _refuse_tag(self, event: events.NodeEvent, line: int) -> None:
        tag = getattr(event, "tag", None)
        if tag is not None:
            path = self._stack[-1].child_path() if self._stack else ""
            raise Problem(path, f"has a YAML tag (line {line})", "leave the tag out: specs are plain data")

    def _count(self, nodes: int, line: int) -> None:
        self._nodes += nodes
        if self._nodes > MAX_NODES:
            where = f" (line {line})" if line else ""
            raise Problem("", f"unfolds into more than {MAX_NODES} values{where}", "use fewer aliases")


def _events(text: str) -> Iterator[yaml.Event]:
    try:
        yield from yaml.parse(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
        fix = (
            "use spaces, not tabs, for indentation" if "'\\t'" in str(error.problem) else "check the text at this place"
        )
        raise Problem("", f"is not valid YAML{place}", fix) from None
    except yaml.YAMLError:
        raise Problem("", "holds a character that YAML does not allow", "remove control characters") from None


def _merge_sources(value: Any, path: str) -> list[dict[str, Any]]:
    sources = value if isinstance(value, list) else [value]
    if not all(isinstance(source, dict) for source in sources):
        raise Problem(join(path, _MERGE), "must be an object or a list of objects", "merge objects only")
    return sources


def _size(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + sum(_size(v) for v in value.values())
    if isinstance(value, list):
        return 1 + sum(_size(v) for v in value)
    return 1


def _value(word: str, path: str, line: int) -> Any:
    """Return what an unquoted word means."""
    if word in _NULLS:
        return None
    if word.lower() in _BOOLEANS and word in (word.lower(), word.upper(), word.capitalize()):
        return _BOOLEANS[word.lower()]
    if _NOT_FINITE.fullmatch(word):
        raise Problem(path, f"is not a finite number (line {line})", "write a finite number, or quote it")
    if len(word) > 300:
        return word
    if _INTEGER.fullmatch(word):
        return _integer(word)
    if _FLOAT.fullmatch(word):
        return _float(word)
    return word


def _integer(word: str) -> int | str:
    digits = word.replace("_", "")
    sign = -1 if digits.startswith("-") else 1
    digits = digits.lstrip("+-")
    try:
        if digits.startswith(("0x", "0b")):
            return sign * int(digits, 0)
        return sign * int(digits, 8 if len(digits) > 1 and digits.startswith("0") else 10)
    except ValueError:
        return word


def _float(word: str) -> float | str:
    number = float(word.replace("_", ""))
    return word if number in (float("inf"), float("-inf")) else number
