"""``gym-anything bench fork``: every stage measured, beside the bare mechanism, and nothing left."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from gym_anything.cli.main import cli
from gym_anything.runtime.qemu.waiting import WaitingMachines
from tests.integration.qemu.conftest import qemu_backend as qemu_backend

pytestmark = pytest.mark.real


def test_every_stage_is_measured_and_no_machine_is_left(qemu_backend: None) -> None:
    done = CliRunner().invoke(cli, ["bench", "fork", "--rounds", "1", "--count", "2", "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    summary = found["summary"]
    for way in ("spawned", "waiting"):
        stages = [summary[f"{way}_{stage}_ms_p50"] for stage in ("running", "frame", "answers")]
        assert all(stage > 0 for stage in stages)  # which is quicker is for the figures to say
        assert summary[f"{way}_answers_ms_times_bare"] > 0
    assert summary["many"] == summary["many_answering"] == 2
    assert 0 < summary["many_disk_mib_each_max"] < 16
    assert summary["save_s_p50"] > 0
    assert WaitingMachines.shared().pids == []
