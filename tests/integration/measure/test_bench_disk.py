"""``gym-anything bench disk`` on a real XFS."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from gym_anything._util.reflink import can_clone
from gym_anything.cli.main import cli
from gym_anything.errors import MissingDependency
from gym_anything.measure.disk_series import DiskRequest, measure_disks
from tests.conftest import RequireBackend

pytestmark = pytest.mark.real


def test_shared_blocks_save_time_and_space(
    require_backend: RequireBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_backend("xfs", os.geteuid() == 0 and Path("/dev/loop-control").exists(), "needs root and loop devices")
    monkeypatch.setenv("GYM_ANYTHING_STATE_DIR", str(tmp_path / "state"))
    result = CliRunner().invoke(cli, ["bench", "disk", "--base-mib", "64", "--count", "20", "--json"])
    found = json.loads(result.stdout)
    assert len(found["copy_ms"]) == 5 and len(found["share_ms"]) == 50
    assert found["times_faster"] > 5
    assert found["saved_percent"] > found["saved_after_writes_percent"] > 99, "what is written costs what it is"
    assert [path.name for path in (tmp_path / "state").iterdir() if "lock" not in path.name] == []


def test_where_no_blocks_are_shared_it_says_so(tmp_path: Path) -> None:
    if can_clone(tmp_path):
        pytest.skip("the folder for temporary files shares blocks here")
    with pytest.raises(MissingDependency, match="shares no blocks"):
        measure_disks(DiskRequest(base_mib=16, folder=tmp_path))
    assert not list(tmp_path.iterdir())
