"""Each SDK of a provider of models is imported by one file, and only when a model is asked."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

from tests.architecture.source_tree import modules

pytestmark = pytest.mark.unit

OWNERS = {"openai": "models/openai_sdk.py", "anthropic": "models/anthropic_sdk.py"}


def imported(tree: ast.AST) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found


def test_one_file_imports_each_sdk() -> None:
    for sdk, owner in OWNERS.items():
        assert [m.name for m in modules() if sdk in imported(m.tree)] == [owner]


def test_agents_and_judges_are_imported_without_an_sdk() -> None:
    code = (
        "import sys\n"
        "from gym_anything.agents.registry import known_agents, resolve_agent\n"
        "[resolve_agent(agent.key) for agent in known_agents() if 'gym_anything.' in agent.address]\n"
        "import gym_anything.verification.judge\n"
        "print(sorted({'openai', 'anthropic'} & set(sys.modules)))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert said.stdout.strip() == "[]"
