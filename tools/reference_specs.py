"""The page of all keys of ``env.json`` and ``task.json``, from the models' own docstrings."""

from __future__ import annotations

import json
import re
from typing import Any, Literal, get_args, get_origin

from pydantic_core import PydanticUndefined

from gym_anything.specs.env_spec import EnvSpec
from gym_anything.specs.spec_model import OpenSpecObject, SpecObject, TopLevelSpec
from gym_anything.specs.task_spec import TaskSpec
from tools.field_docs import field_docs, summary, table_cell

_INTRODUCTION = """\
# Specs

An environment is `env.yaml`, `env.yml` or `env.json`; a task is `task.yaml`, `task.yml` or `task.json` in
`tasks/<task>/`. At the top level unknown keys are kept (`extras`) and a near miss of a known key is warned about; the
objects below refuse unknown keys unless they say otherwise. `null` means "not given".
`gym-anything validate ENV` checks both.
"""
_WORDS = {
    "Name": "text, not empty", "Line": "one line of text", "AccountName": "name of a user or group",
    "Text": "text", "Texts": "list of text", "TextMap": "object of text", "TextOrNumber": "text or number",
    "TextOrTexts": "text or list of text", "Flag": "true or false", "NotNegative": "number, 0 or more", "PositiveNumber": "number above 0",
    "Number": "number", "Whole": "whole number", "PositiveCount": "whole number above 0", "Count": "whole number, 0 or more",
    "Port": "1 to 65535", "HostPort": "-1 to 65535", "Resolution": "[width, height]", "dict[str, Any]": "object",
}  # fmt: skip


_MODELS = {cls.__name__ for base in (OpenSpecObject, SpecObject) for cls in base.__subclasses__()}


def specs_page() -> str:
    """Render the two models and everything they hold."""
    lines = [_INTRODUCTION]
    seen: set[type] = set()
    for title, model in (("The environment", EnvSpec), ("The task", TaskSpec)):
        lines += [f"\n## {title}\n", _intro(model), *_table(model)]
        for key, part in _parts(model, "", seen):
            lines += [f"\n### `{key}`\n", _intro(part), *_table(part)]
    return "\n".join(lines) + "\n"


def _parts(model: type, place: str, seen: set[type]) -> list[tuple[str, type]]:
    """Return the sub-objects of a model with their keys, depth first, each once."""
    found = []
    for name, field in model.model_fields.items():  # type: ignore[attr-defined]
        part = _model_in(field.annotation)
        if part is None or part in seen:
            continue
        seen.add(part)
        key = f"{place}{field.alias or name}" + ("[]" if "tuple" in str(field.annotation) else "")
        found += [(key, part), *_parts(part, f"{key}.", seen)]
    return found


def _model_in(annotation: Any) -> type | None:
    if isinstance(annotation, type) and issubclass(annotation, SpecObject | TopLevelSpec):
        return annotation
    return next((part for inner in get_args(annotation) if (part := _model_in(inner)) is not None), None)


def _intro(model: type) -> str:
    more = (
        " Unknown keys are kept." if issubclass(model, OpenSpecObject) and "nknown keys" not in summary(model) else ""
    )
    return f"{summary(model)}{more}\n"


def _table(model: type) -> list[str]:
    docs = {name: doc for base in reversed(model.__mro__) if _is_ours(base) for name, doc in field_docs(base).items()}
    lines = ["| key | value | default | meaning |", "|---|---|---|---|"]
    fields = sorted(model.model_fields.items(), key=lambda item: item[1].alias == "extras")  # type: ignore[attr-defined]
    for name, field in fields:
        doc = docs[name]
        cells = (
            f"`{field.alias or name}`",
            _value(doc.annotation, field.annotation),
            _default(field),
            doc.text.replace("``", "`"),
        )
        lines.append("| " + " | ".join(table_cell(cell) for cell in cells) + " |")
    return lines


def _is_ours(base: type) -> bool:
    return issubclass(base, SpecObject | TopLevelSpec) and base.__module__.startswith("gym_anything.specs")


def _value(annotation: str, kind: Any) -> str:
    """Say in words what a field takes: ``annotation`` as written, ``kind`` as Python resolved it."""
    choices = [choice for part in (kind, *get_args(kind)) if get_origin(part) is Literal for choice in get_args(part)]
    if choices:
        return ", ".join(f"`{choice}`" for choice in choices)
    listed = re.fullmatch(r"tuple\[(.+), \.\.\.\]", annotation.removesuffix(" | None"))
    words = [_word(part) for part in (listed[1] if listed else annotation).split(" | ") if part != "None"]
    return ("list of " if listed else "") + " or ".join(words)


def _word(name: str) -> str:
    known = _WORDS.get(name)
    assert known or name in _MODELS, f"tools/reference_specs.py has no words for {name!r}"
    return known or "object"


def _default(field: Any) -> str:
    if field.default_factory is not None:
        value = field.default_factory()
        return "" if isinstance(value, SpecObject) else f"`{json.dumps(value)}`"
    if field.default is PydanticUndefined:
        return "required"
    return "" if field.default is None else f"`{json.dumps(field.default)}`"
