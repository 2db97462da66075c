"""Unpacks a root file system and makes the disk of it: as root, or root of a user namespace, since files have owners.

python -m gym_anything.runtime.qemu.image.filling ROOTFS.TAR FOLDER DISK_MIB PROGRAM…
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from gym_anything.errors import HostError
from gym_anything.runtime.images.finish import EPOCH as NEWEST
from gym_anything.runtime.images.finish import PROGRAM_FOLDER
from gym_anything.runtime.qemu.image.disk import DISK, INITRD, KERNEL
from gym_anything.runtime.qemu.image.ext4_times import settle_times
from gym_anything.runtime.qemu.image.initrd import initrd
from gym_anything.runtime.qemu.image.kernel import unpacked
from gym_anything.runtime.session.desktop_files import APPLICATIONS, FOLDER, desktop_files

_UUID = "6d2f8d5e-5d0a-4c6e-9a53-67796d616e79"
"""The file system's identity and hash seed: always the same, so that the same files give the same disk."""
_EPOCH = "1"
_NO_UNITS = (
    "apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer", "fstrim.timer",
    "systemd-tmpfiles-clean.timer", "e2scrub_reap.service", "getty@.service", "getty-static.service",
    "serial-getty@.service", "systemd-timesyncd.service", "systemd-networkd.service", "systemd-binfmt.service",
    "systemd-update-utmp.service", "systemd-update-utmp-runlevel.service", "systemd-pstore.service",
    "modprobe@.service", "systemd-firstboot.service", "ldconfig.service", "systemd-logind.service",
    "dev-hugepages.mount", "sys-kernel-debug.mount", "sys-kernel-tracing.mount", "sys-kernel-config.mount",
    "sys-fs-fuse-connections.mount", "systemd-journal-catalog-update.service", "systemd-update-done.service",
    "systemd-hwdb-update.service", "ssh.service", "sshd.service", "ssh.socket",
)  # fmt: skip
"""Units that the world of an episode has no use for, and that take time at boot or come at a moment of their own."""
_NO_MODULES = (
    "floppy", "pcspkr", "ata_piix", "ata_generic", "i2c_piix4", "kvm_amd", "kvm_intel", "powernow_k8", "psmouse",
    "parport_pc", "sr_mod", "cdrom", "joydev", "intel_rapl_msr", "intel_rapl_common",
)  # fmt: skip
"""Drivers of what such a machine has no use for."""
_JOURNAL = "[Journal]\nReadKMsg=no\n"
"""Every copy's kernel says that it is one: ``dmesg`` has that, and no journal wakes in every copy to write it down."""


def fill(rootfs: Path, target: Path, disk_mib: int, programs: Sequence[Path]) -> dict[str, str]:
    """Write disk, kernel and first file system into ``target``; return the kernel's release and how it is packed."""
    with tempfile.TemporaryDirectory(prefix="unpacked-", dir=target) as folder:
        root = Path(folder) / "root"
        root.mkdir(mode=0o755)
        _run(
            [
                "tar",
                "--extract",
                "--numeric-owner",
                "--xattrs",
                "--xattrs-include=*",
                "-f",
                str(rootfs),
                "-C",
                str(root),
            ]
        )
        release = _release(root)
        packed = (root / "boot" / f"vmlinuz-{release}").read_bytes()
        program = unpacked(packed)
        (target / KERNEL).write_bytes(packed if program is None else program)
        (target / INITRD).write_bytes(initrd(root, release))
        for ours in programs:
            shutil.copyfile(ours, root / PROGRAM_FOLDER / ours.name)
        _write_session(root)
        _switch_off(root)
        for old in (*(root / "boot").glob("initrd.img*"), root / "initrd.img", root / "initrd.img.old"):
            old.unlink(missing_ok=True)
        _make_file_system(root, target / DISK, disk_mib)
    return {"release": release, "kernel_packed": "no" if program is not None else "yes"}


def _release(root: Path) -> str:
    found = sorted(path.name.removeprefix("vmlinuz-") for path in (root / "boot").glob("vmlinuz-*"))
    if len(found) != 1:
        raise HostError(f"the root file system must have one kernel, it has {len(found)}: {', '.join(found)}")
    return found[0]


def _write_session(root: Path) -> None:
    """Lay down the look of the desktop for the programs that are there."""
    present = [app for app in APPLICATIONS if (root / "usr/bin" / app.program).exists()]
    for path, text in desktop_files(present, FOLDER).items():
        file = root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        os.utime(file, (int(_EPOCH), int(_EPOCH)))


def _switch_off(root: Path) -> None:
    units = root / "etc/systemd/system"
    for unit in _NO_UNITS:
        (units / unit).unlink(missing_ok=True)
        (units / unit).symlink_to("/dev/null")
    lines = "".join(f"blacklist {name}\n" for name in _NO_MODULES)
    (root / "etc/modprobe.d").mkdir(exist_ok=True)
    (root / "etc/modprobe.d/gym-anything.conf").write_text(lines, encoding="ascii")
    (root / "etc/systemd/journald.conf.d").mkdir(exist_ok=True)
    (root / "etc/systemd/journald.conf.d/gym-anything.conf").write_text(_JOURNAL, encoding="ascii")


def _make_file_system(root: Path, disk: Path, disk_mib: int) -> None:
    features = "^metadata_csum,^orphan_file" if _knows_orphan_file() else "^metadata_csum"
    extended = f"hash_seed={_UUID},lazy_itable_init=1,lazy_journal_init=1,root_owner=0:0"
    argv = ["mkfs.ext4", "-q", "-F", "-d", str(root), "-L", "gym-anything", "-U", _UUID, "-m", "0", "-O", features]
    _run(
        [*argv, "-E", extended, str(disk), f"{disk_mib}M"], {"E2FSPROGS_FAKE_TIME": _EPOCH, "SOURCE_DATE_EPOCH": _EPOCH}
    )
    settle_times(disk, NEWEST)


def _knows_orphan_file() -> bool:
    """Tell whether this mkfs switches on by itself what older kernels cannot mount."""
    config = Path("/etc/mke2fs.conf")
    return config.exists() and "orphan_file" in config.read_text(encoding="utf-8")


def _run(argv: list[str], env: dict[str, str] | None = None) -> None:
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    done = subprocess.run(
        argv, capture_output=True, text=True, env={**os.environ, "PATH": path, **(env or {})}, check=False
    )
    if done.returncode != 0:
        raise HostError(f"{argv[0]} failed: {done.stderr.strip()[-1000:]}", detail={"exit_code": done.returncode})


def main() -> None:
    """Do what the command line says and print the facts as JSON."""
    rootfs, target, disk_mib, *programs = sys.argv[1:]
    try:
        facts = fill(Path(rootfs), Path(target), int(disk_mib), [Path(program) for program in programs])
    except (HostError, OSError) as error:
        print(json.dumps({"error": str(error)}))
        raise SystemExit(1) from error
    print(json.dumps(facts))


if __name__ == "__main__":
    main()
