"""A benchmark in a package of a stranger's: installed, found by its name, by its folder and by the environment variable."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import RequireBackend
from tests.e2e.command_line import CommandLine, verdicts
from tests.e2e.local_world import require_local_world

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(300)]

PACKAGE = Path(__file__).parents[2] / "examples" / "greenhouse"
ORACLE = ("--agent", "oracle", "--fast-io", "--seed", "0", "--expect", "passed")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the package as pip does, into a folder of its own; the checkout's copy is out of reach by name."""
    folder = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "-q", "--no-deps"]
    subprocess.run([*pip, "--no-build-isolation", "--target", str(folder), str(PACKAGE)], check=True, timeout=200)
    return folder


@pytest.fixture
def cli(site: Path, tmp_path: Path) -> CommandLine:
    cli = CommandLine(tmp_path)
    cli.environ["PYTHONPATH"] = str(site)
    return cli


def test_it_is_found_by_name_by_folder_and_by_the_variable(cli: CommandLine, site: Path) -> None:
    tasks = ("list", "tasks", "--env", "greenhouse")
    by_name = cli.json(*tasks, "--benchmark", "greenhouse_world")["tasks"]
    assert [row["task"] for row in by_name] == ["label_plant", "water_beds"]
    assert cli.json(*tasks, "--benchmark", str(PACKAGE / "greenhouse_world"))["tasks"]
    cli.environ["GYM_ANYTHING_BENCHMARK"] = "greenhouse_world"
    assert cli.json(*tasks)["tasks"] == by_name
    report = cli.json("validate", "greenhouse")
    assert report["ok"] and Path(report["file"]).is_relative_to(site)


def test_its_binding_module_knows_its_own_splits(cli: CommandLine) -> None:
    code = (
        "from greenhouse_world.registry.splits import ROOT, select, split_names\n"
        "print(ROOT.name, split_names('greenhouse'), select('greenhouse', 'test', 'verified').tasks)"
    )
    argv = [sys.executable, "-c", code]
    done = subprocess.run(argv, cwd=cli.folder, env=cli.environ, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "greenhouse_world ['all', 'train', 'test', 'disk'] ('label_plant',)"


def test_a_name_that_nobody_installed_is_refused_with_those_there_are(cli: CommandLine) -> None:
    argv = [*cli.program, "validate", "greenhouse"]
    environ = {**cli.environ, "GYM_ANYTHING_BENCHMARK": "greenhouse_word"}
    done = subprocess.run(argv, cwd=cli.folder, env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2 and "there is no benchmark 'greenhouse_word'" in done.stderr, done.stderr
    assert "there are: desktop_basics" in done.stderr, done.stderr


def test_a_task_of_it_is_solved_by_name(cli: CommandLine, require_backend: RequireBackend) -> None:
    """The other task, and the other ways to name it, are played in the long runs."""
    require_local_world(require_backend)
    play = ("benchmark", "greenhouse", "--benchmark", "greenhouse_world", "--task", "water_beds", *ORACLE)
    assert verdicts(cli.json(*play)) == {"water_beds": ("passed", 100.0)}


@pytest.mark.soak
def test_its_tasks_are_solved_in_all_three_ways(cli: CommandLine, require_backend: RequireBackend) -> None:
    require_local_world(require_backend)
    play = ("benchmark", "all", "--parallel", "2", *ORACLE)
    named = cli.json(*play, "--benchmark", "greenhouse_world", "--exp", "by_name")
    assert verdicts(named) == dict.fromkeys(["label_plant", "water_beds"], ("passed", 100.0))
    folder = cli.json(*play, "--benchmark", str(PACKAGE / "greenhouse_world"), "--exp", "folder", "--split", "test")
    assert verdicts(folder) == {"label_plant": ("passed", 100.0)}
    cli.environ["GYM_ANYTHING_BENCHMARK"] = "greenhouse_world"
    assert verdicts(cli.json(*play, "--split", "train")) == {"water_beds": ("passed", 100.0)}


@pytest.mark.soak
@pytest.mark.parametrize("task", ["label_plant", "water_beds"])
def test_its_tasks_prove_themselves(task: str, cli: CommandLine, require_backend: RequireBackend) -> None:
    require_local_world(require_backend)
    report = cli.json("verify", "task", "greenhouse", task, "--benchmark", "greenhouse_world", code=None)
    assert report["ok"], report["attempts"]
