"""Imports go down the layers; core imports no party; the package's own front door is for users only."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.source_tree import PACKAGE, ROOT, Module, modules

pytestmark = pytest.mark.unit


def test_import_contracts_hold() -> None:
    lint = Path(sys.executable).parent / "lint-imports"
    result = subprocess.run([str(lint), "--no-cache"], cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-2000:]


@pytest.mark.parametrize("module", modules(), ids=lambda m: m.name)
def test_inside_the_package_the_defining_module_is_imported_never_the_front_door(module: Module) -> None:
    if module.path == PACKAGE / "__init__.py":
        return
    wrong = []
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ImportFrom):
            if node.level:
                wrong.append(f"line {node.lineno}: relative import")
            elif node.module == "gym_anything":
                wrong += [
                    f"line {node.lineno}: from gym_anything import {alias.name}"
                    for alias in node.names
                    if not ((PACKAGE / alias.name).is_dir() or (PACKAGE / f"{alias.name}.py").is_file())
                ]
    assert not wrong, f"{module.name}: {wrong}"
