"""Checkpoints of local worlds: what they keep, what they must not, and when they are refused."""

from __future__ import annotations

import json
import multiprocessing
import os
from pathlib import Path
from typing import Any

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.errors import CheckpointError, CheckpointMissing, CheckpointStale, CheckpointUnsupported, StateError
from gym_anything.runtime.checkpoints.store import MANIFEST
from gym_anything.runtime.runners.local.checkpoint import checkpoint_root
from gym_anything.runtime.runners.local.runner import LocalRunner
from tests.integration.local.conftest import MakeRunner, spec_of

pytestmark = pytest.mark.real


def saved(runner: LocalRunner, level: str = "pre_start", **key: Any) -> None:
    runner.set_checkpoint_key(level, **key)
    assert runner.create_checkpoint() is True


def restored(runner: LocalRunner, level: str = "pre_start", **key: Any) -> LocalRunner:
    runner.set_checkpoint_key(level, **key)
    assert runner.checkpoint_exists()
    assert runner.start_from_checkpoint() is True
    return runner


def test_files_owners_modes_and_deletions_are_kept(make_runner: MakeRunner) -> None:
    """K7: a restored world is what was saved, whatever ids either of them has on this host."""
    first = make_runner()
    first.start()
    first.exec(
        "echo kept > /home/ga/kept; chown ga:ga /home/ga/kept; chmod 640 /home/ga/kept; rm /home/ga/.bashrc; "
        "mkdir -p /var/lib/thing; chown 33:33 /var/lib/thing; ln -s kept /home/ga/link; setfattr -n user.x -v 1 /home/ga/kept; "
        "rm -rf /home/ga/Documents; mkdir /home/ga/Documents; touch /home/ga/Documents/new"
    )
    look = (
        "stat -c '%n %U %G %a %F' /home/ga/kept /var/lib/thing /home/ga/link; cat /home/ga/link; ls -A /home/ga/Documents; "
        "test -e /home/ga/.bashrc; echo $?"
    )
    before = first.exec_capture(look)
    saved(first)
    assert first.exec_capture(look) == before
    second = restored(make_runner())
    assert second.exec_capture(look) == before
    assert second._world is not None and first._world is not None
    if os.geteuid() == 0:
        assert second._world.facts["base_uid"] != first._world.facts["base_uid"]


def test_a_world_does_not_change_what_it_lies_on(make_runner: MakeRunner) -> None:
    first = make_runner()
    first.start()
    first.exec("echo one > /home/ga/file; echo two > /home/ga/other")
    saved(first)
    first.exec("echo changed > /home/ga/file; rm /home/ga/other; touch /home/ga/more")
    second = restored(make_runner())
    assert second.exec_capture("cat /home/ga/file /home/ga/other; ls /home/ga/more 2>&1 | wc -l").split() == [
        "one",
        "two",
        "1",
    ]


def test_processes_and_locks_do_not_survive(make_runner: MakeRunner) -> None:
    """A disk checkpoint holds no processes: first and restored runs agree."""
    first = make_runner()
    first.start()
    first.exec("setsid sleep 1000 >/dev/null 2>&1 & touch /tmp/.X77-lock /run/gone /dev/shm/gone /tmp/stays")
    saved(first)
    look = "pgrep -x sleep | wc -l; ls /tmp/.X77-lock /run/gone /dev/shm/gone 2>/dev/null | wc -l; ls /tmp/stays"
    assert first.exec_capture(look).split() == ["0", "0", "/tmp/stays"]


def test_programs_may_write_what_they_hold_before_they_are_saved(make_runner: MakeRunner) -> None:
    """K2: quiesce first."""
    first = make_runner()
    first.start()
    first.exec_async(
        "trap 'echo flushed > /home/ga/flushed; exit' TERM; touch /run/armed; while :; do sleep 0.05; done"
    )
    wait_until(
        lambda: first.exec("test -e /run/armed", use_pty=False) == 0, deadline=Deadline.after(20), awaited="the trap"
    )
    saved(first)
    assert first.exec_capture("cat /home/ga/flushed").strip() == "flushed"


def test_levels_lie_on_each_other(make_runner: MakeRunner) -> None:
    first = make_runner()
    first.start()
    first.exec("echo a > /home/ga/a")
    saved(first, "pre_start")
    first.exec("echo b > /home/ga/b; echo a2 >> /home/ga/a")
    saved(first, "post_start")
    first.exec("echo c > /home/ga/c")
    saved(first, "post_task", task_id="t")
    first.stop()
    top = restored(make_runner(), "post_task", task_id="t")
    assert top.exec_capture("cat /home/ga/a /home/ga/b /home/ga/c").split() == ["a", "a2", "b", "c"]
    low = restored(make_runner(), "pre_start")
    assert low.exec_capture("cat /home/ga/a; ls /home/ga/b 2>/dev/null").split() == ["a"]


def test_restore_is_quick(make_runner: MakeRunner) -> None:
    """It works from the same layers as a fresh start; the figure itself is measured elsewhere."""
    first = make_runner()
    first.start()
    saved(first)
    second = restored(make_runner())
    assert second._world is not None and second._world.stages["ready"] < 15


