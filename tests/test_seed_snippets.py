"""Every snippet of the two guides (extending, runners) that these parts cover, run as written.

The packages the guides speak of (``robobench``, ``robotics_world``) lie in ``tests/strangers`` and are importable here as
if they had been installed with pip.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gym_anything import from_config, make
from gym_anything.cli.main import cli
from gym_anything.errors import MissingExtra, PluginConflict, SpecInvalid
from gym_anything.runtime.runners.registry import resolve_runner, unregister_runner
from gym_anything.specs.env_spec import EnvSpec
from tests.installed_distribution import write_distribution
from tests.strangers_on_path import STRANGERS, strangers_on_path

pytestmark = pytest.mark.real

WAREHOUSE = STRANGERS / "robotics_world" / "environments" / "warehouse"
RUNNER = "robobench.isaac:IsaacSimRunner"


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """The guides' packages are installed; the working directory is empty."""
    for variable in ("GYM_ANYTHING_RUNNER", "GYM_ANYTHING_BENCHMARK"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.chdir(tmp_path)
    with strangers_on_path():
        yield
    unregister_runner("isaac")


def telemetry_of(env: Any) -> Any:
    """Start an episode, step the simulator, and return what it shows."""
    with env:
        env.reset()
        return env.step({"action": "step_sim", "steps": 4})[0]["telemetry"]


def command(*words: str) -> Any:
    """Run the command line in this process."""
    return CliRunner().invoke(cli, list(words), catch_exceptions=False)


# --- extending: worlds -------------------------------------------------------------------------------------------


def test_a_locator_anywhere_a_runner_key_is_accepted(monkeypatch):
    snippet = json.loads('{"runner": "robobench.isaac:IsaacSimRunner"}')
    spec = {"id": "x@1", "observation": [{"type": "telemetry"}], "action": [{"type": "step_sim"}], **snippet}
    assert telemetry_of(make(spec, fast_io=False)) == {"ticks": 4}
    assert resolve_runner(snippet["runner"]).__name__ == "IsaacSimRunner"
    monkeypatch.setenv("GYM_ANYTHING_RUNNER", snippet["runner"])
    assert make({**spec, "runner": None}).runner_name == snippet["runner"]


def test_a_short_name_registered_in_code():
    from robobench.isaac import IsaacSimRunner

    import gym_anything.runtime.runners.registry

    gym_anything.runtime.runners.registry.register_runner("isaac", IsaacSimRunner)
    assert resolve_runner("isaac") is IsaacSimRunner


def test_a_short_name_by_an_entry_point(tmp_path, monkeypatch):
    pyproject = """
[project.entry-points."gym_anything.runners"]
isaac = "robobench.isaac:IsaacSimRunner"
"""
    points = tomllib.loads(pyproject)["project"]["entry-points"]
    write_distribution(tmp_path / "site", "robobench", points)
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site"), *sys.path])
    assert resolve_runner("isaac").__name__ == "IsaacSimRunner"


def test_built_in_names_are_reserved_and_conflicts_are_errors_at_first_use():
    from robobench.isaac import IsaacSimRunner

    from gym_anything.runtime.runners.registry import register_runner

    register_runner("isaac", IsaacSimRunner)
    register_runner("isaac", "stranger_party.world:RoverRunner")
    with pytest.raises(PluginConflict):
        resolve_runner("isaac")
    register_runner("isaac", IsaacSimRunner, replace=True)
    assert resolve_runner("isaac") is IsaacSimRunner


def test_typos_in_runner_options_fail_at_spec_load_not_at_world_boot():
    assert from_config(WAREHOUSE).env_spec.runner_options == {"usd_stage": "warehouse/scene.usd"}
    with pytest.raises(SpecInvalid, match="usd_stage"):
        from_config(WAREHOUSE, overrides={"runner_options": {"usd_stag": "x"}})


def test_facts_live_on_the_class():
    cls = resolve_runner(RUNNER)
    for fact in ("doctor_status", "compatibility", "install_plan", "cache_components", "platform_priority"):
        getattr(cls, fact)()
    assert cls.conformance_profile()


def test_unknown_modality_types_are_delegated_and_merged():
    assert telemetry_of(from_config(WAREHOUSE)) == {"ticks": 4}


with strangers_on_path():
    # As written in the guide:
    from gym_anything.testing import build_conformance_case

    IsaacConformance = build_conformance_case(
        "robobench.isaac:IsaacSimRunner",
        env_spec={
            "observation": [{"type": "telemetry"}],
            "runner_options": {"usd_stage": "warehouse/scene.usd"},
        },
        actions=[{"action": "step_sim", "steps": 4}],
    )


# --- extending: judges and the remote stack ----------------------------------------------------------------------


@pytest.mark.parametrize("program", ["verifier.py::verify", "robobench.judges:verify"])
def test_a_program_verifier_beside_the_task_or_in_a_package(program):
    env = from_config(WAREHOUSE, task_id="pick_crate")
    task = env.task_spec.to_dict()
    task["success"] = {"mode": "program", "spec": {"program": program}}
    with make(WAREHOUSE, task) as judged:
        judged.set_roots(task_root=WAREHOUSE / "tasks" / "pick_crate")
        judged.reset()
        judged.step([{"action": "step_sim", "steps": 4}, {"action": "step_sim", "steps": 4}], wait_between_actions=0)
        info = judged.step([], mark_done=True)[3]
    assert info["outcome"]["status"] == "passed", info


def test_the_remote_class_says_that_it_is_not_here_yet():
    with pytest.raises(ImportError, match="remote stack"):
        from gym_anything.remote import RemoteGymEnv  # noqa: F401


# --- runners -----------------------------------------------------------------------------------------------------

PIP_LINES = {
    "sandweave": 'pip install "gym-anything[sandweave]"',
    "modal": 'pip install "gym-anything[modal]"',
    "modal_native": 'pip install "gym-anything[modal_native]"',
    "use_computer": 'pip install "gym-anything[use_computer]"',
}
OPTION_SNIPPETS = [
    '"runner_options": {"template": {"runtime_options": {"cgroup": "v1"}}}',
    '"runner_options": {"service_network": {"id": "net-...", "aliases": ["mail.example.test"], "networks": ["office"]}}',
    '"runner_options": {"memory": {"reservation": "8GiB", "experimental": true}}',
]


@pytest.mark.parametrize("key", PIP_LINES)
def test_a_runner_that_is_not_installed_names_the_guides_pip_line(key, monkeypatch):
    monkeypatch.setenv("GYM_ANYTHING_RUNNER", key)
    with pytest.raises(MissingExtra) as caught:
        from_config(WAREHOUSE)
    assert PIP_LINES[key] in str(caught.value)


@pytest.mark.parametrize("snippet", OPTION_SNIPPETS)
def test_runner_options_are_opaque_and_survive_a_round_trip(snippet):
    options = json.loads("{" + snippet + "}")
    spec = EnvSpec.from_dict({"id": "x@1", "observation": [{"type": "a"}], "action": [{"type": "b"}], **options})
    assert spec.runner_options == options["runner_options"]
    assert EnvSpec.from_dict(spec.to_dict()).runner_options == options["runner_options"]


def test_use_an_explicit_wait_for_settling():
    with from_config(
        WAREHOUSE, overrides={"runner": "gym_anything.testing.fakes.world:FakeWorld", "runner_options": {}}
    ) as env:
        env.reset()
        info = env.step([{"action": "wait", "time": 0.5}])[3]
        assert info["action_result"]["action"] == "wait"


def test_fast_io_returns_the_image_in_memory():
    spec = {
        "id": "x@1",
        "runner": "gym_anything.testing.fakes.world:FakeWorld",
        "observation": [{"type": "rgb_screen", "resolution": [64, 48]}],
        "action": [{"type": "mouse"}],
        "recording": {"enable": False},
    }
    with make(spec, fast_io=True) as env:
        env.reset()
        obs, *_ = env.step({"mouse": {"left_click": [3, 4]}})
        assert obs["screen"]["image"].size == (64, 48)
        assert env.capture_observation()["screen"]["image"].mode == "RGB"
    with make(spec) as env:
        assert Path(env.reset()["screen"]["path"]).is_file()
