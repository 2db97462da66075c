"""A clone's own memory seen from outside: only what it has changed, and never a machine that writes into everybody's."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym_anything.errors import CheckpointError
from gym_anything.runtime.qemu.memory_copy import ChangesCopy, MemoryFiles, read_list, write_list
from gym_anything.runtime.qemu.private_memory import (
    PAGE_BYTES,
    Mapping,
    PrivateMemory,
    Run,
    own_pages,
    private_mappings,
    runs_of,
    write_shared,
)

pytestmark = pytest.mark.unit

OWN, SWAPPED, OF_FILE, ABSENT = 1 << 63, 1 << 62, (1 << 63) | (1 << 61), 0
MAPS = """\
55d0a000-55d0b000 r-xp 00000000 fe:00 77 /usr/bin/qemu-system-x86_64
55d0b000-55d0c000 rw-p 00000000 fe:01 4711 /usr/lib/of another file system
7f0000000000-7f0040000000 rw-p 00000000 fe:00 4711 /cache/a name with spaces/ram
7f0050000000-7f0050001000 rw-p 00001000 fe:00 4711 /cache/a name with spaces/ram
7f0050001000-7f0050003000 rw-p 00002000 fe:00 12 /state/changes
7f0050003000-7f0050004000 rw-p 00004000 fe:00 4711 /cache/a name with spaces/ram
7ffe0000-7ffe1000 rw-p 00000000 00:00 0 [stack]
"""


def test_the_mappings_of_the_files_alone_are_found_and_joined() -> None:
    found = private_mappings(MAPS, {(4711, "ram"), (12, "changes")})
    assert found == [Mapping(0x7F0000000000, 1 << 30, 0), Mapping(0x7F0050000000, 0x4000, 0x1000)]


def test_a_machine_that_writes_into_the_file_is_refused() -> None:
    with pytest.raises(CheckpointError, match="writes into"):
        private_mappings(MAPS.replace("rw-p 00001000", "rw-s 00001000"), {(4711, "ram")})
    with pytest.raises(CheckpointError, match="does not map"):
        private_mappings(MAPS, {(1, "ram")})


def in_pages(*runs: tuple[int, int]) -> list[Run]:
    return [Run(first * PAGE_BYTES, count * PAGE_BYTES) for first, count in runs]


def test_pages_of_the_file_are_not_changes_and_swapped_ones_are() -> None:
    pages = own_pages(np.array([OF_FILE, OWN, SWAPPED, ABSENT, OF_FILE, OWN], np.uint64))
    assert runs_of(pages, gap_pages=1) == in_pages((1, 2), (5, 1))
    assert runs_of(pages, gap_pages=3) == in_pages((1, 5))
    assert runs_of(np.zeros(4, np.bool_)) == []


def test_with_too_many_runs_the_widest_gaps_stay() -> None:
    pages = np.zeros(100, np.bool_)
    pages[[0, 2, 12, 14, 40, 43]] = True
    assert runs_of(pages, gap_pages=1, most=3) == in_pages((0, 3), (12, 3), (40, 4))
    assert runs_of(pages, gap_pages=1, most=1) == in_pages((0, 44))


@given(st.lists(st.booleans(), max_size=200), st.integers(1, 10), st.integers(1, 9))
def test_runs_cover_every_change_and_never_overlap(changed: list[bool], gap: int, most: int) -> None:
    runs = runs_of(np.array(changed, np.bool_), gap_pages=gap, most=most)
    ends = [(run.place // PAGE_BYTES, (run.place + run.size) // PAGE_BYTES) for run in runs]
    covered = [page for first, end in ends for page in range(first, end)]
    assert covered == sorted(set(covered))
    assert {page for page, is_changed in enumerate(changed) if is_changed} <= set(covered)
    assert all(changed[first] and changed[end - 1] for first, end in ends)
    assert len(runs) <= most


def test_what_a_process_has_changed_is_written_over_the_copy(tmp_path: Path) -> None:
    original, copy = tmp_path / "ram", tmp_path / "copy"
    original.write_bytes(os.urandom(4096 * PAGE_BYTES))
    copy.write_bytes(original.read_bytes())
    with original.open("r+b") as file, mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE) as memory:
        memory[3 * PAGE_BYTES : 3 * PAGE_BYTES + 5] = b"mine!"
        memory[60 * PAGE_BYTES : 3000 * PAGE_BYTES] = os.urandom(2940 * PAGE_BYTES)  # more than is copied at once
        before = original.read_bytes()
        seen = PrivateMemory(os.getpid(), (original,))
        written = seen.write(runs_of(seen.own()), copy)
        assert copy.read_bytes() == bytes(memory)
    assert original.read_bytes() == before
    assert written == 2941 * PAGE_BYTES


def test_changes_and_the_file_are_the_memory_of_that_moment(tmp_path: Path) -> None:
    """Pages that change once more before the moment, for the first time, and not again."""
    original, changes = tmp_path / "ram", tmp_path / "changes"
    original.write_bytes(os.urandom(64 * PAGE_BYTES))
    with original.open("r+b") as file, mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE) as memory:
        memory[3 * PAGE_BYTES] ^= 1
        memory[20 * PAGE_BYTES] ^= 1
        copy = ChangesCopy(MemoryFiles(original), changes)
        copy.begin(os.getpid())
        memory[3 * PAGE_BYTES] ^= 2
        memory[50 * PAGE_BYTES] ^= 2
        copy.finish(os.getpid())
        wanted = bytes(memory)
    together, runs = bytearray(original.read_bytes()), read_list(changes, original.stat().st_size)
    assert runs == in_pages((3, 1), (20, 1), (50, 1))
    for run in runs:
        part = slice(run.place, run.place + run.size)
        together[part] = changes.read_bytes()[part]
    assert bytes(together) == wanted
    assert changes.stat().st_mode & 0o777 == 0o600


def test_a_list_that_is_not_whole_is_refused(tmp_path: Path) -> None:
    changes = tmp_path / "changes"
    changes.write_bytes(b"")
    runs = in_pages((0, 1), (4, 2))
    write_list(changes, 64 * PAGE_BYTES, runs)
    assert read_list(changes, 64 * PAGE_BYTES) == runs
    for cut in (1, 16, 48):
        whole = changes.read_bytes()
        changes.write_bytes(whole[:-cut])
        with pytest.raises(CheckpointError, match="whole"):
            read_list(changes, 64 * PAGE_BYTES)
        changes.write_bytes(whole)


def test_the_memory_of_a_machine_that_was_booted_is_copied_with_its_holes(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no memory"):
        write_shared(os.getpid(), tmp_path / "copy")
    fd = os.memfd_create("memory-backend-memfd", os.MFD_CLOEXEC)
    try:
        os.ftruncate(fd, 32 << 20)
        os.pwrite(fd, b"booted", 16 << 20)
        write_shared(os.getpid(), tmp_path / "copy")
    finally:
        os.close(fd)
    assert (tmp_path / "copy").read_bytes()[16 << 20 :][:6] == b"booted"
    status = (tmp_path / "copy").stat()
    assert status.st_size == 32 << 20
    assert status.st_blocks * 512 < 1 << 20


def test_a_process_that_is_gone_is_an_error_with_its_number(tmp_path: Path) -> None:
    (tmp_path / "ram").write_bytes(b"")
    with pytest.raises(CheckpointError, match="process 999999999"):
        PrivateMemory(999999999, (tmp_path / "ram",))
