"""``ga-memory``: what a program maps as shared is its own copy, and without the library there is no such file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gym_anything.runtime.native.locate import native_program
from gym_anything.runtime.qemu.machine import COPY_OF
from gym_anything.runtime.qemu.memory_copy import write_list
from gym_anything.runtime.qemu.private_memory import PAGE_BYTES, Run
from gym_anything.runtime.qemu.templates import LIBRARY

pytestmark = pytest.mark.real

PROGRAM = """
import mmap, os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
memory = mmap.mmap(fd, 0, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
memory[:4] = b"mine"
other = os.open(sys.argv[2], os.O_RDWR | os.O_CREAT, 0o640)
os.write(other, memory[:8])
shared = mmap.mmap(other, 0, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
shared[:4] = b"both"
"""


def run(preload: str, *names: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-c", PROGRAM, *names]
    env = {"LD_PRELOAD": preload} if preload else {}
    return subprocess.run(argv, env=env, capture_output=True, text=True, timeout=30)


def test_a_shared_mapping_of_a_copy_is_private_and_other_files_are_as_ever(tmp_path: Path) -> None:
    original, other = tmp_path / "ram", tmp_path / "other"
    original.write_bytes(b"everybody's" * 1000)
    original.chmod(0o400)
    done = run(str(native_program(LIBRARY)), f"{COPY_OF}{original}", str(other))
    assert done.returncode == 0, done.stderr
    assert original.read_bytes() == b"everybody's" * 1000
    assert other.read_bytes() == b"bothybod"
    assert other.stat().st_mode & 0o777 == 0o640


SHOWING = """
import mmap, os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
memory = mmap.mmap(fd, 0, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
seen = bytes(memory)
memory[:] = bytes(len(memory))
sys.stdout.buffer.write(seen)
"""


def shown(*files: Path) -> subprocess.CompletedProcess[bytes]:
    argv = [sys.executable, "-c", SHOWING, f"{COPY_OF}{'/'.join(map(str, files))}"]
    env = {"LD_PRELOAD": str(native_program(LIBRARY))}
    return subprocess.run(argv, env=env, capture_output=True, timeout=30)


def test_what_is_different_is_mapped_over_the_file_just_as_privately(tmp_path: Path) -> None:
    original, changes = tmp_path / "ram", tmp_path / "changes"
    original.write_bytes(b"o" * 16 * PAGE_BYTES)
    runs = [Run(0, PAGE_BYTES), Run(5 * PAGE_BYTES, 2 * PAGE_BYTES), Run(15 * PAGE_BYTES, PAGE_BYTES)]
    with changes.open("wb") as file:
        for run in runs:
            file.seek(run.place)
            file.write(b"c" * run.size)
    write_list(changes, 16 * PAGE_BYTES, runs)
    before = (original.read_bytes(), changes.read_bytes())
    done = shown(original, changes)
    assert done.returncode == 0, done.stderr
    assert done.stdout[::PAGE_BYTES] == b"cooooccooooooooc"
    assert set(done.stdout) == set(b"co")
    assert (original.read_bytes(), changes.read_bytes()) == before


def test_changes_that_are_not_there_or_not_whole_are_no_memory(tmp_path: Path) -> None:
    original, changes = tmp_path / "ram", tmp_path / "changes"
    original.write_bytes(b"o" * 4 * PAGE_BYTES)
    assert b"FileNotFoundError" in shown(original, changes).stderr
    changes.write_bytes(b"c" * 4 * PAGE_BYTES)
    assert shown(original, changes).returncode != 0
    write_list(changes, 4 * PAGE_BYTES, [Run(1, PAGE_BYTES)])
    assert shown(original, changes).returncode != 0
    write_list(changes, 4 * PAGE_BYTES, [])
    assert shown(original, changes).stdout == original.read_bytes()


@pytest.mark.parametrize("preload", ["", "/no/such/library.so"])
def test_without_the_library_there_is_no_such_file(tmp_path: Path, preload: str) -> None:
    """A preload that fails is only a line on standard error: it must not end in writing into everybody's file."""
    original = tmp_path / "ram"
    original.write_bytes(b"everybody's")
    done = run(preload, f"{COPY_OF}{original}", str(tmp_path / "other"))
    assert done.returncode != 0
    assert "FileNotFoundError" in done.stderr
    assert original.read_bytes() == b"everybody's"


LARGE_PAGES = """
import mmap
memory = mmap.mmap(-1, 8 << 20, mmap.MAP_PRIVATE)
memory.madvise(mmap.MADV_HUGEPAGE)
memory.madvise(mmap.MADV_DONTFORK)
flags = open("/proc/self/smaps").read().split("VmFlags:")
print(any("hg" in text.split("\\n")[0].split() for text in flags), any("dc" in text.split("\\n")[0].split() for text in flags))
"""


def test_large_pages_are_not_asked_for_and_all_other_advice_is_passed_on() -> None:
    def said(env: dict[str, str]) -> str:
        argv = [sys.executable, "-c", LARGE_PAGES]
        return subprocess.run(argv, env=env, capture_output=True, text=True, timeout=30, check=True).stdout.strip()

    assert said({"LD_PRELOAD": str(native_program(LIBRARY))}) == "False True"
    assert said({}) == "True True"
