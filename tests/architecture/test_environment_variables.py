"""Every environment variable that the package reads is declared in the one registry, with its documentation."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re

import pytest

import gym_anything
from tests.architecture.source_tree import Module, modules

pytestmark = pytest.mark.unit

NAME = re.compile(r"^(GYM_ANYTHING|VLM|USE_COMPUTER)_[A-Z0-9_]+$")
# Names that are set for others to read (a label on our processes, what a guest sees), not settings.
NOT_SETTINGS = {"GYM_ANYTHING_WORLD_LABEL", "GYM_ANYTHING_SEED"}


def declared_names() -> set[str]:
    from gym_anything._util import env_vars

    for info in pkgutil.walk_packages(gym_anything.__path__, "gym_anything."):
        if not info.name.endswith("__main__"):
            importlib.import_module(info.name)
    return {v.name for v in env_vars.declared()}


def test_every_variable_named_in_the_code_is_declared() -> None:
    known = declared_names() | NOT_SETTINGS
    used = {
        (node.value, m.name)
        for m in modules()
        for node in ast.walk(m.tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and NAME.match(node.value)
    }
    missing = sorted(f"{name} ({where})" for name, where in used if name not in known)
    assert not missing, f"declare them with env_vars.declare: {missing}"


READS_THE_ENVIRONMENT = re.compile(r"os\.environ\.get\(|os\.getenv\(|os\.environ\[")


@pytest.mark.parametrize("module", modules(), ids=lambda m: m.name)
def test_settings_are_read_through_the_registry(module: Module) -> None:
    """A direct look at our own variables escapes documentation and precedence."""
    if module.name in {"_util/env_vars.py"}:
        return
    direct = [
        line.strip()
        for line in module.text.splitlines()
        if READS_THE_ENVIRONMENT.search(line) and "GYM_ANYTHING_" in line and "WORLD_LABEL" not in line
    ]
    assert not direct, f"{module.name}: {direct}"
