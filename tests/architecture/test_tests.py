"""The tests themselves: each can be selected, and none is skipped without a word."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.architecture.source_tree import ROOT

pytestmark = pytest.mark.unit

MARKERS = {"unit", "real", "slow", "soak"}


def files_of_tests() -> list[Path]:
    return sorted((ROOT / "tests").rglob("test_*.py"))


def marks_in(node: ast.AST) -> set[str]:
    """Return the names after ``pytest.mark.`` below a node."""
    return {
        n.attr
        for n in ast.walk(node)
        if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Attribute) and n.value.attr == "mark"
    }


def unmarked(tree: ast.Module) -> list[str]:
    """Return the tests that neither the file nor they themselves give a marker."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark" and marks_in(node) & MARKERS:
            return []
    tests = [
        n for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef) and n.name.lower().startswith("test")
    ]
    return [n.name for n in tests if not any(marks_in(d) & MARKERS for d in n.decorator_list)]


def skips_without_reason(tree: ast.Module) -> list[int]:
    """Return the lines of ``pytest.skip()`` and ``pytest.mark.skip`` without a text."""
    called = {id(n.func): n for n in ast.walk(tree) if isinstance(n, ast.Call)}
    wrong = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in {"skip", "skipif", "xfail"}:
            call = called.get(id(node))
            said = call is not None and (
                (node.attr == "skip" and call.args) or any(k.arg == "reason" for k in call.keywords)
            )
            if not said and ast.unparse(node.value) in {"pytest", "pytest.mark"}:
                wrong.append(node.lineno)
    return wrong


@pytest.mark.parametrize("path", files_of_tests(), ids=lambda p: str(p.relative_to(ROOT)))
def test_every_test_has_a_marker_and_every_skip_a_reason(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert unmarked(tree) == []
    assert skips_without_reason(tree) == []


def test_the_guards_notice() -> None:
    tree = ast.parse(
        "import pytest\n@pytest.mark.skip\ndef test_a():\n    pytest.skip()\n"
        "@pytest.mark.unit\ndef test_b():\n    pytest.skip('why')\n@pytest.mark.skipif(True)\ndef test_c(): ...\n"
    )
    assert unmarked(tree) == ["test_a", "test_c"]
    assert sorted(skips_without_reason(tree)) == [2, 4, 8]
