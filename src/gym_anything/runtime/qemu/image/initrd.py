"""The first file system of a machine: the drivers of its disk, and a script that mounts it and goes there.

A distribution's own knows every disk there is and takes seconds of an emulated machine; this one takes milliseconds.
"""

from __future__ import annotations

import lzma
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from gym_anything.errors import HostError
from gym_anything.runtime.qemu.image.cpio import Entry, archive

MODULES = ("virtio_pci", "virtio_blk", "crc32c_generic", "ext4")
"""What the root file system needs; the kernel of the image may have any of them built in."""
OPTIONAL = frozenset({"crc32c_generic"})
"""Newer kernels have no such module, and need none."""
FOLDERS = ("bin", "dev", "lib", "proc", "root", "sys")
_BUSYBOX = "bin/busybox"

INIT = """\
#!/bin/busybox sh
b=/bin/busybox
$b mount -t devtmpfs dev /dev
for module in /lib/*.ko; do $b insmod $module || echo "gym-anything: $module cannot be loaded"; done
tries=0
until [ -b /dev/vda ]; do
    tries=$((tries + 1))
    [ $tries -gt 1000 ] && echo "gym-anything: there is no disk /dev/vda" && exec $b poweroff -f
    $b usleep 10000
done
$b mount -t ext4 -o rw,noatime /dev/vda /root || exec $b poweroff -f
$b mount --move /dev /root/dev
exec $b switch_root /root /sbin/init
"""


def initrd(rootfs: Path, release: str) -> bytes:
    """Return the archive for a kernel release of an unpacked root file system.

    Raises: HostError when busybox (the Debian package busybox-static) or a module is missing there.
    """
    busybox = next((path for path in (rootfs / "bin/busybox", rootfs / "usr/bin/busybox") if path.is_file()), None)
    if busybox is None:
        raise HostError("the root file system has no busybox; add the package busybox-static to its recipe")
    entries = [Entry(name) for name in FOLDERS]
    entries += [Entry(_BUSYBOX, busybox.read_bytes(), program=True), Entry("init", INIT.encode(), program=True)]
    folder = rootfs / "usr/lib/modules" / release
    for number, name in enumerate(in_load_order(folder, MODULES)):
        content = _unpacked_module(folder / name)
        # The number keeps the order in which they are loaded: what others need comes first.
        entries.append(Entry(f"lib/{number:02}-{PurePosixPath(name).name.partition('.')[0]}.ko", content))
    return archive(entries)


def in_load_order(folder: Path, wanted: Sequence[str]) -> list[str]:
    """Return the files of these modules and of all they need, each after what it needs.

    Raises: HostError for a module that the kernel neither has as a file nor built in.
    """
    needs = _dependencies((folder / "modules.dep").read_text(encoding="utf-8"))
    built_in = {_module_name(line) for line in (folder / "modules.builtin").read_text(encoding="utf-8").splitlines()}
    files = {_module_name(path): path for path in needs}
    order: list[str] = []
    for name in wanted:
        if name in built_in:
            continue
        if name not in files and name in OPTIONAL:
            continue
        if name not in files:
            raise HostError(f"the kernel {folder.name} has no module {name}", detail={"module": name})
        for path in (*reversed(needs[files[name]]), files[name]):  # modules.dep lists the nearest need first
            if path not in order:
                order.append(path)
    return order


def _dependencies(text: str) -> dict[str, list[str]]:
    rows = (line.partition(":") for line in text.splitlines() if ":" in line)
    return {path.strip(): rest.split() for path, _, rest in rows}


def _module_name(path: str) -> str:
    return PurePosixPath(path.strip()).name.partition(".")[0].replace("-", "_")


def _unpacked_module(path: Path) -> bytes:
    data = path.read_bytes()
    if path.suffix == ".ko":
        return data
    if path.suffix == ".xz":
        return lzma.decompress(data)
    raise HostError(f"no way to unpack the kernel module {path.name}", detail={"path": str(path)})
