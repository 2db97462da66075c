"""The example of an autonomous agent: a program of its own plays, and does not outlive the episode."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.integration.agents.test_model_agents import played, steps
from tests.integration.verification.judged import running

pytestmark = pytest.mark.real

EXAMPLE = Path(__file__).parents[3] / "examples" / "external_agent"


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLE))


def run(folder: Path, *command: str, **more: Any) -> Any:
    return played(folder, "external_agent:ExternalAgent", command=list(command), **more)


def test_a_program_plays(tmp_path: Path) -> None:
    record = run(tmp_path, sys.executable, str(EXAMPLE / "harness.py"), "hello")
    assert record.outcome.status == "passed" and record.agent_result == {"steps": 2}
    assert steps(tmp_path)[0]["actions"] == [{"mouse": {"left_click": [800, 400]}}]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("pass  # a program that ends at once", "ended or answered None"),
        ("print('hello', flush=True); input()", "no JSON"),
        ("print('[1]', flush=True); input(); input()", "answered [1]"),
    ],
)
def test_a_program_that_goes_wrong_is_the_policys_fault_and_is_gone(tmp_path: Path, code: str, words: str) -> None:
    record = run(tmp_path, sys.executable, "-c", code)
    assert (record.outcome.status, record.outcome.blame) == ("broken", "policy") and words in record.outcome.story
    assert not running(code)


def test_refusals_are_told(tmp_path: Path) -> None:
    code = (
        "import sys, json\n"
        "first = json.loads(input()); print(json.dumps({'actions': [{'mouse': {'left_click': [-1, 0]}}]}), flush=True)\n"
        "told = json.loads(input())['result']['refused']\n"
        "print(json.dumps({'actions': [{'keyboard': {'text': 'hello' if '-1' in told else told}}]}), flush=True)\n"
        "input(); print('{\"done\": true}', flush=True)"
    )
    assert run(tmp_path, sys.executable, "-c", code).outcome.status == "passed"
