"""Limits that come with how this process was started, from files as kernels write them."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from gym_anything.pool.host_process_limits import ENOUGH, ProcessLimit, read_process_limits

pytestmark = pytest.mark.unit


@pytest.fixture
def groups(tmp_path: Path) -> Path:
    path = tmp_path / "cgroup-of-us"
    path.write_text("0::/user.slice/user-1000.slice/session-1.scope\n")
    return path


def read(
    groups: Path, *, soft: int = ENOUGH, hard: int = ENOUGH, processes: int = ENOUGH, is_root: bool = False
) -> dict[str, ProcessLimit]:
    limits = {resource.RLIMIT_NOFILE: (soft, hard), resource.RLIMIT_NPROC: (processes, -1)}
    found = read_process_limits(groups, groups.parent / "groups", limits.__getitem__, is_root=is_root)
    return {one.name: one for one in found}


def write_pids(folder: Path, most: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pids.max").write_text(f"{most}\n")


def test_what_is_enough_is_fine(groups: Path) -> None:
    found = read(groups, hard=resource.RLIM_INFINITY)
    assert set(found) == {"open-files", "open-files-soft", "user-processes", "pids.max"}
    assert all(one.is_enough for one in found.values())
    assert (found["open-files"].value, found["pids.max"].value) == (None, None)


def test_open_files_soft_and_hard(groups: Path) -> None:
    found = read(groups, soft=1024)
    assert not found["open-files-soft"].is_enough and found["open-files"].is_enough
    assert found["open-files-soft"].fix.startswith("ulimit -n 65536"), "whoever starts pools may do that himself"
    found = read(groups, soft=1024, hard=4096)
    assert (found["open-files-soft"].value, found["open-files"].value) == (1024, 4096)
    for name in ("open-files", "open-files-soft"):
        assert not found[name].is_enough
        assert "/etc/security/limits.d/" in found[name].fix and "LimitNOFILE=65536" in found[name].fix


def test_processes_of_a_user_but_not_of_root(groups: Path) -> None:
    found = read(groups, processes=4096)
    assert (found["user-processes"].value, found["user-processes"].is_enough) == (4096, False)
    assert "nproc 65536" in found["user-processes"].fix
    assert "user-processes" not in read(groups, processes=4096, is_root=True)


def test_the_lowest_bound_of_the_groups_around_us(groups: Path) -> None:
    slice_ = groups.parent / "groups" / "user.slice" / "user-1000.slice"
    write_pids(slice_.parent, "max")
    write_pids(slice_, "10813")
    write_pids(slice_ / "session-1.scope", "max")
    found = read(groups)["pids.max"]
    assert (found.value, found.is_enough) == (10813, False) and "user-1000.slice" in found.why
    assert found.fix == "sudo systemctl set-property user-1000.slice TasksMax=65536"


def test_version_1_and_containers(groups: Path) -> None:
    groups.write_text("8:pids:/docker/abc\n4:memory:/x\n")
    write_pids(groups.parent / "groups" / "pids" / "docker" / "abc", "100")
    found = read(groups)["pids.max"]
    assert found.value == 100 and "--pids-limit 65536" in found.fix and "abc" in found.fix


def test_of_this_process_nothing_is_changed() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    found = {one.name: one for one in read_process_limits()}
    hard = None if before[1] == resource.RLIM_INFINITY else before[1]
    assert found["open-files"].value == hard and resource.getrlimit(resource.RLIMIT_NOFILE) == before
