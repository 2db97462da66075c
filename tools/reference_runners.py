"""The page of runners: what their classes say of themselves, whatever this machine can do."""

from __future__ import annotations

import importlib
import inspect
import json
from types import ModuleType
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from gym_anything.runtime.runners.base import BaseRunner
from gym_anything.runtime.runners.facts import get_runner_compatibility
from gym_anything.runtime.runners.registry import RESERVED, known_runners, resolve_runner
from tools.field_docs import field_docs, summary, table_cell

_INTRODUCTION = """\
# Runners

A runner makes a world. It is chosen by `GYM_ANYTHING_RUNNER`, else by `runner` in the spec, else by detection: of those
that can work on this machine and suit the spec, the one with the highest priority. `runner` is a key or a locator
`pkg.mod:Class`. `gym-anything doctor` tries what this machine can do; `gym-anything compatibility` prints this table with
the runners of other packages.
"""
_ABILITIES = {
    "fast_io": "fast I/O",
    "checkpoint_caching": "caching",
    "savevm": "savevm",
    "fork": "forks",
    "live_recording": "recording",
    "time_control": "own clock",
    "acks_input_delivery": "input acknowledged",
}
_WORDS = {True: "yes", False: "no", None: "depends on the spec"}


def runners_page() -> str:
    """Render the table of our own runners, and each one's options."""
    ours = {
        plugin.key: resolve_runner(plugin.key) for plugin in known_runners() if _is_ours(resolve_runner(plugin.key))
    }
    lines = [_INTRODUCTION, f"| key | guests | priority | {' | '.join(_ABILITIES.values())} |", "|---|---|---" + "|---" * len(_ABILITIES) + "|"]  # fmt: skip
    for key, cls in ours.items():
        row = get_runner_compatibility(key)
        abilities = [_WORDS[getattr(row, ability)] for ability in _ABILITIES]
        lines.append(f"| `{key}` | {', '.join(row.platforms)} | {cls.platform_priority()} | {' | '.join(abilities)} |")
    others = ", ".join(f"`{key}`" for key in sorted(set(RESERVED) - set(ours)))
    lines.append(f"\nReserved, not here yet: {others}.\n")
    for key, cls in ours.items():
        lines += _runner(key, cls)
    return "\n".join(lines) + "\n"


def _is_ours(cls: type[BaseRunner]) -> bool:
    return cls.__module__.startswith("gym_anything.")


def _runner(key: str, cls: type[BaseRunner]) -> list[str]:
    lines = [f"## `{key}`\n", f"{summary(cls)}\n"]
    lines += [f"* {note}" for note in get_runner_compatibility(key).notes]
    package = cls.__module__.rpartition(".")[0]
    model = _options_model(importlib.import_module(f"{package}.options"))
    lines += ["\n`runner_options`:\n", "| option | default | meaning |", "|---|---|---|"]
    for name, doc in field_docs(model).items():
        lines.append(f"| `{name}` | {_default(model.model_fields[name])} | {table_cell(doc.text.replace('``', '`'))} |")
    return lines


def _options_model(module: ModuleType) -> type[BaseModel]:
    """Return the one model of a runner's ``options.py``."""
    (found,) = (
        value
        for value in vars(module).values()
        if inspect.isclass(value) and issubclass(value, BaseModel) and value.__module__ == module.__name__
    )
    return found


def _default(field: Any) -> str:
    if field.default is PydanticUndefined:
        return "required"
    return f"`{json.dumps(field.default)}`"
