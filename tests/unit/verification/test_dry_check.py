"""What would keep a judge from a verdict is seen before anything is played."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gym_anything.errors import (
    GymAnythingError,
    MissingExtra,
    ModelBudgetSpent,
    SettingInvalid,
    SpecInvalid,
    VlmNotConfigured,
)
from gym_anything.verification import dry_check
from gym_anything.verification.dry_check import check_judge
from gym_anything.verification.vlm import setting_names as names

pytestmark = pytest.mark.unit

PROGRAM = {"mode": "program", "spec": {"program": "verifier.py::verify"}}
LOOKS = {"mode": "vlm_checklist"}


@pytest.fixture(autouse=True)
def configured(monkeypatch: pytest.MonkeyPatch) -> None:
    for setting in vars(names).values():
        if isinstance(setting, names.Setting):
            for variable in (setting.special, setting.general):
                if variable is not None:
                    monkeypatch.delenv(variable.name, raising=False)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("GYM_ANYTHING_VERIFIER_MODE", raising=False)
    monkeypatch.setenv("VLM_MODEL", "m")


@pytest.fixture
def task(tmp_path: Path) -> Path:
    """A task's folder with all that judges take, and something broken beside it."""
    (tmp_path / "verifier.py").touch()
    (tmp_path / "target.png").touch()
    (tmp_path / "vlm_checklist.json").write_text(json.dumps({"task_completion": [{"id": "a", "points": 1}]}))
    (tmp_path / "bad.json").write_text("{")
    return tmp_path


def check(folder: Path, success: Any) -> None:
    check_judge(success, task_root=folder, env_root=None)


def several(*parts: Any, **more: Any) -> dict[str, Any]:
    return {"mode": "multi", "spec": {"verifiers": list(parts), **more}}


@pytest.mark.parametrize(
    "success",
    [
        None,
        PROGRAM,
        {"spec": PROGRAM["spec"]},
        {"mode": "image_match", "spec": {"target": "target.png"}},
        LOOKS,
        several(PROGRAM, LOOKS, several(PROGRAM)),
    ],
)
def test_what_can_be_judged_is_left_alone(task: Path, success: Any) -> None:
    check(task, success)


BROKEN: list[tuple[dict[str, Any], str]] = [
    ({"mode": "telepathy"}, "telepathy"),
    ({"mode": "program", "spec": {}}, "program"),
    ({"mode": "program", "spec": {"program": "gone.py::verify"}}, r"gone\.py"),
    ({"mode": "image_match", "spec": {"target": "gone.png"}}, r"gone\.png"),
    ({"mode": "image_match", "spec": {"target": "target.png", "ssim_gt": 5}}, "ssim_gt"),
    ({"mode": "vlm_checklist", "spec": {"checklist": "gone.json"}}, r"gone\.json"),
    ({"mode": "vlm_checklist", "spec": {"checklist": "bad.json"}}, r"bad\.json"),
    ({"mode": "vlm_checklist", "spec": {"colour": "red"}}, "colour"),
    ({"mode": "vlm_checklist", "spec": {"max_frames": "few"}}, "max_frames"),
    (several(PROGRAM, combine="most"), "combine"),
    (several(PROGRAM, pass_score=101), "pass_score"),
    (several(several(several(several(several(several(PROGRAM)))))), "nested"),
]


@pytest.mark.parametrize(("success", "says"), BROKEN)
def test_what_a_task_says_wrong_is_found_also_as_one_of_several(task: Path, success: Any, says: str) -> None:
    for whole in (success, several(PROGRAM, success)):
        with pytest.raises(SpecInvalid, match=says) as caught:
            check(task, whole)
        assert caught.value.blame == "content"


@pytest.mark.parametrize(
    ("variables", "error", "says"),
    [
        ({"VLM_MODEL": ""}, VlmNotConfigured, "VLM_MODEL"),
        ({"VLM_BACKEND": "anthropic"}, VlmNotConfigured, "VLM_API_KEY"),
        ({"VLM_BACKEND": "nobody"}, SettingInvalid, "nobody"),
        ({"GYM_ANYTHING_VLM_CHECKLIST_FRAME_STRATEGY": "best"}, SettingInvalid, "best"),
        ({"GYM_ANYTHING_VLM_CHECKLIST_INTEGRITY_THRESHOLD": "7"}, SettingInvalid, "INTEGRITY_THRESHOLD"),
        ({"VLM_MAX_COST_USD": "1"}, ModelBudgetSpent, "prices"),
        (
            {"VLM_BACKEND": "openai", "OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://elsewhere/v1"},
            SettingInvalid,
            "OPENAI_BASE_URL",
        ),
    ],
)
def test_a_model_that_is_not_configured_is_found(
    task: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], error: type[GymAnythingError], says: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    for whole in (LOOKS, several(PROGRAM, several(LOOKS))):
        with pytest.raises(error, match=says):
            check(task, whole)
    check(task, PROGRAM)


def test_a_missing_sdk_is_found(task: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(protocol: str) -> None:
        raise MissingExtra(f"no {protocol}")

    monkeypatch.setattr(dry_check, "require_sdk", missing)
    with pytest.raises(MissingExtra, match="openai"):
        check(task, LOOKS)


def test_a_mode_from_the_environment_is_the_one_that_is_looked_at(task: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GYM_ANYTHING_VERIFIER_MODE", "telepathy")
    with pytest.raises(SpecInvalid, match="telepathy") as caught:
        check(task, PROGRAM)
    assert caught.value.blame == "caller"
    monkeypatch.setenv("GYM_ANYTHING_VERIFIER_MODE", "vlm_checklist")
    check(task, {"mode": "program", "spec": {"program": "gone.py::verify"}})
    (task / "vlm_checklist.json").unlink()
    with pytest.raises(SpecInvalid, match="vlm_checklist"):
        check(task, PROGRAM)
