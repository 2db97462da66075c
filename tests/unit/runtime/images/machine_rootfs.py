"""The smallest root file system that a machine's disk can be made of: a kernel that is none, one driver, busybox."""

from __future__ import annotations

import gzip
import io
import tarfile

from tests.unit.runtime.qemu.test_image_parts import bz_image

RELEASE = "6.1.0-0"
KERNEL = b"\x7fELF" + b"kernel" * 1000
_MODULES = f"usr/lib/modules/{RELEASE}"
_FILES = {
    "etc/hostname": b"desktop\n",
    "usr/bin/busybox": b"\x7fELFbusybox",
    f"boot/vmlinuz-{RELEASE}": bz_image(gzip.compress(KERNEL)),
    f"{_MODULES}/modules.dep": b"ext4.ko:\n",
    f"{_MODULES}/modules.builtin": b"kernel/virtio_pci.ko\nkernel/virtio_blk.ko\n",
    f"{_MODULES}/ext4.ko": b"ext4",
    "home/ga/empty": b"",
    "srv/large": bytes(range(256)) * 2000,
}
_FOLDERS = ("etc", "etc/systemd", "etc/systemd/system", "usr", "usr/bin", "boot", "home", "home/ga", "srv")


def machine_rootfs() -> bytes:
    """Return it as a tar archive, the same bytes every time."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name in _FOLDERS:
            member = tarfile.TarInfo(f"./{name}")
            member.type, member.mode, member.mtime = tarfile.DIRTYPE, 0o755, 1_700_000_000
            member.uid = member.gid = 1000 if name == "home/ga" else 0
            tar.addfile(member)
        for name, content in _FILES.items():
            member = tarfile.TarInfo(f"./{name}")
            member.size, member.mode, member.mtime = len(content), 0o755, 1_700_000_000
            tar.addfile(member, io.BytesIO(content))
    return out.getvalue()
