"""A stored disk: what a machine boots, with the record of what it is made of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from gym_anything.errors import CheckpointStale, SpecNotFound
from gym_anything.runtime.qemu.machine_spec import DiskLayer, Kernel

FORMAT = 1
RECORD, DISK, KERNEL, INITRD = "disk.json", "disk.raw", "vmlinux", "initrd.img"
COMMAND_LINE = (
    "root=/dev/vda rw console=tty0 console=ttyS0 quiet loglevel=3 net.ifnames=0 mitigations=off audit=0 apparmor=0 "
    "no_timer_check cryptomgr.notests random.trust_cpu=on rcupdate.rcu_expedited=1 systemd.show_status=false "
    "vt.global_cursor_default=0 irqaffinity=0 nowatchdog sysctl.vm.stat_interval=120 "
    "sysctl.vm.compaction_proactiveness=0 sysctl.net.ipv6.conf.default.disable_ipv6=1 "
    "usbcore.autosuspend=-1 rootflags=noinit_itable psi=0 lsm=landlock,yama cgroup.memory=nokmem,nosocket"
)
"""Interrupts go to the processor that the X server and the desktop service are bound to (``CPUAffinity`` of their
units): so a click and its picture wake one thread of an emulated machine, not two by turns. Network cards have no
IPv6 address, which a copy would make anew with its card's own address; loopback has one. The last line leaves out work
that every copy would do anew: waking USB for the first input, clearing empty tables of the file system, statistics
of waiting, security modules without a policy."""


@dataclass(frozen=True, slots=True)
class StoredDisk:
    """A folder with a disk, its kernel and its record.

    Attributes:
        record: ``format``, ``name``, ``rootfs`` (digest of the root file system), ``programs`` (digests of
            ours), ``filling``, ``release`` (of the kernel), ``kernel``, ``initrd`` (their digests), ``command_line``,
            ``disk_mib``; of one that was written to travel also ``disk_file``, ``disk_format``, ``disk_sha256``.
    """

    path: Path
    record: Mapping[str, Any]

    @property
    def layer(self) -> DiskLayer:
        """The disk, which nothing writes to."""
        layer_format: Literal["raw", "qcow2"] = "qcow2" if self.record.get("disk_format") == "qcow2" else "raw"
        return DiskLayer(self.path / str(self.record.get("disk_file", DISK)), layer_format)

    @property
    def kernel(self) -> Kernel:
        """What QEMU starts."""
        return Kernel(self.path / KERNEL, self.path / INITRD, str(self.record["command_line"]))

    @property
    def disk_mib(self) -> int:
        """What the machine sees as the size of its disk."""
        return int(self.record["disk_mib"])

    def digests(self) -> dict[str, Any]:
        """Return what a saved machine on this disk depends on."""
        names = ("rootfs", "programs", "filling", "kernel", "initrd", "command_line")
        return {name: self.record[name] for name in names}


def read_disk(path: Path) -> StoredDisk:
    """Return the disk in a folder. Raises: SpecNotFound, CheckpointStale (another version wrote it)."""
    try:
        record = json.loads((path / RECORD).read_text(encoding="utf-8"))
        format = record["format"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SpecNotFound(f"there is no machine's disk in {path}: {error}", detail={"path": str(path)}) from error
    if format != FORMAT:
        raise CheckpointStale(
            f"the disk in {path} was written in format {format}, this version reads {FORMAT}; build it again",
            detail={"path": str(path), "difference": "format"},
        )
    return StoredDisk(path, record)
