"""Machines that are copied instead of booted: distinct, whole, independent; and checkpoints of running ones."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.errors import (
    CheckpointLocked,
    CheckpointMissing,
    DeadlineExceeded,
    WorldError,
    WorldLost,
)
from gym_anything.runtime.qemu.saved_machine import pause, resume
from gym_anything.runtime.qemu.waiting import WaitingMachines
from gym_anything.runtime.runners.qemu_native.runner import QemuNativeRunner
from tests.integration.qemu.conftest import MakeRunner

pytestmark = pytest.mark.real

STOOD_STILL_S, SOON = 2.5, 30.0
IDENTITY = "cat /etc/machine-id /sys/class/net/eth0/address; head -c 16 /dev/urandom | od -An -tx1 | tr -d ' '"


@pytest.fixture
def saving(make_runner: MakeRunner) -> Iterator[MakeRunner]:
    """Return ``make(**fields)`` of runners that mean one memory checkpoint, which is removed at the end."""
    made: list[QemuNativeRunner] = []

    def make(task: str = "a-task", **fields: object) -> QemuNativeRunner:
        runner = make_runner(id="qemu-forks@1", **fields)
        runner.on_episode_start({"episode_dir": "/nowhere", "env_id": runner.spec.id, "task_id": task, "seed": None})
        runner.set_checkpoint_key("post_task", task_id=task, use_savevm=True)
        made.append(runner)
        return runner

    yield make
    for runner in reversed(made):
        runner.stop()
        runner.delete_checkpoint()


def test_clones_are_distinct_machines_with_the_right_time(make_runner: MakeRunner) -> None:
    seen = []
    for _ in range(3):
        runner = make_runner()
        runner.start()
        identity = runner.exec_capture(IDENTITY).split()
        seen.append(identity)
        assert abs(float(runner.exec_capture("date +%s.%N")) - time.time()) < 2
        assert runner.exec_capture("dmesg --level=emerg,alert,crit,err | grep -ic ext4 || true").strip() == "0"
    for column in zip(*seen, strict=True):
        assert len(set(column)) == len(seen), column


def test_a_world_at_rest_leaves_the_processors_alone_and_goes_on_with_the_time_of_now(make_runner: MakeRunner) -> None:
    """Also right after the guest has said something, which QEMU's network acknowledges by the guest's clock only."""
    runner = make_runner()
    runner.start()
    assert runner.exec_capture("echo here") == "here\n"
    runner.rest()
    process = runner._running("test").process
    before, watched = _looks(process.pid), Deadline.after(STOOD_STILL_S)
    wait_until(watched.expired, deadline=Deadline.after(SOON), awaited="the end of the watch")
    assert _looks(process.pid) - before < 40 * STOOD_STILL_S, "QEMU looks again and again for what cannot come"
    runner.check_life(deep=True)
    runner.go_on()
    assert abs(float(runner.exec_capture("date +%s.%N")) - time.time()) < 2


def test_a_guest_that_stands_still_hangs_or_has_crashed_is_found(make_runner: MakeRunner) -> None:
    runner = make_runner()
    runner.start()
    runner.inject_action({"mouse": {"move": [5, 5]}})  # its desktop service is connected then
    runner.check_life(deep=True)
    assert runner.exec("pkill -STOP ga-desktop") == 0
    with pytest.raises(DeadlineExceeded):
        runner.check_life(deep=True)
    assert runner.exec("pkill -CONT ga-desktop") == 0
    process = runner._running("test").process
    pause(process, Deadline.after(SOON))
    with pytest.raises(WorldError, match="was not told to"):
        runner.check_life()
    resume(process, Deadline.after(SOON))
    runner.check_life(deep=True)
    runner.exec("setsid sh -c 'sleep 0.5; echo c > /proc/sysrq-trigger' > /dev/null 2>&1 &", use_pty=False)

    def has_panicked() -> bool:
        try:
            runner.check_life()  # asks QEMU alone, which ends when the guest's kernel tells it
        except WorldLost as error:
            return "entry_SYSCALL_64" in str(error)  # of the kernel's last words
        return False

    wait_until(has_panicked, deadline=Deadline.after(SOON), awaited="the end of the guest's kernel")


def _looks(pid: int) -> int:
    """Return how often a process has waited for something."""
    found = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/status")]
    return sum(int(line.split()[1]) for text in found for line in text.splitlines() if line.startswith("voluntary_"))


def test_the_next_world_wakes_in_a_machine_that_waits_and_is_one_of_its_own(
    make_runner: MakeRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has stood still meanwhile, and yet has the time of now."""
    monkeypatch.setenv("GYM_ANYTHING_QEMU_WAITING", "1")
    pool = WaitingMachines.shared()
    try:
        first, second = make_runner(), make_runner(id="another@1")
        first.start()
        first.capture_frame()  # whoever looks does not wait for what waits
        pool.settle(Deadline.after(30))
        (pid,) = pool.pids
        assert (
            pool._there[0].machine.process.qmp.execute("query-status", deadline=Deadline.after(30))["status"]
            == "paused"
        )
        assert Path(f"/proc/{pid}/cmdline").read_bytes().endswith(b"\0")
        behind = time.time()
        wait_until(lambda: time.time() > behind + STOOD_STILL_S, deadline=Deadline.after(30), awaited="time to pass")
        second.start()
        assert second._running("test").process.pid == pid
        assert abs(float(second.exec_capture("date +%s.%N")) - time.time()) < 2
        identities = [runner.exec_capture(IDENTITY).split() for runner in (first, second)]
        assert all(len(set(column)) == 2 for column in zip(*identities, strict=True)), identities
        second.inject_action({"keyboard": {"keys": ["shift"]}})
        second.capture_frame()
        pool.settle(Deadline.after(30))
        (next_pid,) = pool.pids
        assert next_pid != pid
    finally:
        pool.end()
    assert not Path(f"/proc/{next_pid}").exists()


