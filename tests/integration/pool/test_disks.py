"""Disks of replicas on real file systems: XFS in a file of its own, and layers by QEMU's tool."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from gym_anything._util.extents import cow_hint, extent_count
from gym_anything.cli.main import cli
from gym_anything.errors import HostError, StateError
from gym_anything.pool.disks import provision_disk, used_bytes
from gym_anything.pool.host_disk import (
    DiskPlan,
    RestoredDisk,
    prepare_disk,
    prepared_disks,
    release_disk,
    restore_disks,
)
from gym_anything.pool.host_disk_check import MOST_EXTENTS, examine_folder
from tests.conftest import RequireBackend

pytestmark = pytest.mark.real

MIB = 1 << 20


@pytest.fixture
def state(tmp_path: Path) -> Path:
    folder = tmp_path / "state"
    folder.mkdir()
    return folder


@pytest.fixture
def plan(tmp_path: Path, require_backend: RequireBackend) -> DiskPlan:
    require_backend("xfs", os.geteuid() == 0 and Path("/dev/loop-control").exists(), "needs root and loop devices")
    return DiskPlan(tmp_path / "disks", tmp_path / "disks.xfs", 400)


@pytest.fixture
def prepared(plan: DiskPlan, state: Path) -> Iterator[Path]:
    prepare_disk(plan, state)
    yield plan.folder
    if prepared_disks(state):
        release_disk(plan.folder, state)


def test_disks_on_a_prepared_file_system_share_their_blocks(prepared: Path) -> None:
    base = prepared / "base.raw"
    base.write_bytes(os.urandom(64 * MIB))
    before = used_bytes(prepared)
    made = [provision_disk(base, prepared / f"{number}.raw") for number in range(20)]
    assert {one.way for one in made} == {"reflink"} and all(not one.passed_over for one in made)
    assert used_bytes(prepared) - before < 0.005 * 20 * 64 * MIB
    with made[0].path.open("r+b") as file:
        file.write(b"changed")
    assert made[0].path.read_bytes()[:7] == b"changed" and made[1].path.read_bytes() == base.read_bytes()


def scatter(disk: Path, count: int) -> None:
    """Write so many blocks of 4 KiB far from each other."""
    blocks = disk.stat().st_size // 4096 // 2
    with disk.open("r+b", buffering=0) as file:
        for block in random.Random(1).sample(range(blocks), count):
            file.seek(2 * block * 4096)
            file.write(os.urandom(4096))
        os.fsync(file.fileno())


def test_a_scattered_write_takes_no_more_space_than_it_writes(prepared: Path) -> None:
    base = prepared / "base.raw"
    base.write_bytes(os.urandom(64 * MIB))
    assert provision_disk(base, prepared / "one.raw").way == "reflink"
    before = used_bytes(prepared)
    scatter(prepared / "one.raw", 1000)
    assert (used_bytes(prepared) - before) / 1000 < 1.1 * 4096
    assert (cow_hint(prepared), cow_hint(prepared / "one.raw")) == (4096, 4096)


def test_what_makes_disks_dear_is_said(prepared: Path) -> None:
    base = prepared / "base.raw"
    base.write_bytes(os.urandom(32 * MIB))
    provision_disk(base, prepared / "one.raw")
    assert examine_folder(prepared).remarks() == []
    scatter(prepared / "one.raw", MOST_EXTENTS)
    count = extent_count(prepared / "one.raw")
    assert count is not None and count > MOST_EXTENTS and extent_count(base) == 1, "its clone's pieces are not its own"
    found = examine_folder(prepared)
    assert found.scattered == (("one.raw", count),) and "one.raw lies in" in found.remarks()[0]
    subprocess.run(["xfs_io", "-c", "cowextsize 0", prepared], check=True)
    assert "may take 128 KiB" in examine_folder(prepared).remarks()[0]


def unmount_as_a_boot_does(plan: DiskPlan) -> None:
    subprocess.run(["umount", plan.folder], check=True)


def test_after_a_boot_it_is_mounted_again_with_all_that_is_in_it(prepared: Path, plan: DiskPlan, state: Path) -> None:
    (prepared / "base.raw").write_text("a disk")
    assert restore_disks(state) == [], "it is mounted"
    unmount_as_a_boot_does(plan)
    (prepared / "in the way").touch()
    (refused,) = restore_disks(state)
    assert not refused.mounted and "would be hidden" in refused.problem and not prepared.is_mount()
    (prepared / "in the way").unlink()
    assert restore_disks(state) == [RestoredDisk(str(prepared), mounted=True)]
    options = next(line for line in Path("/proc/mounts").read_text().splitlines() if f" {prepared} " in line)
    assert (prepared / "base.raw").read_text() == "a disk" and "noatime" in options
    assert cow_hint(prepared) == 4096


def test_a_disk_that_is_gone_is_said_and_holds_up_no_other(
    prepared: Path, plan: DiskPlan, state: Path, tmp_path: Path
) -> None:
    other = DiskPlan(tmp_path / "other", tmp_path / "other.xfs", 400)
    prepare_disk(other, state)
    for one in (plan, other):
        unmount_as_a_boot_does(one)
    assert plan.file is not None
    plan.file.rename(tmp_path / "elsewhere")
    lost, back = restore_disks(state)
    assert not lost.mounted and "mount" in lost.problem and back == RestoredDisk(str(other.folder), mounted=True)
    release_disk(other.folder, state)


def test_a_device_is_found_by_its_file_system_after_a_boot(plan: DiskPlan, state: Path, tmp_path: Path) -> None:
    image = tmp_path / "device.img"
    with image.open("xb") as file:
        file.truncate(400 * MIB)
    argv = ["losetup", "--find", "--show", str(image)]
    device = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()
    try:
        on_device = DiskPlan(plan.folder, devices=(device,))
        prepare_disk(on_device, state)
        unmount_as_a_boot_does(on_device)
        assert restore_disks(state) == [RestoredDisk(str(plan.folder), mounted=True)]
        release_disk(plan.folder, state)
    finally:
        subprocess.run(["losetup", "--detach", device], check=True)


def test_what_was_prepared_is_given_back_whole(plan: DiskPlan, state: Path) -> None:
    prepare_disk(plan, state)
    assert prepared_disks(state) == [str(plan.folder)] and plan.folder.is_mount()
    options = next(line for line in Path("/proc/mounts").read_text().splitlines() if f" {plan.folder} " in line)
    assert "noatime" in options and "logbsize=256k" in options
    with pytest.raises(StateError, match="prepared already"):
        prepare_disk(plan, state)
    release_disk(plan.folder, state)
    assert not plan.folder.is_mount() and plan.file is not None and not plan.file.exists() and not prepared_disks(state)
    assert str(plan.file) not in subprocess.run(["losetup", "-a"], capture_output=True, text=True, check=True).stdout
    with pytest.raises(StateError, match=r"was not prepared.*prepared: none"):
        release_disk(plan.folder, state)


def test_nothing_is_given_back_while_it_is_used(prepared: Path, plan: DiskPlan, state: Path) -> None:
    with (prepared / "held").open("w"), pytest.raises(HostError, match=r"umount .*busy"):
        release_disk(prepared, state)
    assert prepared.is_mount() and prepared_disks(state)


def test_what_cannot_be_mounted_leaves_nothing(plan: DiskPlan, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gym_anything.pool.host_disk._MOUNT_OPTIONS", "no-such-option")
    with pytest.raises(HostError, match=r"mount .*failed with status"):
        prepare_disk(plan, state)
    assert plan.file is not None and not plan.file.exists() and not prepared_disks(state) and not plan.folder.is_mount()


def test_nothing_of_others_is_hidden_or_overwritten(plan: DiskPlan, state: Path) -> None:
    assert plan.file is not None
    plan.file.write_text("precious")
    with pytest.raises(StateError, match="not overwritten"):
        prepare_disk(plan, state)
    plan.file.unlink()
    plan.folder.mkdir()
    (plan.folder / "notes").write_text("precious")
    with pytest.raises(StateError, match="not an empty folder"):
        prepare_disk(plan, state)
    assert (plan.folder / "notes").read_text() == "precious" and not prepared_disks(state)


def test_without_shared_blocks_a_layer_is_made_and_named(tmp_path: Path) -> None:
    base = tmp_path / "base.raw"
    base.write_bytes(os.urandom(MIB))
    made = provision_disk(base, tmp_path / "one.qcow2")
    if made.way == "reflink":
        pytest.skip("the folder for temporary files shares blocks here")
    assert (made.way, made.needs_base) == ("overlay", True) and made.passed_over[0].startswith(
        "reflink: the file system"
    )
    told = subprocess.run(["qemu-img", "info", made.path], capture_output=True, text=True, check=True).stdout
    assert f"backing file: {base}" in told and "backing file format: raw" in told


def test_by_the_command_line(plan: DiskPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GYM_ANYTHING_STATE_DIR", str(tmp_path / "state"))

    def ask(*args: object) -> tuple[int, str]:
        result = CliRunner().invoke(cli, ["host", *map(str, args)], standalone_mode=False)
        assert result.exception is None, result.exception
        return int(result.return_value or 0), result.output

    prepare = ("disk", "prepare", plan.folder, "--file", plan.file, "--size-gb", "0.4")
    assert ask(*prepare, "--dry-run")[1].startswith("mkfs.xfs -q -m reflink=1 ") and not plan.folder.exists()
    assert ask(*prepare)[0] == 0
    assert ask("disk", "check", plan.folder)[0] == 0
    unmount_as_a_boot_does(plan)
    (plan.folder / "in the way").touch()
    code, said = ask("restore")
    assert code == 1 and "would be hidden" in said
    (plan.folder / "in the way").unlink()
    assert ask("restore") == (0, f"{plan.folder}: mounted\n") and plan.folder.is_mount()
    assert ask("disk", "release", plan.folder, "--yes") == (0, f"{plan.folder} is unmounted and {plan.file} removed.\n")


def test_several_devices_become_one_stripe() -> None:
    plan = DiskPlan(Path("/disks"), devices=("/dev/nvme0n1", "/dev/nvme1n1"))
    programs = [step.argv[0] for step in plan.steps()]
    assert programs == ["mdadm", "mkfs.xfs", "mount"] and plan.steps()[0].argv[-2:] == plan.devices
    again = replace(plan, uuid="a-b").restore_steps()
    assert [step.argv[:2] for step in again] == [("mdadm", "--assemble"), ("mount", "-t")]
    assert again[-1].argv[-2:] == ("UUID=a-b", "/disks"), "its devices may have other names"
    with pytest.raises(ValueError, match="one of them"):
        DiskPlan(Path("/disks"))
    with pytest.raises(ValueError, match="at least 300 MiB"):
        DiskPlan(Path("/disks"), Path("/file"), 10)
