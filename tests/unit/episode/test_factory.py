"""From folders, dicts and specs to environments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gym_anything.episode.factory import from_config, make
from gym_anything.errors import SpecError, SpecInvalid, SpecNotFound, UnknownPlugin
from gym_anything.specs.env_spec import EnvSpec
from gym_anything.specs.task_spec import TaskSpec
from gym_anything.testing.fakes.world import FakeWorld
from tests.unit.docs.doc_snippets import ROOT
from tests.unit.episode.fake_envs import FAKE, env_spec, task_spec

pytestmark = pytest.mark.unit


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "some env"
    (folder / "tasks" / "first").mkdir(parents=True)
    (folder / "env.json").write_text(json.dumps(env_spec(tmp_path)))
    (folder / "tasks" / "first" / "task.json").write_text(json.dumps(task_spec(id="first@1")))
    return folder


def add_task(root: Path, name: str) -> None:
    (root / "tasks" / name).mkdir()
    (root / "tasks" / name / "task.json").write_text(json.dumps(task_spec(id=f"{name}@1")))


def test_the_only_task_is_taken_and_of_several_none(root: Path) -> None:
    env = from_config(root)
    assert env.task_spec is not None and env.task_spec.id == "first@1" and env.task_root == root / "tasks" / "first"
    assert env.env_root == root and env.runner_name == FAKE and env.episode_dir is None
    add_task(root, "second")
    assert from_config(root).task_spec is None
    assert from_config(root, "second").task_spec.id == "second@1"  # type: ignore[union-attr]
    with pytest.raises(SpecNotFound, match="first, second"):
        from_config(root, "third")


def test_overrides_lie_over_the_file(root: Path, tmp_path: Path) -> None:
    env = from_config(str(root), overrides={"recording": {"output_dir": str(tmp_path / "other")}, "step_cycle_ms": 7})
    assert env.env_spec.recording.output_dir == str(tmp_path / "other") and env.env_spec.step_cycle_ms == 7


def test_make_takes_paths_dicts_and_specs(root: Path, tmp_path: Path) -> None:
    spec, task = EnvSpec.from_dict(env_spec(tmp_path)), TaskSpec.from_dict(task_spec())
    for env_source in (root, str(root), root / "env.json", env_spec(tmp_path), spec):
        for task_source in (None, task_spec(), task, root / "tasks" / "first", root / "tasks" / "first" / "task.json"):
            env = make(env_source, task_source)
            assert isinstance(env.runner, FakeWorld)
            assert (env.task_spec is None) == (task_source is None)
    assert make(root, "first").task_root == root / "tasks" / "first"


@pytest.mark.parametrize("source", [5, None, ["x"], b"x"])
def test_what_is_no_environment_or_task_is_a_typed_error(tmp_path: Path, source: Any) -> None:
    with pytest.raises(SpecError):
        make(source)
    if source is not None:
        with pytest.raises(SpecError):
            make(env_spec(tmp_path), source)


def test_a_task_id_needs_a_folder(tmp_path: Path) -> None:
    with pytest.raises(SpecInvalid, match="make"):
        from_config(env_spec(tmp_path), "first")
    with pytest.raises(SpecNotFound):
        make(env_spec(tmp_path), "first")
    with pytest.raises(SpecNotFound):
        from_config(tmp_path / "nowhere")


def test_options_that_the_runner_refuses_are_said_when_the_spec_is_loaded(tmp_path: Path) -> None:
    with pytest.raises(SpecInvalid, match="did you mean 'boot_s'") as error:
        make(env_spec(tmp_path, runner_options={"boots": 1}))
    assert error.value.detail["key"] == "runner_options"


def test_a_bad_init_or_pacing_is_said_when_it_is_loaded(tmp_path: Path) -> None:
    with pytest.raises(SpecInvalid, match="init_pyautogui"):
        make(env_spec(tmp_path), task_spec(init={"init_pyautogui": [{"type": "teleport"}]}))
    with pytest.raises(SpecInvalid, match="pacing"):
        make(env_spec(tmp_path), pacing="slow")


def test_a_runner_named_by_argument_wins(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GYM_ANYTHING_RUNNER", "nobody.knows:This")
    with pytest.raises(Exception, match="nobody"):
        from_config(root)
    assert from_config(root, runner=FAKE).runner_name == FAKE
    with pytest.raises(UnknownPlugin):
        from_config(root, runner="no_such_runner")


def test_relative_mounts_are_found_from_the_env_folder_upward(root: Path) -> None:
    """K5, N12: paths with spaces and non-ASCII letters work."""
    (root / "däta").mkdir()
    (root / "däta" / "x").write_text("content")
    spec = json.loads((root / "env.json").read_text())
    spec["mounts"] = [
        {"source": "däta", "target": "/workspace/own"},
        {"source": "some env/däta", "target": "/workspace/upward"},
    ]
    (root / "env.json").write_text(json.dumps(spec), encoding="utf-8")
    with from_config(root) as env:
        env.reset()
        assert env.runner.exec_capture("cat /workspace/own/x") == "content"
        assert env.runner.exec_capture("cat /workspace/upward/x") == "content"


def test_a_dockerfile_is_found_beside_the_environment_and_in_this_package(root: Path) -> None:
    spec = json.loads((root / "env.json").read_text())
    (root / "Dockerfile").write_text("FROM scratch\n")
    for written, found in (
        ("Dockerfile", root / "Dockerfile"),
        ("gym_anything/presets/x11_lite/Dockerfile", ROOT / "src/gym_anything/presets/x11_lite/Dockerfile"),
    ):
        (root / "env.json").write_text(json.dumps({**spec, "dockerfile": written}), encoding="utf-8")
        with from_config(root) as env:
            assert env.runner.spec.dockerfile == str(found)


def test_remarks_about_the_specs_are_warnings_of_the_environment(root: Path) -> None:
    spec = json.loads((root / "env.json").read_text())
    (root / "env.json").write_text(json.dumps({**spec, "obsevation": []}))
    task = {**task_spec(), "init": {"reward_type": "dense"}}
    (root / "tasks" / "first" / "task.json").write_text(json.dumps(task))
    warnings = from_config(root).warnings
    assert any("obsevation" in w and "observation" in w for w in warnings)
    assert any("dense" in w for w in warnings)


@pytest.mark.parametrize("where", ["gym_anything", "gym_anything.remote", "gym_anything.remote.client"])
def test_the_remote_environment_says_that_it_is_not_there_yet(where: str) -> None:
    import importlib

    module = importlib.import_module(where)
    with pytest.raises(ImportError, match="remote stack"):
        module.RemoteGymEnv  # noqa: B018
    with pytest.raises(AttributeError):
        module.nothing  # noqa: B018
