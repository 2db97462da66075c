"""The stranger party at the command line: benchmark, run, list, doctor, compatibility and cache, as its users type them.

Each command is a process of its own with the stranger's project on ``PYTHONPATH``, which is what an installed package
looks like to it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.installed_distribution import write_distribution
from tests.strangers_on_path import BENCHMARK, ENVIRONMENT, ROVER, STRANGERS

pytestmark = pytest.mark.real

PILOT = "stranger_party.agents:RoverPilot"
AUTOPILOT = "stranger_party.agents:RoverAutopilot"


@pytest.fixture
def command(tmp_path: Path):
    """Return ``run(*words, **env)``: the command line in an empty folder, the stranger's project installed.

    Args: code: how it must end; None: as it likes.
    """

    def run(*words: str, code: int | None = 0, **env: str) -> subprocess.CompletedProcess[str]:
        clean = {k: v for k, v in os.environ.items() if not k.startswith("GYM_ANYTHING_")}
        path = os.pathsep.join([*filter(None, [env.pop("SITE", "")]), str(STRANGERS)])
        done = subprocess.run(
            [sys.executable, "-m", "gym_anything.cli.main", *words],
            cwd=tmp_path,
            env={**clean, "PYTHONPATH": path, **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=110,
            check=False,
        )
        assert code is None or done.returncode == code, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        assert "Traceback" not in done.stderr
        return done

    return run


def answer(done: subprocess.CompletedProcess[str]) -> Any:
    return json.loads(done.stdout)


# --- benchmarks --------------------------------------------------------------------------------------------------


def test_a_benchmark_by_path_with_an_agent_by_locator(command, tmp_path):
    words = ["benchmark", "all", "--benchmark", str(BENCHMARK), "--agent", PILOT, "--agent-arg", "ridge=3", "--fast-io"]
    report = answer(command(*words, "--json"))
    assert report["totals"]["passed"] == 1
    (episode,) = report["episodes"]
    assert episode["runner"] == ROVER
    assert (tmp_path / "all_runs").is_dir()
    assert list(Path(episode["run_dir"]).rglob("rover_mission.json")), "the world's own artifact is among the results"


def test_a_pilot_that_stops_short_fails_and_is_not_broken(command):
    words = ["benchmark", "all", "--benchmark", str(BENCHMARK), "--agent", PILOT, "--agent-arg", "ridge=2", "--fast-io"]
    report = answer(command(*words, "--json"))
    assert (report["totals"]["failed"], report["totals"]["broken"]) == (1, 0)


def test_a_benchmark_by_package_name_and_split_as_in_the_guide(command):
    words = "benchmark all --benchmark robotics_world --split train --agent robobench.agents:IsaacPilotAgent"
    done = command(*words.split())
    assert "pick_crate" in done.stdout
    assert "passed" in done.stdout


def test_the_guides_agent_with_a_model(command):
    words = (
        "benchmark all --benchmark robotics_world --agent robobench.agents:IsaacPilotAgent --model some-model --json"
    )
    assert "some-model" in answer(command(*words.split()))["episodes"][0]["run_dir"]


def test_the_ambient_benchmark_is_the_default(command):
    listed = command("list", "tasks", "--split", "train", "--json", GYM_ANYTHING_BENCHMARK="robotics_world")
    assert "pick_crate" in listed.stdout


def test_run_with_an_agent_that_owns_the_episode(command):
    report = answer(
        command("run", "crater", "--benchmark", str(BENCHMARK), "--agent", AUTOPILOT, "--fast-io", "--json")
    )
    assert "passed" in json.dumps(report)
    assert '"moved": 3' in json.dumps(report)


def test_a_runner_key_by_an_entry_point_reaches_the_episodes_process(command, tmp_path):
    write_distribution(tmp_path / "site", "stranger-party", {"gym_anything.runners": {"rover": ROVER}})
    words = ["run", str(ENVIRONMENT), "--agent", AUTOPILOT, "--runner", "rover", "--fast-io", "--json"]
    report = answer(command(*words, SITE=str(tmp_path / "site")))
    assert '"runner": "rover"' in json.dumps(report)


@pytest.mark.parametrize(
    ("words", "told", "code"),
    [
        (["run", str(ENVIRONMENT), "--agent", PILOT, "--runner", "no-such-runner"], "no-such-runner", 2),
        (["run", str(ENVIRONMENT), "--agent", PILOT, "--runner", "modal"], 'pip install "gym-anything[modal]"', 1),
        (["run", str(ENVIRONMENT), "--agent", PILOT, "--use-cache"], "checkpoint", 1),
    ],
)
def test_what_cannot_be_is_told_and_never_counts_as_failed(command, words, told, code):
    done = command(*words, "--json", code=code)
    assert told.lower() in (done.stdout + done.stderr).lower().replace('\\"', '"')


# --- doctor, compatibility, cache --------------------------------------------------------------------------------


def checks_of(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    return {check["name"]: check for check in answer(done)["checks"]}


@pytest.fixture
def doctor(command):
    """Return ``ask(*words, **env)``: doctor's checks by name; whether the host is fit is not this test's matter."""

    def ask(*words: str, **env: str) -> dict[str, Any]:
        return checks_of(command("doctor", "--json", "--limit", "1", *words, code=None, **env))

    return ask


def test_doctor_asks_a_runner_by_locator(doctor):
    assert doctor("--runner", ROVER)[f"runner:{ROVER}"]["ok"]


def test_doctor_fails_for_a_runner_that_was_asked_for_and_cannot_work(command):
    done = command("doctor", "--json", "--limit", "1", "--runner", "no.such:Runner", code=1)
    assert answer(done)["ok"] is False
    assert checks_of(done)["runner:no.such:Runner"]["required"]


def test_doctor_asks_registered_runners_and_flags_conflicts(doctor, tmp_path):
    site = tmp_path / "site"
    write_distribution(site, "stranger-party", {"gym_anything.runners": {"rover": ROVER, "docker": ROVER}})
    write_distribution(site, "other-party", {"gym_anything.runners": {"twice": ROVER}})
    write_distribution(site, "third-party", {"gym_anything.runners": {"twice": "robobench.isaac:IsaacSimRunner"}})
    checks = doctor(SITE=str(site))
    assert checks["runner:rover"]["ok"]
    told = json.dumps([check for check in checks.values() if not check["ok"]])
    assert "twice" in told
    assert "docker" in told


def test_doctor_warns_when_the_working_directory_shadows_a_package(doctor, tmp_path):
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "__init__.py").write_text("")
    shadowed = {name: check for name, check in doctor().items() if name.startswith("shadowed-packages")}
    assert any(not check["ok"] and "agents" in check["detail"] for check in shadowed.values())


def test_compatibility_shows_its_row(command):
    row = answer(command("compatibility", ROVER, "--json"))[ROVER]
    assert row["platforms"] == ["mars"]
    assert row["notes"] == ["gravity: 0.38"]


def test_cache_list_shows_what_it_keeps(command, tmp_path):
    write_distribution(tmp_path / "site", "stranger-party", {"gym_anything.runners": {"rover": ROVER}})
    listed = command("cache", "list", "--json", SITE=str(tmp_path / "site"))
    assert "rover-maps" in listed.stdout
