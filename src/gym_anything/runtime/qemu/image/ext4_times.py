"""Takes the moment of its making out of an ext4 file system, so that the same files give the same disk.

``mkfs.ext4 -d`` takes over when the unpacked files were read and last touched, which differs with every unpacking. Only
for file systems without checksums of their metadata, as ours are made.
Source: Linux ``Documentation/filesystems/ext4`` (super block, group descriptors, inode table).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from gym_anything.errors import HostError

_SUPER_AT, _MAGIC = 1024, 0xEF53
_64BIT, _CHECKSUMS = 0x80, 0x400 | 0x10  # metadata_csum, gdt_csum
_MODE, _ATIME, _CTIME, _MTIME = 0, 8, 12, 16
_EXTRA_SIZE, _CTIME_MORE, _MTIME_MORE, _ATIME_MORE, _CRTIME, _CRTIME_MORE = 128, 132, 136, 140, 144, 148
_WITH_CRTIME = 24
"""Bytes that an inode has after its first 128 when it knows when it was made."""


@dataclass(frozen=True)
class _Layout:
    inode: int
    inodes_per_group: int
    tables: tuple[int, ...]
    """Where each group's inode table begins, in bytes."""


def settle_times(disk: Path, newest: int) -> int:
    """Give every file the time of its content's last change as all of its times, none after ``newest`` (in s).

    Returns: the number of files. Raises: HostError for something that is no such file system.
    """
    with disk.open("r+b") as file:
        layout = _layout(file, disk)
        count = 0
        for begin in layout.tables:
            file.seek(begin)
            table = np.frombuffer(bytearray(file.read(layout.inodes_per_group * layout.inode)), np.uint8)
            inodes = table.reshape(-1, layout.inode)
            used = inodes[:, _MODE : _MODE + 2].any(axis=1)
            if not used.any():
                continue  # the rest of a table that nobody uses stays a hole
            inodes[used] = _settled(inodes[used], newest)
            count += int(used.sum())
            last = int(np.flatnonzero(used)[-1]) + 1
            file.seek(begin)
            file.write(inodes[:last].tobytes())
    return count


def _settled(inodes: NDArray[np.uint8], newest: int) -> NDArray[np.uint8]:
    words = np.ascontiguousarray(inodes).view("<u4").copy()
    changed = words[:, _MTIME // 4]
    late = changed > newest
    words[:, _MTIME // 4] = np.where(late, newest, changed)
    for field in (_ATIME, _CTIME):
        words[:, field // 4] = words[:, _MTIME // 4]
    if words.shape[1] * 4 > _EXTRA_SIZE:
        words[late, _MTIME_MORE // 4] = 0
        long = (words[:, _EXTRA_SIZE // 4] & 0xFFFF) >= _WITH_CRTIME
        more = words[long, _MTIME_MORE // 4]
        for field in (_ATIME_MORE, _CTIME_MORE, _CRTIME_MORE):
            words[long, field // 4] = more
        words[long, _CRTIME // 4] = words[long, _MTIME // 4]
    return words.view(np.uint8)


def _layout(file: BinaryIO, disk: Path) -> _Layout:
    file.seek(_SUPER_AT)
    head = file.read(1024)
    inodes, first_data, log_block, inodes_per_group = (struct.unpack_from("<I", head, at)[0] for at in (0, 20, 24, 40))
    magic, inode_size, desc_size = (struct.unpack_from("<H", head, at)[0] for at in (56, 88, 254))
    incompatible, read_only = struct.unpack_from("<I", head, 96)[0], struct.unpack_from("<I", head, 100)[0]
    if magic != _MAGIC or read_only & _CHECKSUMS or inode_size < 128 or not inodes_per_group:
        raise HostError(f"{disk} is no ext4 file system without checksums", detail={"path": str(disk)})
    block = 1024 << log_block
    wide = bool(incompatible & _64BIT) and desc_size >= 64
    size = desc_size if wide else 32
    groups = inodes // inodes_per_group
    file.seek((first_data + 1) * block)
    table = file.read(groups * size)
    found = []
    for group in range(groups):
        low = struct.unpack_from("<I", table, group * size + 8)[0]
        high = struct.unpack_from("<I", table, group * size + 40)[0] if wide else 0
        found.append((low | high << 32) * block)
    return _Layout(inode_size, inodes_per_group, tuple(found))
