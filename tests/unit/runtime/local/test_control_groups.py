"""Control groups: their names tell whose they are, their settings fit both versions."""

from __future__ import annotations

from pathlib import Path

import pytest

from gym_anything._util import control_groups as names
from gym_anything._util.labels import Label, Owner
from gym_anything.runtime.limits import ControlGroups, Limits, _settings, orphaned_groups

pytestmark = pytest.mark.real

DEAD = Owner(pid=1, start_ticks=1, boot="ffffffff", pid_namespace=1)


def test_a_name_tells_whose_the_group_is() -> None:
    """L3: clean-up finds only its own left-overs, by label."""
    label = Label("rabc234", "wxyz567", Owner.current())
    assert names.label_of(names.group_name(label)) == label
    assert names.label_of("system.slice") is None
    assert names.label_of("gym-anything.x") is None


def test_limits_are_written_in_the_words_of_each_version() -> None:
    assert _settings("cpu", 1.5, version_2=True) == [("cpu.max", "150000 100000")]
    assert _settings("cpu", 0.5, version_2=False) == [("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "50000")]
    assert _settings("memory", 1024, version_2=True) == [("memory.max", "1024")]
    assert _settings("memory", 1024, version_2=False) == [("memory.limit_in_bytes", "1024")]
    assert _settings("pids", 7, version_2=True) == [("pids.max", "7")]


def test_a_manifest_cannot_name_a_folder_that_is_not_ours(tmp_path: Path) -> None:
    """L3: never what others own."""
    (tmp_path / "gym-anything.x").mkdir()
    listed = ["/sys/fs/cgroup", "/sys/fs/cgroup/memory", str(tmp_path / "gym-anything.x"), "/etc"]
    assert names.recorded({names.MANIFEST_KEY: listed}) == []
    assert names.recorded({names.MANIFEST_KEY: "/sys/fs/cgroup"}) == []


def test_groups_of_a_dead_owner_are_collected_and_of_a_living_one_are_not() -> None:
    noted: list[str] = []
    dead, alive = Label("rdead234", "w2345678", DEAD), Label("raliv234", "w2345679", Owner.current())
    made = [ControlGroups.create(label, Limits(processes=50), noted.extend) for label in (dead, alive)]
    try:
        if not all(groups.folders for groups in made):
            pytest.skip("no control group may be made here")
        assert {str(folder) for groups in made for folder in groups.folders} <= set(noted)
        found = orphaned_groups(lambda label: label.owner == DEAD, dry_run=False)
        assert {orphan.what for orphan in found} == {str(folder) for folder in made[0].folders}
        assert all(orphan.removed for orphan in found)
        assert all(folder.is_dir() for folder in made[1].folders)
    finally:
        for groups in made:
            groups.remove()
    assert not any(folder.exists() for groups in made for folder in groups.folders)
