"""The import paths that existing code uses: adding is fine, removing or renaming is not."""

from __future__ import annotations

import importlib
import inspect

import pytest

import gym_anything

pytestmark = pytest.mark.unit

PUBLIC = {
    "gym_anything": [
        "from_config",
        "make",
        "GymAnythingEnv",
        "GymAnythingError",
        "EnvSpec",
        "TaskSpec",
        "SessionInfo",
        "Outcome",
        "get_runner_compatibility",
        "get_runner_compatibility_matrix",
        "__version__",
    ],
    "gym_anything.api": ["from_config", "make"],
    "gym_anything.env": ["GymAnythingEnv"],
    "gym_anything.specs": ["EnvSpec", "TaskSpec"],
    "gym_anything.errors": ["GymAnythingError"],
    "gym_anything.runtime.runners.base": ["BaseRunner"],
    "gym_anything.runtime.runners.registry": ["register_runner"],
    "gym_anything.testing": ["build_conformance_case"],
    "gym_anything.agents.base": ["BaseAgent"],
    "agents.agents.base": ["BaseAgent"],
    "gym_anything.verification": [],
}
NOT_YET = ["gym_anything", "gym_anything.remote", "gym_anything.remote.client"]


@pytest.mark.parametrize(("module", "name"), [(module, name) for module in PUBLIC for name in [*PUBLIC[module], None]])
def test_a_published_import_path_works(module: str, name: str | None) -> None:
    loaded = importlib.import_module(module)
    assert name is None or getattr(loaded, name) is not None


def test_one_thing_is_the_same_under_all_its_names() -> None:
    homes: dict[str, set[int]] = {}
    for module, names in PUBLIC.items():
        for name in names:
            homes.setdefault(name, set()).add(id(getattr(importlib.import_module(module), name)))
    assert {name for name, found in homes.items() if len(found) > 1} == set()


def test_the_front_door_lists_what_it_publishes() -> None:
    assert sorted(gym_anything.__all__) == sorted(PUBLIC["gym_anything"])


@pytest.mark.parametrize("module", NOT_YET)
def test_the_remote_environment_is_refused_with_a_reason_until_it_exists(module: str) -> None:
    with pytest.raises(ImportError, match="remote"):
        exec(f"from {module} import RemoteGymEnv")


def test_the_call_that_existing_code_makes_has_its_arguments() -> None:
    arguments = list(inspect.signature(gym_anything.from_config).parameters)
    assert arguments[:3] == ["env_dir", "task_id", "overrides"] and "fast_io" in arguments
    step = inspect.signature(gym_anything.GymAnythingEnv.step).parameters
    assert {name: step[name].default for name in list(step)[2:]} == {
        "wait_between_actions": 0.2,
        "mark_done": False,
        "capture_observation": True,
        "settle_after_actions": True,
        "trajectory_metadata": None,
        "settle_ignore": (),
    }
    reset = inspect.signature(gym_anything.GymAnythingEnv.reset).parameters
    assert {name: reset[name].default for name in list(reset)[1:]} == {
        "seed": None,
        "use_cache": False,
        "cache_level": "pre_start",
        "use_savevm": False,
    }
