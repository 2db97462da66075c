"""What a machine boots from: the archive of its first file system, its drivers in order, its kernel unpacked."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gym_anything.errors import CheckpointStale, HostError, SpecNotFound
from gym_anything.runtime.qemu.image.cpio import Entry, archive
from gym_anything.runtime.qemu.image.disk import FORMAT, RECORD, read_disk
from gym_anything.runtime.qemu.image.initrd import in_load_order, initrd
from gym_anything.runtime.qemu.image.kernel import unpacked

pytestmark = pytest.mark.unit

DEPENDENCIES = """\
kernel/fs/ext4/ext4.ko: kernel/lib/crc16.ko kernel/fs/mbcache.ko kernel/fs/jbd2/jbd2.ko
kernel/fs/jbd2/jbd2.ko:
kernel/fs/mbcache.ko:
kernel/lib/crc16.ko:
kernel/drivers/virtio/virtio_pci.ko.xz: kernel/drivers/virtio/virtio.ko kernel/drivers/virtio/virtio_ring.ko
kernel/drivers/virtio/virtio.ko: kernel/drivers/virtio/virtio_ring.ko
kernel/drivers/virtio/virtio_ring.ko:
"""


@pytest.fixture
def rootfs(tmp_path: Path) -> Path:
    folder = tmp_path / "usr/lib/modules/6.1"
    for line in DEPENDENCIES.splitlines():
        path = folder / line.partition(":")[0]
        path.parent.mkdir(parents=True, exist_ok=True)
        content = path.name.encode()
        path.write_bytes(lzma.compress(content) if path.suffix == ".xz" else content)
    (folder / "modules.dep").write_text(DEPENDENCIES)
    (folder / "modules.builtin").write_text("kernel/drivers/block/virtio_blk.ko\n")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/busybox").write_bytes(b"busybox")
    return tmp_path


def test_drivers_come_after_what_they_need_once_each(rootfs: Path) -> None:
    order = [
        Path(path).name for path in in_load_order(rootfs / "usr/lib/modules/6.1", ["virtio_pci", "virtio_blk", "ext4"])
    ]
    assert sorted(order) == [
        "crc16.ko",
        "ext4.ko",
        "jbd2.ko",
        "mbcache.ko",
        "virtio.ko",
        "virtio_pci.ko.xz",
        "virtio_ring.ko",
    ]
    for later, earlier in (("ext4.ko", "jbd2.ko"), ("virtio.ko", "virtio_ring.ko"), ("virtio_pci.ko.xz", "virtio.ko")):
        assert order.index(earlier) < order.index(later)


def test_a_driver_that_is_neither_there_nor_built_in_is_named(rootfs: Path) -> None:
    with pytest.raises(HostError, match="nvme"):
        in_load_order(rootfs / "usr/lib/modules/6.1", ["nvme"])


def test_the_first_file_system_holds_the_drivers_unpacked_and_numbered(rootfs: Path) -> None:
    data = initrd(rootfs, "6.1")
    assert data == initrd(rootfs, "6.1")
    assert b"lib/00-virtio_ring.ko\0" in data and b"lib/02-virtio_pci.ko\0" in data
    assert b"virtio_pci.ko.xz" in data  # the content that was packed


def test_an_image_without_busybox_is_refused_with_the_package(rootfs: Path) -> None:
    (rootfs / "bin/busybox").unlink()
    with pytest.raises(HostError, match="busybox-static"):
        initrd(rootfs, "6.1")


def test_an_independent_program_reads_the_archive(
    tmp_path: Path, require_backend: Callable[[str, bool, str], None]
) -> None:
    require_backend("cpio", shutil.which("cpio") is not None, "cpio is not installed")
    data = archive(
        [
            Entry("bin"),
            Entry("bin/run", b"#!/bin/sh\n", program=True),
            Entry("plain", b"abc"),
            Entry("to", b"plain", link=True),
        ]
    )
    done = subprocess.run(["cpio", "-i", "--quiet"], input=data, cwd=tmp_path, check=False, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "plain").read_bytes() == b"abc"
    assert os.access(tmp_path / "bin/run", os.X_OK) and not os.access(tmp_path / "plain", os.X_OK)
    assert (tmp_path / "to").readlink() == Path("plain")


def bz_image(packed: bytes) -> bytes:
    image = bytearray(1024 + 512)
    image[0x1F1] = 1
    image[0x202:0x206] = b"HdrS"
    image[0x248:0x24C] = (512).to_bytes(4, "little")
    image[0x24C:0x250] = len(packed).to_bytes(4, "little")
    return bytes(image) + packed + b"the rest"


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bytes])
def test_a_kernel_is_unpacked_whatever_packed_it(pack: object) -> None:
    program = b"\x7fELF" + os.urandom(5000)
    assert unpacked(bz_image(pack(program) + b"size")) is not None  # type: ignore[operator]
    found = unpacked(bz_image(pack(program)))  # type: ignore[operator]
    assert found == program


def test_a_packer_that_is_not_known_leaves_the_kernel_as_it_is() -> None:
    assert unpacked(bz_image(b"\x28\xb5\x2f\xfd zstd")) is None


@pytest.mark.parametrize("image", [b"", b"MZ" + bytes(2000), bz_image(gzip.compress(b"no program"))])
def test_what_is_no_kernel_is_refused(image: bytes) -> None:
    with pytest.raises(HostError):
        unpacked(image)


def test_a_disk_of_another_format_is_refused_and_a_missing_one_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(SpecNotFound):
        read_disk(tmp_path)
    (tmp_path / RECORD).write_text(json.dumps({"format": FORMAT + 1}))
    with pytest.raises(CheckpointStale, match="build it again"):
        read_disk(tmp_path)
