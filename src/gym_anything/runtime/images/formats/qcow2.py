"""An image as a machine: a folder with a qcow2 disk, its kernel, the first file system, and what starts them.

The same bytes for the same root file system. ``disk.json`` has the kernel's command line and every digest; QEMU's own
worlds read such a folder, and so does anybody with ``qemu-system-x86_64 -kernel … -initrd … -append …``.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from gym_anything._util import atomic_write
from gym_anything._util.ascii_names import random_name
from gym_anything._util.digest import SHARED
from gym_anything._util.remove_tree import remove_tree
from gym_anything.errors import HostError, SpecInvalid
from gym_anything.runtime.images.store import StoredImage
from gym_anything.runtime.qemu.image.build import write_disk
from gym_anything.runtime.qemu.image.disk import DISK, INITRD, KERNEL, RECORD, read_disk
from gym_anything.runtime.qemu.program import IMAGE_TOOL, require_program

FILE = "disk.qcow2"
_CONVERT_S = 1800.0


def write(image: StoredImage, out: Path) -> None:
    """Write the folder, whole or not at all, in place of an older one of ours.

    Takes a minute for a desktop. Raises: MissingDependency, SpecInvalid (``out`` is something else), HostError.
    """
    program = require_program(IMAGE_TOOL)  # before anything large is written
    if out.exists() and not (out / RECORD).is_file():
        raise SpecInvalid(f"{out} is there and is no machine of ours; name another --output", detail={"path": str(out)})
    partial = out.with_name(random_name(f".{out.name}-", 6))
    try:
        write_disk(image, partial, {})
        _convert(program, partial / DISK, partial / FILE)
        (partial / DISK).unlink()
        digest = SHARED.file(partial / FILE).hex()
        record = {**read_disk(partial).record, "disk_file": FILE, "disk_format": "qcow2", "disk_sha256": digest}
        atomic_write.write_json(partial / RECORD, record, mode=0o644)
        if out.exists():
            remove_tree(out)
        partial.rename(out)
    finally:
        if partial.exists():
            remove_tree(partial)


def check(image: StoredImage, out: Path) -> list[str]:
    """Return what is wrong with such a folder; ``[]`` when it is what was written."""
    disk = read_disk(out)
    wanted = {FILE: "disk_sha256", KERNEL: "kernel", INITRD: "initrd"}
    problems = []
    if disk.record.get("rootfs") != image.digest:
        problems.append(f"{out} was made of another root file system, {disk.record.get('rootfs')}")
    for file, key in wanted.items():
        try:
            found = SHARED.file(out / file).hex()
        except OSError as error:
            problems.append(f"{out / file} cannot be read: {error}")
            continue
        if found != disk.record.get(key):
            problems.append(f"{out / file} has the digest {found}, its record says {disk.record.get(key)}")
    return problems


def _convert(program: str, source: Path, target: Path) -> None:
    # One piece after another: QEMU would else write several at once, in another order every time.
    argv = [program, "convert", "-f", "raw", "-O", "qcow2", "-m", "1", os.fspath(source), os.fspath(target)]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=_CONVERT_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise HostError(f"qemu-img has not written {target} after {_CONVERT_S:.0f} s") from error
    if done.returncode != 0:
        raise HostError(f"qemu-img could not write {target}: {done.stderr.strip()}", detail={"exit": done.returncode})
