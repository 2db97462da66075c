"""Machines come to life some at a time; nobody is held up for long, or after an abort."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gym_anything._util.locks import FileLock
from gym_anything.errors import Aborted
from gym_anything.runtime.qemu.turns import Turns

pytestmark = pytest.mark.unit


def test_no_more_than_so_many_at_a_time_and_all_have_their_turn(tmp_path: Path) -> None:
    turns, lock = Turns(lambda: tmp_path / "turns", 2, 30), threading.Lock()
    inside, most, done = 0, 0, 0

    def wake(_: int) -> None:
        nonlocal inside, most, done
        with turns.mine(lambda: False):
            with lock:
                inside += 1
                most = max(most, inside)
            time.sleep(0.01)
            with lock:
                inside -= 1
                done += 1

    with ThreadPoolExecutor(16) as threads:
        list(threads.map(wake, range(32)))
    assert (most, done) == (2, 32)


def test_a_turn_is_given_back_by_who_fails(tmp_path: Path) -> None:
    turns = Turns(lambda: tmp_path, 1, 30)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), turns.mine(lambda: False):
            raise ZeroDivisionError


def test_who_has_waited_long_goes_on_beside_one_that_hangs(tmp_path: Path) -> None:
    turns = Turns(lambda: tmp_path, 1, 0.05)
    with turns.mine(lambda: False), turns.mine(lambda: False):
        pass
    with turns.mine(lambda: False):  # what was never had is not given back: this is the one turn there is
        assert not turns._free.acquire(blocking=False)


def test_who_is_aborted_does_not_wait(tmp_path: Path) -> None:
    turns = Turns(lambda: tmp_path, 1, 30)
    with turns.mine(lambda: False), pytest.raises(Aborted), turns.mine(lambda: True):
        pytest.fail("it had a turn that was not free")


def test_processes_take_turns_with_each_other_and_one_that_dies_gives_its_turn_back(tmp_path: Path) -> None:
    hold = """
import sys, time
from pathlib import Path
from gym_anything.runtime.qemu.turns import Turns
with Turns(lambda: Path(sys.argv[1]), 1, 30).mine(lambda: False):
    print("mine", flush=True)
    time.sleep(60)
"""
    turns, asked = Turns(lambda: tmp_path, 1, 30), 0

    def second_time() -> bool:
        nonlocal asked
        asked += 1
        return asked > 1

    with subprocess.Popen([sys.executable, "-c", hold, str(tmp_path)], stdout=subprocess.PIPE, text=True) as other:
        try:
            assert other.stdout is not None and other.stdout.readline() == "mine\n"
            with pytest.raises(Aborted), turns.mine(second_time):
                pytest.fail("it had a turn that was not free")
        finally:
            other.kill()
    with turns.mine(lambda: False):
        assert FileLock.try_acquire(tmp_path / "turn-0") is None


def test_where_turns_cannot_be_written_down_there_are_those_of_this_process(tmp_path: Path) -> None:
    (tmp_path / "a file").write_text("")
    turns = Turns(lambda: tmp_path / "a file" / "turns", 1, 30)
    with turns.mine(lambda: False), pytest.raises(Aborted), turns.mine(lambda: True):
        pytest.fail("it had a turn that was not free")
