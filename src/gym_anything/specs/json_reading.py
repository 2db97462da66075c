"""JSON as specs have it: strict, no duplicate keys, errors that say where and what to do."""

from __future__ import annotations

import json
import re
from typing import Any

from gym_anything.specs.document import MAX_DEPTH, join
from gym_anything.specs.problem import Problem

# What people's files really hold, and what to write instead.
_FIXES = (
    ("Invalid \\escape", "write a back-slash as \\\\"),
    ("Unterminated string", "the text does not end before the file does: is the file cut off?"),
    ("Invalid control character", "write a line break inside text as \\n"),
    ("Extra data", "one object only; is there a second one, or a bracket too many?"),
    ("Illegal trailing comma", "no comma after the last one"),
    ("Expecting property name", "keys go in double quotes; no comma after the last one; no comments"),
    (
        "Expecting ',' delimiter",
        'a comma or closing bracket is missing before this place, or a quote inside text is not \\"',
    ),
    ("Expecting ':' delimiter", "put a colon between key and value"),
)
_KEY = re.compile(r'"([^"\\\n]{1,80})"\s*:')
_PYTHON_WORDS = {"True": "true", "False": "false", "None": "null"}


class _WithDuplicates(dict[str, Any]):
    """An object whose text had keys twice; lives only until the walk over the result."""

    duplicates: tuple[str, ...] = ()


def parse_json(text: str, free_keys: tuple[str, ...] = ()) -> tuple[Any, list[tuple[str, str]]]:
    """Parse JSON text.

    Args:
        text: the file's text, without byte order mark.
        free_keys: see ``read_document``.
    Returns: the data, and remarks ``(key path, remark)``.
    Raises: Problem with line and column; the text itself is never quoted, since it may be a secret.
    """
    try:
        data = json.loads(text, object_pairs_hook=_object, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        place = f"(line {error.lineno}, column {error.colno})"
        raise Problem(
            _key_before(error), f"is not valid JSON: {error.msg.removesuffix(' at')} {place}", _fix(error)
        ) from None
    except RecursionError:
        raise Problem("", f"is nested deeper than {MAX_DEPTH} levels", "flatten it") from None
    except ValueError:
        raise Problem("", "holds a number that is too long", "write it as text") from None
    remarks: list[tuple[str, str]] = []
    return _checked(data, "", 0, free_keys, remarks), remarks


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) == len(pairs):
        return result
    seen: set[str] = set()
    twice = [key for key, _ in pairs if key in seen or seen.add(key)]  # type: ignore[func-returns-value]
    marked = _WithDuplicates(result)
    marked.duplicates = tuple(dict.fromkeys(twice))
    return marked


def _refuse_constant(word: str) -> Any:
    raise Problem("", f"holds {word}, which is not JSON", "write a finite number, or null")


def _checked(data: Any, path: str, depth: int, free_keys: tuple[str, ...], remarks: list[tuple[str, str]]) -> Any:
    """Turn marked objects back into plain ones; a duplicate is an error, or a remark where the content is free."""
    if depth > MAX_DEPTH:
        raise Problem(path, f"is nested deeper than {MAX_DEPTH} levels", "flatten it")
    if isinstance(data, list):
        return [_checked(v, f"{path}[{i}]", depth + 1, free_keys, remarks) for i, v in enumerate(data)]
    if not isinstance(data, dict):
        return data
    for key in data.duplicates if isinstance(data, _WithDuplicates) else ():
        where = join(path, key)
        if path.split(".")[0].split("[")[0] not in free_keys:
            raise Problem(where, "is there twice", "keep one of the two")
        remarks.append((where, "is there twice; the last one counts"))
    return {k: _checked(v, join(path, k), depth + 1, free_keys, remarks) for k, v in data.items()}


def _key_before(error: json.JSONDecodeError) -> str:
    """Return the last key before the fault, so that a reader finds the place; "" before the first one."""
    keys = _KEY.findall(error.doc[max(0, error.pos - 20_000) : error.pos])
    return str(keys[-1]) if keys else ""


def _fix(error: json.JSONDecodeError) -> str:
    rest = error.doc[error.pos : error.pos + 8]
    for word, instead in _PYTHON_WORDS.items():
        if rest.startswith(word):
            return f"{word} is Python; write {instead}"
    if not error.doc.strip():
        return 'the file is empty; start with {"id": …}'
    if error.pos >= len(error.doc.rstrip()):
        return "the file ends too early: is it cut off?"
    return next((fix for start, fix in _FIXES if error.msg.startswith(start)), "check the text at this place")
