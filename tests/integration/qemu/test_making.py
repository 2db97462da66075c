"""Making what worlds are copied from: ended at once when told to, and by one process at a time."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from gym_anything._util.locks import FileLock
from gym_anything.errors import Aborted
from gym_anything.runtime.qemu.image.build import disk_folder, lock_path
from gym_anything.runtime.runners.qemu_native import facts
from tests.integration.qemu.conftest import MakeRunner

pytestmark = pytest.mark.real


def ends_with_aborted(runner: object, after_s: float) -> float:
    """Start, abort after a while, and return how long the start went on after that."""
    caught: list[BaseException] = []

    def start() -> None:
        try:
            runner.start()  # type: ignore[attr-defined]
        except Exception as error:  # noqa: BLE001 - the test looks at it
            caught.append(error)

    thread = threading.Thread(target=start)
    thread.start()
    thread.join(after_s)
    assert thread.is_alive(), caught
    began = time.monotonic()
    runner.abort()  # type: ignore[attr-defined]
    thread.join(30)
    assert [type(error) for error in caught] == [Aborted]
    return time.monotonic() - began


def test_the_making_of_a_disk_is_ended_at_once_and_leaves_nothing(
    make_runner: MakeRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GYM_ANYTHING_QEMU_CACHE", str(tmp_path))
    runner = make_runner()
    assert ends_with_aborted(runner, 1.5) < 3
    runner.stop()
    assert [path.name for path in (tmp_path / "disks").iterdir() if path.is_dir()] == []


def test_waiting_for_another_process_that_makes_the_disk_is_ended_at_once(
    make_runner: MakeRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """K6: one creator; the others wait, and need not wait for ever."""
    monkeypatch.setenv("GYM_ANYTHING_QEMU_CACHE", str(tmp_path))
    folder = disk_folder(*facts.built_image(facts.DEFAULT_IMAGE))
    folder.parent.mkdir(parents=True)
    lock = FileLock.try_acquire(lock_path(folder))
    assert lock is not None
    assert ends_with_aborted(make_runner(), 0.5) < 2
    lock.release()
