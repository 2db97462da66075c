"""A clone's own memory, read from outside: which pages it has changed, and what is in them.

A clone maps its template's memory file privately (``ga-memory``), so the kernel knows what it has changed: pages of a
mapping of a file that are not the file's. Only those are read; everything else is in the template's file already.

Source: Linux ``Documentation/admin-guide/mm/pagemap.rst``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gym_anything._util import proc
from gym_anything._util.process_memory import read_memory
from gym_anything._util.reflink import copy_file
from gym_anything.errors import CheckpointError

Entries = NDArray[np.uint64]
Pages = NDArray[np.bool_]
"""One value for each page of a memory file."""
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_ENTRY_BYTES = 8
_PRESENT, _SWAPPED, _OF_FILE = np.uint64(1 << 63), np.uint64(1 << 62), np.uint64(1 << 61)
_GAP_PAGES = 8
"""Runs of changed pages that lie closer than this are read in one go: what lies between is as in the file."""
_MOST_RUNS = 4096
"""Each is a mapping of every fork, of which the kernel gives a process 65530: with more, longer gaps are bridged."""
_PART_BYTES = 4 << 20
_HANDS = min(4, os.cpu_count() or 1)
"""So many copy at a time: whoever is copied stands still meanwhile, and leaves its processors to them."""
_MEMORY_FILE = "/memfd:memory-backend-memfd"
# start-end perms offset major:minor inode path
_MAPPING = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) (\S{4}) ([0-9a-f]+) [0-9a-f]+:[0-9a-f]+ (\d+) +(\S.*)$", re.MULTILINE)


class NotMapped(CheckpointError):
    """A process has nothing of the file in its memory."""


@dataclass(frozen=True, slots=True)
class Run:
    """A part of a memory file. All in bytes."""

    place: int
    size: int


@dataclass(frozen=True, slots=True)
class Mapping:
    """A part of a process's memory that shows a part of a file. All in bytes."""

    start: int
    size: int
    offset: int


def private_mappings(maps: str, files: Collection[tuple[int, str]]) -> list[Mapping]:
    """Return the private, writable mappings of files, from the text of ``/proc/<pid>/maps``. Pure.

    What lies side by side in the files and in memory is one mapping: a file and what is mapped over it.

    Args: files: inode and name of each.
    Raises: CheckpointError when one is mapped so that writes go into it; NotMapped.
    """
    found: list[Mapping] = []
    for start, end, rights, offset, inode, path in _MAPPING.findall(maps):
        if (int(inode), path.rpartition("/")[2]) not in files:
            continue
        if rights[3] != "p":
            raise CheckpointError("this machine writes into the memory file that it should only have a copy of")
        one = Mapping(int(start, 16), int(end, 16) - int(start, 16), int(offset, 16))
        last = found[-1] if found else None
        if last is not None and (one.start - last.start, one.offset - last.offset) == (last.size, last.size):
            found[-1] = Mapping(last.start, last.size + one.size, last.offset)
        else:
            found.append(one)
    if not found:
        raise NotMapped("this machine does not map the memory file that it is a copy of")
    return found


def own_pages(entries: Entries) -> Pages:
    """Return which pages are not the file's, from the entries of a pagemap. Pure."""
    own: Pages = ((entries & (_PRESENT | _SWAPPED)) != 0) & ((entries & _OF_FILE) == 0)
    return own


def runs_of(pages: Pages, gap_pages: int = _GAP_PAGES, most: int = _MOST_RUNS) -> list[Run]:
    """Return runs of pages in ascending order, with gaps bridged until there are no more than ``most``. Pure."""
    numbers = np.flatnonzero(pages)
    if not len(numbers):
        return []
    distances = np.diff(numbers)
    breaks = np.flatnonzero(distances > gap_pages)
    if len(breaks) >= most:  # only the widest gaps stay
        breaks = np.sort(np.argsort(distances, kind="stable")[len(distances) - most + 1 :])
    firsts = numbers[np.concatenate(([0], breaks + 1))]
    lasts = numbers[np.concatenate((breaks, [len(numbers) - 1]))]
    return [
        Run(int(first) * PAGE_BYTES, int(last - first + 1) * PAGE_BYTES)
        for first, last in zip(firsts, lasts, strict=True)
    ]


