"""Views keep their slots exactly as long as they live."""

from __future__ import annotations

import fcntl
import gc
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from gym_anything.errors import BadWire, CaptureFailed
from gym_anything.observations.frame import Frame, RgbArray
from gym_anything.runtime.desktop.mapping import FrameMapping
from gym_anything.runtime.desktop.wire import CONSTANTS, FIELDS

pytestmark = pytest.mark.unit

WIDTH, HEIGHT, SLOTS = 7, 5, 3
SLOTS_AT, PIXELS_AT, SLOT_BYTES, LEASE_PAGE = 64, 4096, 4096, 4096


@dataclass
class Memory:
    """What a service would share: the frames and the lease page."""

    frames: int
    leases: int

    def header(self, *, newest: int = 0, version: int = CONSTANTS["VERSION"], stride: int = 3 * WIDTH) -> None:
        fields = (CONSTANTS["MAGIC"], version, 1, WIDTH, HEIGHT, stride, SLOTS, SLOTS_AT)
        os.pwrite(self.frames, FIELDS["MAPPING"].pack(*fields, PIXELS_AT, SLOT_BYTES, newest, 0), 0)

    def write(self, slot: int, value: int, *, lock: int = 2, picture: int = 1) -> None:
        os.pwrite(self.frames, FIELDS["SLOT"].pack(lock, picture, 0, 0), SLOTS_AT + slot * FIELDS["SLOT"].size)
        os.pwrite(self.frames, bytes([value]) * (3 * WIDTH * HEIGHT), PIXELS_AT + slot * SLOT_BYTES)

    def leased(self) -> list[int]:
        return [value - 1 for value in os.pread(self.leases, CONSTANTS["LEASES"], 0) if value]


@pytest.fixture
def memory() -> Iterator[Memory]:
    memory = Memory(*(os.memfd_create(name, os.MFD_ALLOW_SEALING) for name in ("frames", "leases")))
    os.ftruncate(memory.frames, PIXELS_AT + SLOTS * SLOT_BYTES)
    os.ftruncate(memory.leases, LEASE_PAGE)
    memory.header()
    for slot in range(SLOTS):
        memory.write(slot, 10 + slot)
    for fd in (memory.frames, memory.leases):
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
    yield memory
    os.close(memory.frames)
    os.close(memory.leases)


@pytest.fixture
def mapping(memory: Memory) -> FrameMapping:
    return FrameMapping(memory.frames, memory.leases)


def test_a_view_is_read_only_without_a_copy_and_keeps_its_slot(memory: Memory, mapping: FrameMapping) -> None:
    view = mapping.array(1, keep=True)
    assert view.shape == (HEIGHT, WIDTH, 3) and (view == 11).all()
    assert not view.flags.writeable and not view.flags.owndata
    assert memory.leased() == [1] and mapping.kept_slots() == {1}
    memory.write(1, 99)
    assert (view == 99).all()
    del view
    gc.collect()
    assert memory.leased() == []


@pytest.mark.parametrize(
    "derive",
    [
        pytest.param(lambda view: view[1:3, ::2], id="slice"),
        pytest.param(lambda view: view.reshape(-1), id="reshape"),
        pytest.param(lambda view: view[0][0], id="slice of a slice"),
        pytest.param(memoryview, id="memoryview"),
        pytest.param(lambda view: Frame(view, 1, 0.0), id="frame"),
    ],
)
def test_what_is_made_from_a_view_keeps_the_slot_too(
    memory: Memory, mapping: FrameMapping, derive: Callable[[RgbArray], object]
) -> None:
    made = derive(mapping.array(2, keep=True))
    gc.collect()
    assert memory.leased() == [2]
    del made
    gc.collect()
    assert memory.leased() == []


def test_a_copy_keeps_nothing(memory: Memory, mapping: FrameMapping) -> None:
    copy = mapping.array(0, keep=False)
    memory.write(0, 77)
    assert (copy == 10).all() and memory.leased() == []


def test_more_views_than_leases_become_copies(memory: Memory, mapping: FrameMapping) -> None:
    views = [mapping.array(0, keep=True) for _ in range(CONSTANTS["LEASES"] + 5)]
    assert [view.flags.owndata for view in views].count(True) == 5
    views.clear()
    gc.collect()
    assert memory.leased() == []


def test_views_outlive_everything_else(memory: Memory) -> None:
    view = FrameMapping(memory.frames, memory.leases).array(0, keep=True)
    gc.collect()
    assert (view == 10).all() and memory.leased() == [0]
    del view
    gc.collect()
    assert memory.leased() == []


def test_a_forked_child_gives_nothing_back(memory: Memory, mapping: FrameMapping) -> None:
    view = mapping.array(1, keep=True)
    child = os.fork()
    if child == 0:
        del view
        os._exit(0)
    os.waitpid(child, 0)
    assert memory.leased() == [1]
    assert (view == 11).all()


def test_the_seqlock_is_followed(memory: Memory, mapping: FrameMapping) -> None:
    memory.header(newest=2)
    memory.write(2, 50, lock=4, picture=9)
    copy, picture = mapping.read_newest()
    assert (copy == 50).all() and picture == 9
    memory.write(2, 60, lock=5)
    with pytest.raises(CaptureFailed):
        mapping.read_newest()


@pytest.mark.parametrize("wrong", [{"version": CONSTANTS["VERSION"] + 1}, {"stride": 3 * WIDTH + 1}])
def test_another_layout_is_refused(memory: Memory, wrong: dict[str, int]) -> None:
    memory.header(**wrong)
    with pytest.raises(BadWire):
        FrameMapping(memory.frames, memory.leases)


def test_memory_that_is_too_small_is_refused(memory: Memory) -> None:
    small = os.memfd_create("small", os.MFD_ALLOW_SEALING)
    try:
        os.pwrite(small, os.pread(memory.frames, PIXELS_AT + SLOT_BYTES, 0), 0)
        fcntl.fcntl(small, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
        with pytest.raises(BadWire, match="layout"):
            FrameMapping(small, memory.leases)
    finally:
        os.close(small)


def test_arrays_work_with_numpy(mapping: FrameMapping) -> None:
    assert np.asarray(mapping.array(0, keep=True)).mean() == 10


@pytest.mark.parametrize("which", ["frames", "leases"])
def test_memory_that_could_shrink_under_the_reader_is_refused(memory: Memory, which: str) -> None:
    """A world's user may own the service that shares it; the host's process would die of SIGBUS."""
    unsealed = os.memfd_create(which, os.MFD_ALLOW_SEALING)
    try:
        os.ftruncate(unsealed, PIXELS_AT + SLOTS * SLOT_BYTES)
        os.pwrite(unsealed, os.pread(getattr(memory, which), PIXELS_AT, 0), 0)
        fds = {"frames": memory.frames, "leases": memory.leases, which: unsealed}
        with pytest.raises(BadWire, match="sealed"):
            FrameMapping(fds["frames"], fds["leases"])
    finally:
        os.close(unsealed)


def test_a_file_or_a_scrap_of_memory_is_refused(memory: Memory) -> None:
    reading, writing = os.pipe()
    scrap = os.memfd_create("scrap", os.MFD_ALLOW_SEALING)
    try:
        fcntl.fcntl(scrap, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
        for fd in (reading, scrap):
            with pytest.raises(BadWire, match="sealed"):
                FrameMapping(fd, memory.leases)
    finally:
        for fd in (reading, writing, scrap):
            os.close(fd)
