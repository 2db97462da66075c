"""The stranger party: a world with its own clock and its own observations goes through every public door.

It lives outside the package (``tests/strangers``), imports only what the extension guide names, and core names none of
it. What a bundled party can do it can do, through the same doors.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gym_anything import from_config, get_runner_compatibility, get_runner_compatibility_matrix, make
from gym_anything.cli.main import cli
from gym_anything.errors import ActionUnsupported, MissingDependency, PluginConflict, SpecInvalid, UnsupportedFeature
from gym_anything.runtime.runners.registry import register_runner, resolve_runner, unregister_runner
from gym_anything.testing import build_conformance_case
from tests.installed_distribution import write_distribution
from tests.strangers_on_path import ENVIRONMENT, ROVER, strangers_on_path

pytestmark = pytest.mark.real


@pytest.fixture(autouse=True)
def stranger(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """The stranger's project is importable; artifacts go to a folder of the test's own."""
    monkeypatch.delenv("GYM_ANYTHING_RUNNER", raising=False)
    monkeypatch.chdir(tmp_path)
    with strangers_on_path():
        yield
    unregister_runner("rover")


def play(env: Any, *, cells: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Play one short episode; return the observation after the drive and the last info."""
    with env:
        env.reset(seed=3)
        obs, _, _, _ = env.step({"action": "drive", "cells": cells}, wait_between_actions=0.0)
        _, _, done, info = env.step([], mark_done=True)
        assert done
        return obs, info


def spec(**changes: Any) -> dict[str, Any]:
    """Return the stranger's spec as a dict, with changes."""
    return {**json.loads((ENVIRONMENT / "env.json").read_text()), **changes}


def command(*words: str) -> Any:
    """Run the command line in this process."""
    return CliRunner().invoke(cli, list(words), catch_exceptions=False)


# --- the world by its three names --------------------------------------------------------------------------------


def test_a_locator_in_the_spec_needs_no_registration():
    obs, info = play(from_config(ENVIRONMENT, fast_io=True), cells=3)
    assert obs["telemetry"] == {"sol": 0.75, "cell": 3, "fuel": 5}
    assert obs["lidar"] == [3, 2, 1, 0, 1]
    assert info["outcome"]["status"] == "passed"
    assert info["verifier"]["feedback"] == "the rover is at cell 3"


def test_a_name_registered_in_code_works_the_same():
    from stranger_party.world import RoverRunner

    register_runner("rover", RoverRunner)
    env = from_config(ENVIRONMENT, overrides={"runner": "rover"}, fast_io=True)
    assert env.runner_name == "rover"
    assert play(env, cells=2)[1]["outcome"]["status"] == "failed"


def test_an_entry_point_works_the_same(tmp_path, monkeypatch):
    write_distribution(tmp_path / "site", "stranger-party", {"gym_anything.runners": {"rover": ROVER}})
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site"), *sys.path])
    env = from_config(ENVIRONMENT, overrides={"runner": "rover"}, fast_io=True)
    assert play(env, cells=3)[1]["outcome"]["status"] == "passed"


def test_the_environment_variable_wins_over_the_spec(monkeypatch):
    monkeypatch.setenv("GYM_ANYTHING_RUNNER", ROVER)
    env = from_config(ENVIRONMENT, overrides={"runner": "docker"}, fast_io=True)
    assert env.runner_name == ROVER
    env.close()


def test_a_reserved_name_is_a_conflict_at_first_use_and_replace_is_the_override():
    from stranger_party.world import RoverRunner

    try:
        register_runner("modal", RoverRunner)
        with pytest.raises(PluginConflict, match="reserved"):
            from_config(ENVIRONMENT, overrides={"runner": "modal"})
        register_runner("modal", RoverRunner, replace=True)
        assert resolve_runner("modal") is RoverRunner
        from_config(ENVIRONMENT, overrides={"runner": "modal"}).close()
    finally:
        unregister_runner("modal")


def test_a_stranger_is_never_detected_in_silence():
    from stranger_party.world import RoverRunner

    register_runner("rover", RoverRunner)
    no_runner = {key: value for key, value in spec(os_type="macos").items() if key not in ("runner", "runner_options")}
    with pytest.raises(MissingDependency, match="rover: never chosen by itself"):
        make(no_runner)


