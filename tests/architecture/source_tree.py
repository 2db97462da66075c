"""The source tree as data, for the tests that guard its shape."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "gym_anything"


@dataclass(frozen=True)
class Module:
    """One Python file: its path from the package folder, its text and its syntax tree."""

    path: Path
    text: str
    tree: ast.Module

    @property
    def name(self) -> str:
        return self.path.relative_to(PACKAGE).as_posix()


@cache
def modules() -> tuple[Module, ...]:
    """Return every module of the package."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        found.append(Module(path, text, ast.parse(text, filename=str(path))))
    return tuple(found)


def is_party(module: Module) -> bool:
    """Tell whether a module belongs to a bundled runner or agent (a leaf, loaded by name)."""
    parts = module.path.relative_to(PACKAGE).parts
    return (parts[:2] == ("runtime", "runners") and len(parts) > 3) or parts[:2] == ("agents", "builtin")
