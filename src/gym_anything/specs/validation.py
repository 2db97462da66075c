"""From pydantic's findings to our one error: file, key path and a fix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from gym_anything.specs.document import join, kind_of, plain_copy
from gym_anything.specs.near_miss import suggestion
from gym_anything.specs.problem import Problem, spec_invalid

Model = TypeVar("Model", bound=BaseModel)

_SHOWN_PROBLEMS = 20
_KIND_WANTED = {
    "string_type": "text (in quotes)",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "number_type": "a number",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "text_or_list": "text or a list of texts",
}
_NOWHERE = object()
# What pydantic puts into a key path for the branches of a union; they are no keys.
_BRANCHES = {"str", "int", "float", "bool"}


def validated(cls: type[Model], data: object, *, origin: str) -> Model:
    """Return ``cls`` made from plain data.

    Args:
        data: must be a mapping of JSON data.
        origin: the file, or words for where the data came from; starts the error's message.
    Raises: SpecInvalid that lists every fault with its key path and a fix.
    """
    try:
        if not isinstance(data, Mapping):
            raise Problem("", f"must be an object of keys and values, not {kind_of(data)}", "write `key: value` pairs")
        plain = plain_copy(dict(data))
    except Problem as problem:
        raise spec_invalid(origin, [problem]) from None
    try:
        return cls.model_validate(plain)
    except ValidationError as error:
        problems = _problems(cls, error.errors(include_url=False), plain)
        # The pydantic error is no cause worth keeping: it may show a password and says nothing more.
        raise spec_invalid(origin, problems[:_SHOWN_PROBLEMS]) from None


def key_path(loc: tuple[int | str, ...]) -> str:
    """Return ``mounts[2].mode`` for ``("mounts", 2, "mode")``."""
    path = ""
    for part in loc:
        path = f"{path}[{part}]" if isinstance(part, int) else join(path, part)
    return path


def _problems(cls: type[BaseModel], errors: list[ErrorDetails], data: dict[str, Any]) -> list[Problem]:
    """Return one problem for each faulty key, however many branches of a union complained about it.

    Missing keys come last: a key that is misspelt is the better explanation.
    """
    found: dict[str, Problem] = {}
    for error in sorted(errors, key=lambda e: e["type"] == "missing"):
        loc = _real_keys(error["loc"], data)
        path, value = key_path(loc), _value_at(data, loc)
        if error["type"] == "too_short" and value and isinstance(value, list):
            continue  # the list is not short: an item of it is wrong, and has its own error
        if path not in found:
            found[path] = _problem(cls, error, loc, path, value)
    return list(found.values())


def _problem(cls: type[BaseModel], error: ErrorDetails, loc: tuple[int | str, ...], path: str, value: Any) -> Problem:
    kind = error["type"]
    context = error.get("ctx") or {}
    if kind == "missing" and isinstance(value, list):
        return Problem(path, f"has {len(value)} items, which is too few", "write all of them")
    if kind == "missing":
        fix = "add it" if cls.__name__ != "EnvSpec" or len(loc) > 1 or loc[0] == "id" else "add it, or name a `base`"
        return Problem(path, "is missing", fix)
    if kind == "extra_forbidden":
        known = _known_keys(cls, loc[:-1])
        return Problem(path, "is an unknown key", suggestion(str(loc[-1]), known, "known here"))
    if kind == "literal_error":
        return Problem(path, f"is {_shown(value)}", f"use one of {context.get('expected', '')}")
    if kind in _KIND_WANTED:
        return Problem(path, f"is {kind_of(value)}", f"write {_KIND_WANTED[kind]}")
    message = error["msg"]
    return Problem(path, message[0].lower() + message[1:], f"it is {_shown(value)} now")


def _shown(value: Any) -> str:
    """Show a small value; of anything else only its kind."""
    if isinstance(value, bool | int | float) or value is None:
        return repr(value)
    if isinstance(value, str) and len(value) <= 60:
        return repr(value)
    return kind_of(value)


def _real_keys(loc: tuple[int | str, ...], data: Any) -> tuple[int | str, ...]:
    """Drop the names of union branches from a location: keep what can be walked, and a last key that is missing."""
    kept: list[int | str] = []
    here = data
    for number, part in enumerate(loc):
        there = _step(here, part)
        if there is not _NOWHERE:
            here = there
        elif not isinstance(here, dict) or number < len(loc) - 1 or part in _BRANCHES:
            continue
        kept.append(part)
    return tuple(kept)


def _value_at(data: Any, loc: tuple[int | str, ...]) -> Any:
    for part in loc:
        data = _step(data, part)
        if data is _NOWHERE:
            return None
    return data


def _step(data: Any, part: int | str) -> Any:
    if isinstance(data, dict):
        return data.get(part, _NOWHERE)
    if isinstance(data, list) and isinstance(part, int) and part < len(data):
        return data[part]
    return _NOWHERE


def _known_keys(cls: type[BaseModel], loc: tuple[int | str, ...]) -> tuple[str, ...]:
    """Return the keys that the sub-object at ``loc`` knows."""
    here: type[BaseModel] | None = cls
    for part in loc:
        if isinstance(part, int) or here is None:
            continue
        field = next((f for n, f in here.model_fields.items() if (f.alias or n) == part), None)
        here = _model_in(field.annotation) if field is not None else None
    return tuple(f.alias or n for n, f in here.model_fields.items()) if here is not None else ()


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the model class inside ``Model``, ``Model | None`` or ``tuple[Model, ...]``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for argument in getattr(annotation, "__args__", ()):
        found = _model_in(argument)
        if found is not None:
            return found
    return None