# --- the episode -------------------------------------------------------------------------------------------------


def test_make_takes_the_spec_as_a_dict():
    obs, info = play(make(spec(), fast_io=True), cells=1)
    assert obs["telemetry"]["cell"] == 1
    assert info["outcome"] is None, "without a task there is nothing to judge"


def test_waits_go_to_the_worlds_own_clock():
    with make(spec(), fast_io=True) as env:
        env.reset()
        obs, _, _, info = env.step({"action": "wait", "time": 1000.0})
        assert obs["telemetry"]["sol"] == 1000.0
        assert info["action_result"] == {"action": "wait", "output": {"sol": 1000.0}}


def test_an_action_the_world_refuses_is_refused_to_the_agent():
    with make(spec(), fast_io=True) as env:
        env.reset()
        with pytest.raises(ActionUnsupported, match="cannot"):
            env.step({"action": "fly"})
        with pytest.raises(ActionUnsupported):
            env.step({"mouse": {"left_click": [1, 1]}})
        assert env.capture_observation()["telemetry"]["cell"] == 0


def test_the_world_receives_context_seed_scripts_and_hooks():
    with from_config(ENVIRONMENT, fast_io=True) as env:
        env.reset(seed=11)
        context = json.loads((Path(env.episode_dir) / "rover_mission.json").read_text())
        assert (context["env_id"], context["seed"]) == ("crater@1", 11)
        assert context["episode_dir"] == str(env.episode_dir)
        assert context["task_id"]
        assert env.runner.log == [
            "landed in gale with seed 11",
            "pre_start: noop first",
            "post_start: noop second",
            "pre_task: noop pre_task",
        ]
        assert env.capture_observation()["telemetry"]["fuel"] == 8


def test_what_it_cannot_do_is_said_clearly():
    with make(spec()) as env, pytest.raises(UnsupportedFeature):
        env.reset(use_cache=True)


def test_nothing_is_left_of_it(no_leaks, tmp_path):
    folder = tmp_path / "artifacts"
    play(make(spec(recording={"enable": False, "output_dir": str(folder)}), fast_io=True), cells=1)


# --- facts and checks --------------------------------------------------------------------------------------------


def test_a_misspelt_option_fails_when_the_spec_is_loaded():
    with pytest.raises(SpecInvalid, match="unknown rover option 'fule'"):
        from_config(ENVIRONMENT, overrides={"runner_options": {"fule": 3}})


def test_its_compatibility_is_in_the_row_and_in_the_matrix():
    from stranger_party.world import RoverRunner

    assert get_runner_compatibility(ROVER).notes == ("gravity: 0.38",)
    register_runner("rover", RoverRunner)
    assert get_runner_compatibility_matrix()["rover"].platforms == ("mars",)


def test_validate_asks_it_about_its_options():
    fine = command("validate", str(ENVIRONMENT), "--json")
    assert fine.exit_code == 0, fine.output
    assert json.loads(fine.output)["runner"]["name"] == ROVER


def test_validate_fails_for_a_misspelt_option(tmp_path):
    (tmp_path / "env").mkdir()
    (tmp_path / "env" / "env.json").write_text(json.dumps(spec(runner_options={"fule": 1}, hooks={})))
    wrong = command("validate", str(tmp_path / "env"))
    assert wrong.exit_code == 1
    assert "fule" in wrong.output


def test_verify_task_proves_its_task():
    proof = command("verify", "task", str(ENVIRONMENT), "reach_ridge", "--json")
    assert proof.exit_code == 0, proof.output


# --- the conformance suite ---------------------------------------------------------------------------------------

with strangers_on_path():
    RoverConformance = build_conformance_case(
        ROVER,
        env_spec={
            "observation": [{"type": "telemetry"}, {"type": "lidar"}],
            "action": [{"type": "drive"}],
            "runner_options": {"fuel": 6},
            "deterministic": True,
        },
        actions=[{"action": "drive", "cells": 2}, {"action": "wait", "time": 3}],
    )
