"""What README and the how-to pages show is run as written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gym_anything.actions.parse import parse_actions
from tests.conftest import RequireBackend
from tests.e2e.command_line import CommandLine
from tests.e2e.local_world import require_local_world
from tests.unit.docs.doc_snippets import ROOT, Snippet, command_lines, python_snippets, run_python, write_files

pytestmark = [pytest.mark.real, pytest.mark.timeout(200)]

TASK, AGENT, RUNNER = (f"docs/how-to/{name}.md" for name in ("task", "agent", "runner"))


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of somebody who follows the pages: the files they show, and our benchmarks beside them."""
    for page in (TASK, AGENT, RUNNER):
        write_files(page, tmp_path)
    (tmp_path / "benchmarks").symlink_to(ROOT / "benchmarks")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [name for name in sys.modules if name.split(".")[0] == "my_package"]:
        monkeypatch.delitem(sys.modules, name)
    return tmp_path


def test_the_readmes_example_plays_an_episode(
    reader: Path, require_backend: RequireBackend, capsys: pytest.CaptureFixture[str]
) -> None:
    require_local_world(require_backend)
    example, *_ = python_snippets("README.md")
    assert len([line for line in example.text.splitlines() if line.strip()]) <= 14, "it is shown as ten lines"
    namespace: dict[str, object] = {}
    run_python(example, namespace)
    outcome = namespace["info"]["outcome"]  # type: ignore[index]
    assert (outcome["status"], namespace["reward"], namespace["done"]) == ("passed", 1.0, True)
    printed = capsys.readouterr().out
    assert printed.startswith("(1920, 1080)") and "passed" in printed
    assert [path.parent.parent.name for path in reader.glob("artifacts/*/summary.json")] == ["artifacts"]


@pytest.mark.parametrize("snippet", python_snippets("README.md")[1:], ids=lambda s: f"line-{s.line}")
def test_the_readmes_other_examples_run(reader: Path, snippet: Snippet) -> None:
    namespace: dict[str, object] = {}
    run_python(snippet, namespace)
    if "Clicker" in namespace:
        agent = namespace["Clicker"](agent_args={}, verbose=False, debug=False)  # type: ignore[operator]
        agent.init("click", (800, 600), str(reader))
        (turn,) = agent.step({}, [])
        assert parse_actions(turn["actions"], screen=(800, 600))[0].to_raw() == {"mouse": {"left_click": [400, 300]}}


@pytest.mark.slow
def test_the_task_page_ends_with_a_task_that_proves_itself(reader: Path, require_backend: RequireBackend) -> None:
    require_local_world(require_backend)
    cli = CommandLine(reader)
    commands = command_lines(TASK)
    assert [command[0] for command in commands] == ["validate", "verify", "benchmark"]
    report = cli.json(*commands[0])
    assert report["ok"] and not report["warnings"] and not report["missing"], report
    proof = cli.json(*commands[1])
    assert {row["attempt"]: row["status"] for row in proof["attempts"]} == {
        "do nothing": "failed",
        "oracle.json": "passed",
        "near_miss_1.json": "failed",
    }
    assert cli.json(*commands[2])["totals"]["passed"] == 1


@pytest.mark.slow
def test_the_agents_of_the_agent_page_play_that_task(reader: Path, require_backend: RequireBackend) -> None:
    require_local_world(require_backend)
    cli = CommandLine(reader)
    clicker, typist = command_lines(AGENT)
    failed = cli.json(*clicker, code=1)
    assert (failed["status"], failed["steps"]) == ("failed", 5)
    passed = cli.json(*typist)
    assert (passed["status"], passed["agent_result"]) == ("passed", {"saw": [1280, 800]})


def test_the_runner_page_makes_a_world_that_conforms(reader: Path) -> None:
    namespace: dict[str, object] = {}
    for snippet in python_snippets(RUNNER):
        run_python(snippet, namespace)
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_worlds.py"]
    env = {"PYTHONPATH": str(reader), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(argv, cwd=reader, env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0 and " passed" in done.stdout, done.stdout
