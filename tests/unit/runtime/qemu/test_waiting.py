"""Machines in waiting: taken once, by whom they fit, never dead ones or such of a template that is gone; bounded."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.errors import Aborted, DeadlineExceeded
from gym_anything.runtime.qemu import waiting
from gym_anything.runtime.qemu.templates import SavedFiles
from gym_anything.runtime.qemu.waiting import MOST, Waiting, WaitingMachines

pytestmark = pytest.mark.unit

Note = Callable[[Any], object]


class Stub:
    """A machine that waits, as far as the pool looks at it."""

    def __init__(self, folder: Path, key: str, ended: list[str]) -> None:
        self.alive, self.pid = True, 4711
        self._ended, self._name = ended, key
        saved = SavedFiles(folder, ())
        self.waiting = Waiting(key, saved, cast(Any, self), cast(Any, SimpleNamespace(process=self)), cast(Any, self))

    def end(self) -> None:
        self._ended.append(self._name)


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of those that the pool has ended."""
    monkeypatch.setattr(Waiting, "end", lambda self: self.place.end())
    return []


def pool_of(*stubs: Stub) -> WaitingMachines:
    pool = WaitingMachines()
    for stub in stubs:
        pool._keep(stub.waiting)
    return pool


def test_one_is_taken_once_and_only_by_whom_it_fits(tmp_path: Path, ended: list[str]) -> None:
    pool = pool_of(Stub(tmp_path, "small", ended), Stub(tmp_path, "big", ended))
    assert pool.take("another") is None
    taken = pool.take("big")
    assert taken is not None
    assert taken.key == "big"
    assert pool.take("big") is None
    assert ended == []
    assert pool.pids == [4711]


def test_dead_ones_and_those_of_a_removed_template_are_ended_not_given(tmp_path: Path, ended: list[str]) -> None:
    dead, orphan, good = (Stub(tmp_path / name, name, ended) for name in ("dead", "orphan", "good"))
    (tmp_path / "dead").mkdir()
    (tmp_path / "good").mkdir()
    dead.alive = False
    pool = pool_of(dead, orphan, good)
    assert pool.take("dead") is None
    assert sorted(ended) == ["dead", "orphan"]
    assert pool.take("good") is good.waiting


def test_no_more_than_the_bound_wait_and_the_oldest_goes_first(tmp_path: Path, ended: list[str]) -> None:
    pool = pool_of(*(Stub(tmp_path, str(number), ended) for number in range(MOST + 2)))
    assert len(pool.pids) == MOST
    assert ended == ["0", "1"]


def test_the_end_leaves_none_and_more_may_be_wanted_later(tmp_path: Path, ended: list[str]) -> None:
    pool = pool_of(Stub(tmp_path, "one", ended))
    pool.end()
    pool.end()
    assert ended == ["one"]
    pool._keep(Stub(tmp_path, "two", ended).waiting)
    assert pool.take("two") is not None


def test_none_is_started_where_the_setting_says_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ended: list[str]
) -> None:
    monkeypatch.setenv("GYM_ANYTHING_QEMU_WAITING", "0")
    monkeypatch.setattr(waiting, "waiting_key", lambda saved, plan: "key")
    pool = WaitingMachines()

    def lease() -> Any:
        raise AssertionError("nothing is to be started")

    pool.want(SavedFiles(tmp_path, ()), cast(Any, None), lease, "qemu_native")
    pool.end()


def test_as_many_are_started_as_the_setting_says_and_a_failing_start_ends_the_try(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ended: list[str]
) -> None:
    monkeypatch.setenv("GYM_ANYTHING_QEMU_WAITING", "2")
    monkeypatch.setenv("GYM_ANYTHING_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setattr(waiting, "waiting_key", lambda saved, plan: "key")
    monkeypatch.setattr(waiting, "_start", lambda key, *rest: Stub(tmp_path, key, ended).waiting)
    pool = WaitingMachines()
    want = (SavedFiles(tmp_path, ()), cast(Any, None), lambda: cast(Any, None), "qemu_native")
    pool.want(*want)
    pool.settle(Deadline.after(10))
    assert len(pool.pids) == 2
    pool.want(*want)
    pool.settle(Deadline.after(10))
    assert len(pool.pids) == 2

    def fail(*_: object) -> Waiting:
        raise OSError("no room")

    monkeypatch.setattr(waiting, "_start", fail)
    pool.take("key")
    pool.want(*want)
    pool.settle(Deadline.after(10))
    assert len(pool.pids) == 1
    pool.end()


@pytest.fixture
def making(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ended: list[str]
) -> Iterator[tuple[WaitingMachines, threading.Event]]:
    """Return a pool in which one machine is being made, and what lets that go on."""
    monkeypatch.setenv("GYM_ANYTHING_QEMU_WAITING", "1")
    monkeypatch.setenv("GYM_ANYTHING_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setattr(waiting, "waiting_key", lambda saved, plan: "key")
    pool, go_on, begun = WaitingMachines(), threading.Event(), threading.Event()

    def start(key: str, saved: SavedFiles, plan: object, lease: object, place: object, note: Note) -> Waiting:
        note(cast(Any, SimpleNamespace(abort=go_on.set)))
        begun.set()
        assert go_on.wait(10)
        return Stub(tmp_path, key, ended).waiting

    monkeypatch.setattr(waiting, "_start", start)
    pool.want(SavedFiles(tmp_path, ()), cast(Any, None), lambda: cast(Any, None), "qemu_native")
    assert begun.wait(10)
    yield pool, go_on
    go_on.set()
    pool.end()


def test_one_that_is_being_made_is_waited_for(making: tuple[WaitingMachines, threading.Event]) -> None:
    pool, go_on = making
    assert pool.take("key") is None
    with ThreadPoolExecutor(1) as other:
        taken = other.submit(pool.take, "key", Deadline.after(10))
        wait_until(lambda: pool._claimed, deadline=Deadline.after(10), awaited="the claim")
        assert pool.take("key", Deadline.after(10)) is None  # it is promised to another
        go_on.set()
        found = taken.result(10)
    assert found is not None
    assert found.key == "key"


def test_whoever_waits_for_one_can_be_aborted(making: tuple[WaitingMachines, threading.Event]) -> None:
    pool, _ = making
    with pytest.raises(Aborted):
        pool.take("key", Deadline.after(10), lambda: True)
    with pytest.raises(DeadlineExceeded):
        pool.take("key", Deadline.after(0))


def test_the_end_does_not_wait_for_what_is_being_made(
    making: tuple[WaitingMachines, threading.Event], ended: list[str]
) -> None:
    pool, go_on = making
    pool.end()  # aborts it
    assert go_on.is_set()
    assert ended == ["key"]
    assert pool.take("key", Deadline.after(10)) is None