def test_without_a_key_or_a_checkpoint_it_says_so(make_runner: MakeRunner) -> None:
    runner = make_runner()
    with pytest.raises(StateError, match="set_checkpoint_key"):
        runner.checkpoint_exists()
    runner.set_checkpoint_key("pre_start")
    assert not runner.checkpoint_exists()
    with pytest.raises(CheckpointMissing):
        runner.start_from_checkpoint()
    with pytest.raises(CheckpointUnsupported, match="memory"):
        runner.set_checkpoint_key("pre_start", use_savevm=True)


def test_another_spec_does_not_find_it(make_runner: MakeRunner) -> None:
    """K3."""
    first = make_runner()
    first.start()
    saved(first)
    other = make_runner(version="2")
    other.set_checkpoint_key("pre_start")
    assert not other.checkpoint_exists()


def test_one_made_with_other_ids_is_refused_with_the_difference(make_runner: MakeRunner) -> None:
    """K3: a checkpoint made by another topology is refused with the difference named."""
    first = make_runner()
    first.start()
    saved(first)
    first.stop()
    (manifest,) = checkpoint_root().glob(f"*/{MANIFEST}")
    data = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**data, "id_count": 1}))
    runner = make_runner()
    runner.set_checkpoint_key("pre_start")
    with pytest.raises(CheckpointStale, match="one id"):
        runner.start_from_checkpoint()


def test_a_failed_creation_leaves_the_world_usable_and_nothing_under_the_key(
    make_runner: MakeRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """K1: a failure is not taken for a checkpoint."""
    runner = make_runner()
    runner.start()
    runner.exec("echo here > /home/ga/file")
    from gym_anything.runtime.runners.local.checkpoint import WorldFiles

    def full(self: WorldFiles, staging: Path) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(WorldFiles, "move_into", full)
        runner.set_checkpoint_key("pre_start")
        with pytest.raises(CheckpointError, match="No space left"):
            runner.create_checkpoint()
    assert not runner.checkpoint_exists()
    assert runner.exec_capture("cat /home/ga/file").strip() == "here"
    assert runner.create_checkpoint() is True


def test_a_deleted_checkpoint_serves_its_running_world_and_nobody_else(make_runner: MakeRunner) -> None:
    """K4: deleting a checkpoint in use is deferred."""
    first = make_runner()
    first.start()
    first.exec("echo here > /home/ga/file")
    saved(first)
    assert first.delete_checkpoint() is True
    assert first.delete_checkpoint() is False
    assert first.exec_capture("cat /home/ga/file").strip() == "here"
    assert not first.checkpoint_exists()
    first.set_checkpoint_key("post_start")
    with pytest.raises(CheckpointMissing):
        first.create_checkpoint()
    assert first.exec_capture("cat /home/ga/file").strip() == "here"
    first.stop()
    assert [path.name for path in checkpoint_root().iterdir()] == ["locks"]


def _make_one(root: str, number: int, made: multiprocessing.Queue[tuple[int, str]]) -> None:
    os.environ["GYM_ANYTHING_LOCAL_CHECKPOINT_DIR"] = root
    runner = LocalRunner(spec_of())
    try:
        runner.start()
        runner.exec(f"echo {number} > /home/ga/maker")
        runner.set_checkpoint_key("pre_start")
        runner.create_checkpoint()
        made.put((number, runner.exec_capture("cat /home/ga/maker").strip()))
    finally:
        runner.stop()


@pytest.mark.slow
def test_of_two_processes_one_creates_and_both_go_on_from_it(local_backend: None, tmp_path: Path) -> None:
    """K6: one creator per key across processes; the others wait and reuse."""
    context = multiprocessing.get_context("spawn")
    made: multiprocessing.Queue[tuple[int, str]] = context.Queue()
    processes = [context.Process(target=_make_one, args=(str(tmp_path), number, made)) for number in (1, 2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(100)
        assert process.exitcode == 0
    found = dict(made.get(timeout=5) for _ in processes)
    assert set(found) == {1, 2}
    assert len(set(found.values())) == 1, "both worlds lie on what one of them made"


def test_the_state_of_named_paths_is_saved_and_loaded(make_runner: MakeRunner) -> None:
    runner = make_runner(save_paths=["/home/ga/data dir"])
    runner.start()
    runner.exec("mkdir '/home/ga/data dir'; echo 1 > '/home/ga/data dir/a'; chown -R ga '/home/ga/data dir'")
    state = runner.save_state()
    runner.exec("echo 2 > '/home/ga/data dir/a'; touch '/home/ga/data dir/b' /home/ga/other")
    runner.load_state(state)
    assert runner.exec_capture("cat '/home/ga/data dir/a'; ls '/home/ga/data dir'; stat -c %U '/home/ga/data dir/a'").split() == [
        "1", "a", "ga",
    ]  # fmt: skip
    assert runner.exec("test -e /home/ga/other", use_pty=False) == 0
    with pytest.raises(FileNotFoundError):
        runner.load_state("/no/such/state")
