"""Law 1: no runner key, agent name or benchmark name steers the control flow of core."""

from __future__ import annotations

import ast

import pytest

from tests.architecture.source_tree import ROOT, Module, is_party, modules

pytestmark = pytest.mark.unit

RUNNERS = {
    "docker", "qemu", "qemu_native", "avd", "avd_native", "avf", "apptainer", "modal", "modal_native",
    "use_computer", "sandweave", "local",
}  # fmt: skip
AGENTS = {
    "noop", "random", "oracle", "replay", "human", "vision", "qwen_vl", "ui_tars", "anthropic_computer", "openai_computer",
}  # fmt: skip
BENCHMARKS = (
    {p.name for p in (ROOT / "benchmarks").iterdir() if p.is_dir()} if (ROOT / "benchmarks").is_dir() else set()
)
PARTIES = RUNNERS | AGENTS | BENCHMARKS | {"cua_world"}


# Where names are reserved, with how to install each.
NAME_TABLES = {"runtime/runners/registry.py", "agents/registry.py"}


def party_names_in_control_flow(tree: ast.Module) -> list[str]:
    """Return every place where a party's name is compared with, matched on, looked up, or the key of a table."""
    found = []

    def names(node: ast.AST) -> list[str]:
        return [
            n.value
            for n in ast.walk(node)
            if isinstance(n, ast.Constant) and isinstance(n.value, str) and n.value in PARTIES
        ]

    for node in ast.walk(tree):
        parts: list[ast.AST] = []
        if isinstance(node, ast.Compare):
            parts = [node.left, *node.comparators]
        elif isinstance(node, ast.MatchValue):
            parts = [node.value]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in {
            "startswith", "endswith", "get", "pop",
        }:  # fmt: skip
            parts = [a for a in node.args if isinstance(a, ast.Constant | ast.Tuple)]
        elif isinstance(node, ast.Subscript):
            parts = [node.slice] if isinstance(node.slice, ast.Constant) else []
        elif isinstance(node, ast.Dict):
            parts = [key for key in node.keys if isinstance(key, ast.Constant)]
        for part in parts:
            found += [f"line {part.lineno}: {name!r}" for name in names(part)]  # type: ignore[attr-defined]
    return found


@pytest.mark.parametrize(
    "module", [m for m in modules() if not is_party(m) and m.name not in NAME_TABLES], ids=lambda m: m.name
)
def test_core_steers_by_no_party_name(module: Module) -> None:
    assert not party_names_in_control_flow(module.tree), module.name


def test_the_guard_sees_what_it_should() -> None:
    for line in (
        "if key == 'docker': pass",
        "x = key in ('qemu', 'avd')",
        "match key:\n  case 'local': pass",
        "table['oracle']",
        "{'docker': start_container}[key]",
    ):
        assert party_names_in_control_flow(ast.parse(line)), line
    for module in modules():
        if module.name in NAME_TABLES:
            tables = [
                n for n in module.tree.body if isinstance(n, ast.AnnAssign) and ast.unparse(n.target) == "RESERVED"
            ]
            rest = [n for n in module.tree.body if n not in tables]
            assert not party_names_in_control_flow(ast.Module(rest, [])), module.name
    assert not party_names_in_control_flow(ast.parse("RESERVED = ('docker', 'qemu')"))
