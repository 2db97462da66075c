"""``gym-anything compatibility``: the runners' own rows, as a table and as JSON."""

from __future__ import annotations

import json

import pytest

from gym_anything.cli.main import run_command_line

pytestmark = pytest.mark.unit

FAKE = "gym_anything.testing.fakes.world:FakeWorld"


def test_every_registered_runner_is_in_the_matrix(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["compatibility", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {"fast_io", "checkpoint_caching", "savevm", "live_recording", "platforms"} <= set(rows["local"])
    assert run_command_line(["compatibility"]) == 0
    assert "local" in capsys.readouterr().out


def test_a_runner_can_be_named_by_locator(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["compatibility", FAKE, "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)) == [FAKE]


def test_an_unknown_runner_is_an_error_that_lists_the_known(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["compatibility", "lokal"]) != 0
    assert "local" in capsys.readouterr().err
