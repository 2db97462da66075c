"""The part of a spec that may enter a checkpoint key: everything but what belongs to one episode."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gym_anything.runtime.runners.base import BaseRunner


def without_volatile(cls: type[BaseRunner], spec_data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a deep copy of a spec's dict without the runner's volatile options.

    Args:
        cls: the runner class; its ``volatile_option_paths()`` are dotted paths inside ``runner_options``.
        spec_data: ``EnvSpec.to_dict()``.
    """
    data = copy.deepcopy(dict(spec_data))
    options = data.get("runner_options")
    if isinstance(options, dict):
        for path in cls.volatile_option_paths():
            _drop(options, path.split("."))
    return data


def _drop(options: dict[str, Any], path: list[str]) -> None:
    """Remove one path; a parent that becomes empty by it goes, too, so that "absent" and "only volatile" agree."""
    head, *rest = path
    if not rest:
        options.pop(head, None)
        return
    inner = options.get(head)
    if isinstance(inner, dict):
        _drop(inner, rest)
        if not inner:
            del options[head]
