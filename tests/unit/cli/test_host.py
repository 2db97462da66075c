"""``gym-anything host``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from gym_anything.cli.main import cli
from gym_anything.pool import host_limits, host_process_limits
from gym_anything.pool.host_process_limits import ProcessLimit

pytestmark = pytest.mark.unit


@pytest.fixture
def low(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A host whose only limit is low; returns its file."""
    path = tmp_path / "sys" / "fs" / "aio-max-nr"
    path.parent.mkdir(parents=True)
    path.write_text("65536\n")
    monkeypatch.setenv("GYM_ANYTHING_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setattr(host_limits, "SYSCTL_ROOT", tmp_path / "sys")
    monkeypatch.setattr(host_process_limits, "read_process_limits", list)
    return path


def ask(*args: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli, ["host", *args], standalone_mode=False)
    assert result.exception is None, result.exception
    return int(result.return_value), result.output


def test_check_tune_undo(low: Path) -> None:
    code, text = ask("check")
    assert code == 1 and "65536" in text and "sudo gym-anything host tune" in text
    assert ask("tune", "--dry-run")[1].count("would be changed") == 1 and low.read_text() == "65536\n"
    assert ask("tune")[0] == 0 and low.read_text() == "1048576\n"
    assert ask("check")[0] == 0
    assert ask("undo")[0] == 0 and low.read_text() == "65536\n"
    assert ask("undo") == (0, "Nothing was changed by `host tune`.\n")


def test_check_says_how_what_came_with_the_process_is_raised(low: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    low.write_text("1048576\n")
    found = [ProcessLimit("open-files", 4096, 65536, "files", "ulimit"), ProcessLimit("pids.max", None, 9, "all", "")]
    monkeypatch.setattr(host_process_limits, "read_process_limits", lambda: found)
    code, text = ask("check")
    assert code == 1 and "Raise open-files: ulimit\n" in text and "host tune" not in text and "unlimited" in text
    report = json.loads(ask("check", "--json")[1])
    assert report["ok"] is False and report["process_limits"][0] == {
        "name": "open-files",
        "value": 4096,
        "enough": 65536,
        "why": "files",
        "fix": "ulimit",
        "ok": False,
    }


def test_restore_after_a_boot(low: Path) -> None:
    assert ask("restore") == (0, "Nothing is missing.\n")
    ask("tune")
    low.write_text("65536\n")
    assert ask("restore") == (0, "fs.aio-max-nr: 65536 -> 1048576\n") and low.read_text() == "1048576\n"
    assert json.loads(ask("restore", "--json")[1]) == {"changes": [], "disks": [], "ok": True}


def test_json(low: Path) -> None:
    report = json.loads(ask("check", "--json")[1])
    assert report["ok"] is False
    assert {
        "name": "fs.aio-max-nr",
        "value": 65536,
        "enough": 1048576,
        "ok": False,
        "why": "each QEMU disk takes a share",
    } in report["limits"]
    assert json.loads(ask("tune", "--json")[1]) == {
        "dry_run": False,
        "changes": [{"name": "fs.aio-max-nr", "before": 65536, "after": 1048576, "problem": None}],
        "ok": True,
    }