class PrivateMemory:
    """What a process, or a child of it, maps of a memory file and of what is different from it, as it is just now."""

    def __init__(self, pid: int, files: Sequence[Path]) -> None:
        """Args: files: the memory file, and what is mapped over it.

        Raises: CheckpointError when the process is gone, may not be looked at, or is no such copy.
        """
        self._size = files[0].stat().st_size
        named = {(file.stat().st_ino, file.name) for file in files}
        try:
            self._pid, self._mappings = _holder(pid, named)
        except OSError as error:
            raise _unreadable(pid, error) from error

    def own(self) -> Pages:
        """Return which pages it has changed. Raises: CheckpointError."""
        pages = np.zeros(self._size // PAGE_BYTES, np.bool_)
        try:
            for mapping in self._mappings:
                first = mapping.offset // PAGE_BYTES
                found = own_pages(_entries(self._pid, mapping))
                pages[first : first + len(found)] |= found
        except OSError as error:
            raise _unreadable(self._pid, error) from error
        return pages

    def write(self, runs: Sequence[Run], target: Path) -> int:
        """Write what it has in these places into a file, at the same places.

        Returns: how many bytes. Raises: CheckpointError.
        """
        parts = list(self._parts(runs))
        hands = min(_HANDS, len(parts))
        try:
            fd = os.open(target, os.O_WRONLY | os.O_CLOEXEC)
            try:
                if hands < 2:
                    _copy(self._pid, fd, parts)
                else:
                    with ThreadPoolExecutor(hands, "memory") as threads:
                        shares = [threads.submit(_copy, self._pid, fd, parts[hand::hands]) for hand in range(hands)]
                        for share in shares:
                            share.result()
            finally:
                os.close(fd)
        except OSError as error:
            raise _unreadable(self._pid, error) from error
        return sum(run.size for run in runs)

    def _parts(self, runs: Sequence[Run]) -> Iterator[tuple[int, int, int]]:
        """Yield (address, place in the file, size) of pieces that are copied at once."""
        for run in runs:
            for mapping in self._mappings:
                place = max(run.place, mapping.offset)
                end = min(run.place + run.size, mapping.offset + mapping.size)
                for begin in range(place, end, _PART_BYTES):
                    yield mapping.start + begin - mapping.offset, begin, min(_PART_BYTES, end - begin)


def write_shared(pid: int, copy: Path) -> None:
    """Write the memory of a paused machine that was booted, which lies in memory that it could share, into a new file.

    Raises: CheckpointError when the process is gone, may not be looked at, or has no such memory.
    """
    try:
        for one in (pid, *proc.descendants(pid)):
            for entry in Path(f"/proc/{one}/fd").iterdir():
                if _is_memory(entry):
                    copy_file(entry, copy)
                    return
    except OSError as error:
        raise _unreadable(pid, error) from error
    raise CheckpointError(f"process {pid} has no memory that could be saved")


def _unreadable(pid: int, error: OSError) -> CheckpointError:
    return CheckpointError(f"the memory of process {pid} could not be saved: {error}")


def _holder(pid: int, files: Collection[tuple[int, str]]) -> tuple[int, list[Mapping]]:
    """Return which of a process and its children maps the files: QEMU may be the child of what started it."""
    for child in proc.descendants(pid):
        try:
            return child, private_mappings(Path(f"/proc/{child}/maps").read_text(), files)
        except (OSError, NotMapped):
            continue
    return pid, private_mappings(Path(f"/proc/{pid}/maps").read_text(), files)


def _is_memory(entry: Path) -> bool:
    try:
        return str(entry.readlink()).startswith(_MEMORY_FILE)
    except FileNotFoundError:  # closed since it was listed
        return False


def _entries(pid: int, mapping: Mapping) -> Entries:
    with Path(f"/proc/{pid}/pagemap").open("rb", buffering=0) as pagemap:
        pagemap.seek(mapping.start // PAGE_BYTES * _ENTRY_BYTES)
        data = pagemap.read(mapping.size // PAGE_BYTES * _ENTRY_BYTES)
    return np.frombuffer(data, np.uint64)


def _copy(pid: int, target: int, parts: Sequence[tuple[int, int, int]]) -> None:
    buffer = bytearray(max((size for *_, size in parts), default=0))
    view = memoryview(buffer)
    for address, place, size in parts:
        read_memory(pid, address, buffer, size)
        written = 0
        while written < size:
            written += os.pwrite(target, view[written:size], place + written)
