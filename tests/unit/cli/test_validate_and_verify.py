"""``validate`` and ``verify``: what is printed, and the exit codes that scripts rely on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gym_anything.cli.main import run_command_line
from tests.unit.specs.minimal import env_data, task_data, write_json

pytestmark = pytest.mark.unit

FAKE = "gym_anything.testing.fakes.world:FakeWorld"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("GYM_ANYTHING_RUNNER", raising=False)
    root = tmp_path / "benchmarks" / "b"
    write_json(root / "environments" / "e" / "env.json", env_data(runner=FAKE, observations=1))
    write_json(root / "environments" / "e" / "tasks" / "t" / "task.json", task_data())
    write_json(root / "splits" / "e_split.json", {"env_folder": "e", "train_tasks": ["t"]})
    return root


def call(capsys: pytest.CaptureFixture[str], *argv: object) -> tuple[int, str, str]:
    code = run_command_line([str(a) for a in argv])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_validate_prints_what_it_found(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "validate", root / "environments" / "e")
    assert code == 0 and out.rstrip().endswith("ok")
    assert "did you mean 'observation'?" in out and "verifier.py::check is not there" in out and FAKE in out


def test_validate_takes_a_file_a_name_and_json(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for argv in (
        (root / "environments" / "e" / "env.json",),
        ("e", "--benchmark", root),
        ("e", "--benchmark", root, "--task", "t"),
    ):
        code, out, _ = call(capsys, "validate", *argv, "--json")
        body = json.loads(out)
        assert code == 0 and body["ok"] is True and body["tasks"] == ["t"] and body["spec"]["id"] == "e@1"


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_validate_ends_with_1_for_a_broken_environment(
    root: Path, capsys: pytest.CaptureFixture[str], flags: list[str]
) -> None:
    write_json(root / "environments" / "e" / "env.json", env_data(vnc={"enabled": True}))
    code, out, err = call(capsys, "validate", root / "environments" / "e", *flags)
    assert code == 1
    if flags:
        body = json.loads(out)
        assert body["ok"] is False and body["problems"][0]["detail"]["key"] == "vnc.enabled"
    else:
        assert "vnc.enabled is an unknown key" in err and "Traceback" not in err


def test_validate_ends_with_1_for_an_unknown_preset_and_a_broken_task(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "environments" / "e" / "tasks" / "t" / "task.json").write_text("{")
    assert call(capsys, "validate", root / "environments" / "e")[0] == 1
    write_json(root / "environments" / "e" / "env.json", env_data(base="nope"))
    code, _, err = call(capsys, "validate", root / "environments" / "e")
    assert code == 1 and "debian-desktop" in err


def test_wrong_use_ends_with_2(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for argv in (
        ("validate", root / "nowhere"),
        ("validate", root / "environments" / "e", "--task", "nope"),
        ("validate",),
        ("verify", "corpus", root / "nowhere"),
        ("verify", "spec", root),
        ("verify", "nonsense"),
    ):
        code, _, err = call(capsys, *argv)
        assert code == 2 and err and "Traceback" not in err, argv


def test_verify_corpus_counts_and_ends_with_0(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call(capsys, "verify", "corpus", root.parent.parent)
    assert code == 0 and err == ""
    assert "missing beside the specs: 1 (1 verifier)" in out and "warnings: 1 (1 near-miss)" in out
    code, out, _ = call(capsys, "verify", "corpus", root.parent.parent, "--json")
    body: dict[str, Any] = json.loads(out)
    assert code == 0 and body["ok"] is True
    assert body["loaded"] == {"environments": 1, "tasks": 1, "splits": 1, "checklists": 0}


def test_verify_corpus_names_each_broken_file_and_ends_with_1(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "environments" / "e" / "tasks" / "t" / "task.json").write_text('{"id": "t"')
    (root / "splits" / "e_split.json").write_text("[]")
    code, out, _ = call(capsys, "verify", "corpus", root)
    assert code == 1 and out.count("does not load: ") == 2
    code, out, _ = call(capsys, "verify", "corpus", root, "--json")
    assert code == 1 and len(json.loads(out)["benchmarks"][0]["broken"]) == 2


def test_details_list_what_is_missing(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "verifier.py::check" not in call(capsys, "verify", "corpus", root)[1]
    assert "verifier.py::check is not there" in call(capsys, "verify", "corpus", root, "--details")[1]


def test_verify_spec_loads_one_thing(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(capsys, "verify", "spec", root / "environments" / "e")[0] == 0
    assert call(capsys, "verify", "spec", root / "environments" / "e" / "tasks" / "t")[0] == 0
    (root / "splits" / "e_split.json").write_text("{}")
    assert call(capsys, "verify", "spec", root / "splits" / "e_split.json")[0] == 1


def test_the_help_of_verify_lists_its_three_commands(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "verify", "--help")
    assert code == 0 and all(word in out for word in ("corpus", "spec", "task"))
