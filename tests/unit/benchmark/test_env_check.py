"""What ``validate`` finds out about an environment without starting it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gym_anything.benchmark.env_check import check_env
from gym_anything.errors import MissingExtra, SpecInvalid, SpecNotFound, UnknownPlugin
from gym_anything.runtime.runners.registry import register_runner, unregister_runner
from gym_anything.testing.fakes.world import FakeWorld
from tests.unit.specs.minimal import env_data, task_data, write_json

pytestmark = pytest.mark.unit


class PickyWorld(FakeWorld):
    """A world with opinions about its options and about what it can enforce."""

    @classmethod
    def validate_options(cls, spec: Any) -> list[str]:
        return [f"unknown option {key!r}" for key in spec.runner_options if key != "fine"]

    @classmethod
    def unenforced_fields(cls, spec: Any) -> list[tuple[str, str]]:
        return [("security.network_allowlist", "it has no network")] if spec.security.network_allowlist else []


@pytest.fixture(autouse=True)
def picky_runner(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.delenv("GYM_ANYTHING_RUNNER", raising=False)
    register_runner("picky", PickyWorld)
    yield
    unregister_runner("picky")


def env(tmp_path: Path, **more: Any) -> Path:
    write_json(tmp_path / "env.json", env_data(**{"runner": "picky", **more}))
    write_json(tmp_path / "tasks" / "t" / "task.json", task_data())
    return tmp_path


def test_a_good_environment_is_ok(tmp_path: Path) -> None:
    check = check_env(env(tmp_path, runner_options={"fine": 1}))
    assert check.ok and [task.task_id for task in check.tasks] == ["t"]
    assert (check.runner.name, check.runner.source) == ("picky", "file")
    assert [m.kind for m in check.missing] == ["verifier"], "missing files are no fault"
    assert json.loads(json.dumps(check.as_dict()))["ok"] is True


def test_the_runner_is_asked_about_its_options(tmp_path: Path) -> None:
    check = check_env(env(tmp_path, runner_options={"fien": 1}))
    assert not check.ok and check.option_errors == ("unknown option 'fien'",)


def test_what_the_runner_cannot_enforce_is_reported_with_its_reason(tmp_path: Path) -> None:
    check = check_env(env(tmp_path, security={"network_allowlist": ["x"]}, resources={"net": True}))
    assert check.ok, "reported, not forbidden"
    assert check.as_dict()["unenforced"] == [{"field": "security.network_allowlist", "reason": "it has no network"}]


def test_a_runner_that_is_merely_not_installed_is_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def not_here(*_args: Any, **_more: Any) -> Any:
        raise MissingExtra("runner 'far' is not installed here: pip install …")

    monkeypatch.setattr("gym_anything.benchmark.env_check.choose_runner", not_here)
    check = check_env(env(tmp_path, runner="far"))
    assert check.ok and check.runner.name == "far" and "pip install" in check.runner.note


def test_an_unknown_runner_is_a_problem(tmp_path: Path) -> None:
    check = check_env(env(tmp_path, runner="pikcy"))
    assert not check.ok and isinstance(check.problems[0], UnknownPlugin)


def test_an_asked_runner_wins_over_the_spec(tmp_path: Path) -> None:
    check = check_env(env(tmp_path, runner="nobody"), runner="picky")
    assert check.ok and (check.runner.name, check.runner.source) == ("picky", "argument")


def test_a_broken_task_is_a_problem_unless_another_one_was_asked_for(tmp_path: Path) -> None:
    root = env(tmp_path)
    (root / "tasks" / "bad").mkdir()
    (root / "tasks" / "bad" / "task.json").write_text("{")
    assert not check_env(root).ok
    assert check_env(root, "t").ok
    with pytest.raises(SpecInvalid):
        check_env(root, "bad")
    with pytest.raises(SpecNotFound):
        check_env(root, "nope")


def test_secrets_that_cannot_be_used_are_a_problem_and_missing_ones_are_missing(tmp_path: Path) -> None:
    root = env(tmp_path, security={"secrets_ref": "s.json"})
    assert check_env(root).ok and "secrets" in {m.kind for m in check_env(root).missing}
    (root / "s.json").write_text('{"A": ["hunter2"]}')
    check = check_env(root)
    assert not check.ok and "hunter2" not in str(check.as_dict())
    (root / "s.json").write_text('{"A": "hunter2"}')
    check = check_env(root)
    assert check.ok and "hunter2" not in str(check.as_dict())


def test_the_report_shows_no_password(tmp_path: Path) -> None:
    check = check_env(env(tmp_path, vnc={"enable": True, "password": "hunter2"}))
    assert "hunter2" not in str(check.as_dict())