def test_a_clone_has_the_screen_of_its_template(make_runner: MakeRunner) -> None:
    frames = []
    for _ in range(2):
        runner = make_runner()
        runner.start()
        frames.append(runner.capture_frame().array[:700])  # the panel has a clock
    assert (frames[0] == frames[1]).all()


@pytest.mark.soak
def test_a_world_saved_with_its_memory_goes_on_in_every_copy(saving: MakeRunner) -> None:
    """K2, K7: programs, files and memory are there; copies and the saved world do not see each other's changes."""
    first = saving()
    first.start()
    first.exec("echo kept > /root/file", use_pty=False)
    first.exec_async("while true; do date +%s%N > /run/next; mv /run/next /run/alive; sleep 0.1; done")
    first.exec("mkdir -p /dev/shm && echo in memory > /dev/shm/memory", use_pty=False)
    assert first.create_checkpoint()
    first.exec("echo changed after saving > /root/file", use_pty=False)

    copies = [saving(), saving()]
    for number, copy in enumerate(copies):
        copy.start_from_checkpoint()
        assert copy.exec_capture("cat /root/file /dev/shm/memory") == "kept\nin memory\n"
        copy.exec(f"echo {number} > /root/file", use_pty=False)
        alive = copy.exec_capture(
            "until [ -e /run/alive ]; do sleep 0.1; done; was=$(cat /run/alive); "
            "for i in $(seq 100); do [ $(cat /run/alive) = $was ] || { echo on; break; }; sleep 0.1; done"
        )
        assert alive == "on\n", "the program that ran when the world was saved does not run on"
    assert [copy.exec_capture("cat /root/file").strip() for copy in copies] == ["0", "1"]
    assert first.exec_capture("cat /root/file") == "changed after saving\n"
    identities = [runner.exec_capture(IDENTITY).split() for runner in (first, *copies)]
    assert all(len(set(column)) == 3 for column in zip(*identities, strict=True))


@pytest.mark.soak
def test_a_copy_of_a_copy(saving: MakeRunner) -> None:
    first = saving("grandparent")
    first.start()
    first.exec("echo one > /root/one", use_pty=False)
    first.create_checkpoint()
    second = saving("grandparent")
    second.start_from_checkpoint()
    second.exec("echo two > /root/two", use_pty=False)
    second.set_checkpoint_key("post_task", task_id="parent", use_savevm=True)
    second.create_checkpoint()
    with pytest.raises(CheckpointLocked):
        first.delete_checkpoint()  # K4: another checkpoint lies on it
    third = saving("parent")
    third.start_from_checkpoint()
    assert third.exec_capture("cat /root/one /root/two") == "one\ntwo\n"
    assert third.exec("sha256sum /usr/bin/bash && sync", use_pty=False) == 0


def test_a_checkpoint_that_is_not_there_is_missing_and_nothing_is_left(saving: MakeRunner) -> None:
    runner = saving("never-saved")
    assert not runner.checkpoint_exists()
    with pytest.raises(CheckpointMissing):
        runner.start_from_checkpoint()


def test_a_killed_making_leaves_nothing_under_the_key(saving: MakeRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    """K1: a failed save is no checkpoint, and the world goes on."""
    from gym_anything.errors import CheckpointError
    from gym_anything.runtime.qemu import templates

    def fail(*_: object, **__: object) -> None:
        raise CheckpointError("the disk is full")

    runner = saving("failing")
    runner.start()
    root = Path(runner._checkpoints.templates.store.root)
    others = set(root.glob("staging-*"))  # the folder is everybody's
    monkeypatch.setattr(templates, "save", fail)
    with pytest.raises(CheckpointError, match="full"):
        runner.create_checkpoint()
    assert not runner.checkpoint_exists()
    assert runner.exec_capture("echo still here") == "still here\n"
    token = runner._running("the test").token
    left = [path for path in root.glob("staging-*") if (path / templates.TOKEN).exists() and path not in others]
    assert [path for path in left if (path / templates.TOKEN).read_bytes() == token] == []
