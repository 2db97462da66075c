"""The formats of an image: written whole or not at all, the same bytes for the same root file system, and checked."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gym_anything.cli.main import run_command_line
from gym_anything.errors import HostError, SpecInvalid
from gym_anything.runtime.images.formats import qcow2, release
from gym_anything.runtime.images.formats.table import FORMATS, writer
from gym_anything.runtime.images.prepared.importing import import_image
from gym_anything.runtime.images.prepared.source import ImportRequest
from gym_anything.runtime.images.store import ImageStore, StoredImage
from gym_anything.runtime.images.verify import verify_image
from gym_anything.runtime.qemu.image import filling
from gym_anything.runtime.qemu.image.build import write_disk
from gym_anything.runtime.qemu.image.disk import read_disk
from gym_anything.runtime.qemu.image.ext4_times import settle_times
from gym_anything.testing.leaks import LeakCheck
from tests.unit.runtime.images.machine_rootfs import KERNEL, machine_rootfs
from tests.unit.runtime.images.stored import store_image

pytestmark = pytest.mark.real

_SBIN = "/usr/sbin:/sbin:/usr/bin:/bin"


@pytest.fixture
def machine(tmp_path: Path, require_backend: Callable[[str, bool, str], None]) -> StoredImage:
    for program, package in (("qemu-img", "qemu-utils"), ("mkfs.ext4", "e2fsprogs")):
        there = shutil.which(program, path=_SBIN) is not None
        require_backend(program, there, f"not installed: apt-get install {package}")
    return store_image(tmp_path / "images", name="tiny-vm", rootfs=machine_rootfs())


def run(*argv: str | Path) -> str:
    env = {**os.environ, "PATH": _SBIN}
    return subprocess.run([str(word) for word in argv], capture_output=True, text=True, check=True, env=env).stdout


def test_a_machine_has_the_same_bytes_wherever_and_whenever_it_is_written(
    machine: StoredImage, tmp_path: Path, no_leaks: LeakCheck
) -> None:
    first, second = tmp_path / "first.qemu", Path("/dev/shm") / f"ga-test-{os.getpid()}.qemu"
    try:
        qcow2.write(machine, first)
        qcow2.write(machine, second)  # unpacked on another file system, with another order of its folders
        for name in ("disk.qcow2", "vmlinux", "initrd.img", "disk.json"):
            assert (first / name).read_bytes() == (second / name).read_bytes(), name
    finally:
        shutil.rmtree(second, ignore_errors=True)
    assert sorted(path.name for path in first.iterdir()) == ["disk.json", "disk.qcow2", "initrd.img", "vmlinux"]
    assert (first / "vmlinux").read_bytes() == KERNEL
    disk = read_disk(first)
    assert (disk.layer.path.name, disk.layer.format, disk.record["rootfs"]) == ("disk.qcow2", "qcow2", machine.digest)
    assert json.loads(run("qemu-img", "info", "--output=json", first / "disk.qcow2"))["virtual-size"] == 16 << 30
    run("qemu-img", "check", first / "disk.qcow2")
    assert qcow2.check(machine, first) == []
    with (first / "disk.qcow2").open("r+b") as file:
        file.write(b"X")
    assert "disk.qcow2 has the digest" in qcow2.check(machine, first)[0]


def test_the_times_of_a_disk_are_those_of_the_files_and_it_stays_a_whole_file_system(
    machine: StoredImage, tmp_path: Path
) -> None:
    write_disk(machine, tmp_path / "disk", {})
    raw = tmp_path / "disk" / "disk.raw"
    run("e2fsck", "-fn", raw)
    said = run("debugfs", "-R", "stat /srv/large", raw)
    assert [line.split()[1] for line in said.splitlines() if "time:" in line] == ["0x6553f100:00000000"] * 4
    assert "User:  1000" in run("debugfs", "-R", "stat /home/ga", raw)
    run("debugfs", "-R", f"dump /srv/large {tmp_path / 'large'}", raw)
    assert (tmp_path / "large").read_bytes() == bytes(range(256)) * 2000
    assert raw.stat().st_blocks * 512 < 300 << 20  # the tables of its 16 GiB, written by mkfs
    (tmp_path / "other").write_bytes(b"x" * 5000)
    with pytest.raises(HostError, match="no ext4 file system"):
        settle_times(tmp_path / "other", 1)


def test_a_machine_replaces_only_a_machine_and_a_failure_leaves_the_old_one(
    machine: StoredImage, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine").write_text("keep")
    with pytest.raises(SpecInvalid, match="is no machine of ours"):
        qcow2.write(machine, out)
    assert (out / "mine").read_text() == "keep"
    good = tmp_path / "good"
    qcow2.write(machine, good)
    with pytest.raises(HostError, match="must have one kernel"):
        qcow2.write(store_image(tmp_path / "images", name="no-kernel"), good)
    assert qcow2.check(machine, good) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["good", "images", "out"]


def test_a_release_of_an_image_is_what_import_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_leaks: LeakCheck
) -> None:
    image = store_image(tmp_path / "images", system_digest="ef" * 32)
    release.write(image, tmp_path / "tiny.release")
    assert release.check(image, tmp_path / "tiny.release") == []
    again = tmp_path / "again"
    release.write(image, again)
    for path in again.iterdir():
        assert path.read_bytes() == (tmp_path / "tiny.release" / path.name).read_bytes()
    assert (again / "packages.txt").read_text() == "base-files 12\n"
    monkeypatch.setenv("GYM_ANYTHING_IMAGE_DIR", str(tmp_path / "elsewhere"))
    taken = import_image(ImportRequest(str(again)))
    assert isinstance(taken, StoredImage) and taken.digest == image.digest and verify_image(taken).ok
    assert taken.record["system_digest"] == "ef" * 32


def test_the_command_lists_and_verifies_what_lies_beside_an_image(
    machine: StoredImage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GYM_ANYTHING_IMAGE_DIR", str(tmp_path / "images"))
    for name in ("docker-archive", "qcow2", "release"):
        write, ending = writer(name)
        write(machine, machine.path / f"tiny-vm{ending}")
    (machine.path / f"tiny-vm{FORMATS['apptainer-sif'][1]}").write_bytes(b"sif")
    assert run_command_line(["image", "list", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["built"]
    assert sorted(row["formats"]) == ["apptainer-sif", "docker-archive", "qcow2", "release"]
    assert run_command_line(["image", "verify", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["images"]
    assert row["ok"] and row["unchecked"] == ["apptainer-sif"]
    with (machine.path / "tiny-vm.docker.tar").open("ab") as file:
        file.write(b"\0")
    (machine.path / "tiny-vm.qemu" / "initrd.img").unlink()
    (machine.path / "tiny-vm.release" / "packages.txt").write_text("changed")
    assert run_command_line(["image", "verify", "--json"]) == 1
    (row,) = json.loads(capsys.readouterr().out)["images"]
    assert [problem.split()[0].rpartition("/")[2] for problem in row["problems"]] == [
        "tiny-vm.docker.tar", "initrd.img", "packages.txt",
    ]  # fmt: skip


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_the_desktop_as_a_machine_is_the_same_twice(
    tmp_path: Path, require_backend: Callable[[str, bool, str], None]
) -> None:
    built = [image for image in ImageStore().all() if image.name == "debian-desktop-vm"]
    require_backend("images", bool(built), "not built: gym-anything image build debian-desktop-vm")
    image = built[-1]
    qcow2.write(image, tmp_path / "one")
    qcow2.write(image, tmp_path / "two")
    assert (tmp_path / "one/disk.json").read_bytes() == (tmp_path / "two/disk.json").read_bytes()
    write_disk(image, tmp_path / "raw", {})
    said = run("qemu-img", "compare", tmp_path / "raw/disk.raw", tmp_path / "one/disk.qcow2")
    assert "identical" in said
    assert filling.NEWEST == 1735689600
