"""A local world comes up whole, lives, and goes without a trace."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.errors import BootTimedOut, DeadlineExceeded, SpecNotFound, UnsupportedFeature, WorldError, WorldLost
from gym_anything.runtime.runners.local.runner import LocalRunner
from gym_anything.testing.leaks import LeakCheck
from tests.integration.local.conftest import SIZE, MakeRunner

pytestmark = pytest.mark.real


def test_ready_means_a_desktop_a_person_would_call_one(world: LocalRunner) -> None:
    """S5: a non-empty desktop with the window manager up."""
    frame = world.capture_frame().array
    assert frame.shape == (SIZE[1], SIZE[0], 3)
    assert len({tuple(pixel) for pixel in frame[:: SIZE[1] // 12, 300]}) > 5, "the wallpaper is a gradient"
    assert (frame[-20, 300] != frame[20, 300]).any(), "the panel lies at the bottom"
    assert world.exec_capture("pgrep -x openbox && pgrep -x tint2").count("\n") == 2
    assert world.exec_capture("xprop -root _NET_CLIENT_LIST").count("0x") == 1, "the panel and nothing of ours"


def test_the_conventions_of_a_guest_hold(world: LocalRunner) -> None:
    assert world.exec_capture("echo $DISPLAY $HOME $(id -u)").split() == [":1", "/root", "0"]
    assert world.exec_capture("su - ga -c 'echo $DISPLAY $HOME $(id -un) $(sudo -n id -u)'").split() == [
        ":1", "/home/ga", "ga", "0",
    ]  # fmt: skip
    assert world.exec_capture("stat -c '%U %a' /home/ga /workspace").split() == ["ga", "755", "root", "755"]


def test_hook_lines_work_as_written_and_leave_their_log(world: LocalRunner) -> None:
    line = "FOO='a b' bash -c 'echo \"$FOO\"' | tr a-z A-Z && sudo -u ga whoami; false"
    assert world.run_hook(line, stage="post_start") == 1
    assert world.exec_capture(f"cat {world.hook_log_paths(['post_start'])[0]}").split() == ["A", "B", "ga"]


def test_a_killed_panel_and_window_manager_come_back(world: LocalRunner) -> None:
    """Every X client of ours is supervised inside."""
    for name in ("tint2", "openbox"):
        before = world.exec_capture(f"pgrep -x {name}").strip()
        world.exec(f"pkill -9 -x {name}")
        wait_until(
            lambda name=name, before=before: world.exec_capture(f"pgrep -x {name}").strip() not in ("", before),  # type: ignore[misc]
            deadline=Deadline.after(10),
            awaited=f"{name} to come back",
        )


def test_a_world_whose_init_died_is_lost_and_not_silent(world: LocalRunner, make_runner: MakeRunner) -> None:
    """L9: a dead world is not taken for command output."""
    assert world._world is not None
    subprocess.run(["kill", "-9", str(world._world.init_pid)], check=True)
    with pytest.raises(WorldLost):
        world.exec_capture("true")
    with pytest.raises(WorldLost):
        world.capture_frame()
    world.stop()


@pytest.mark.parametrize("program", ["ga-desktop", "Xvnc"])
def test_a_desktop_that_hangs_is_found_by_a_deep_probe(world: LocalRunner, program: str) -> None:
    world.check_life(deep=True)
    assert world.exec(f"pkill -STOP {program}") == 0
    world.check_life()
    with pytest.raises(DeadlineExceeded):
        world.check_life(deep=True)
    assert world.exec(f"pkill -CONT {program}") == 0
    world.check_life(deep=True)


def test_a_desktop_at_work_answers_a_deep_probe(world: LocalRunner) -> None:
    """Neither text that is being typed nor a settle that waits keeps it from answering."""
    busy = [
        threading.Thread(target=world.inject_action, args=({"keyboard": {"text": "a long text " * 200}},)),
        threading.Thread(target=world.settle, args=(60_000, 3000)),
    ]
    for thread in busy:
        thread.start()
    for _ in range(20):
        world.check_life(deep=True)
    for thread in busy:
        thread.join()


def test_a_world_whose_screen_died_is_lost(world: LocalRunner) -> None:
    world.exec("pkill -9 Xvnc")
    with pytest.raises(WorldLost):
        wait_until(lambda: world.capture_frame() is None, deadline=Deadline.after(10), awaited="the loss")


def test_a_world_that_used_its_memory_up_says_so(make_runner: MakeRunner) -> None:
    """L10: out of memory is terminal and named."""
    runner = make_runner(resources={"mem_gb": 0.25})
    runner.start()
    assert runner._world is not None
    if "memory" in runner._world.groups.unenforced:
        pytest.skip("no memory control group on this host")
    hog = "for p in $(pgrep Xvnc); do echo 1000 > /proc/$p/oom_score_adj; done; tail /dev/zero"
    with pytest.raises(WorldLost, match="memory of the world was used up"):
        runner.exec(hog, use_pty=False)
        wait_until(lambda: runner.capture_frame() is None, deadline=Deadline.after(20), awaited="the loss")


def test_a_start_without_time_says_what_it_waited_for(make_runner: MakeRunner) -> None:
    """L1, and no time-out without a diagnosis."""
    with LeakCheck(own_temp=False):
        runner = make_runner(runner_options={"start_timeout_s": 0.02})
        with pytest.raises(WorldError) as caught:
            runner.start()
        runner.stop()
    assert isinstance(caught.value, BootTimedOut) or "timed out" in str(caught.value)


def test_a_missing_mount_is_named_before_anything_starts(make_runner: MakeRunner) -> None:
    runner = make_runner(mounts=[{"source": "/no/such/place", "target": "/workspace/x"}])
    with pytest.raises(SpecNotFound, match="/no/such/place"):
        runner.start()


def test_stop_is_idempotent_and_a_world_starts_again(make_runner: MakeRunner) -> None:
    runner = make_runner()
    runner.stop()
    runner.start()
    runner.exec("touch /home/ga/first")
    runner.stop()
    runner.stop()
    runner.start()
    assert runner.exec("test -e /home/ga/first", use_pty=False) == 1, "a new world knows nothing of the old one"


def test_two_hundred_commands_leave_descriptors_and_threads_flat(world: LocalRunner) -> None:
    def counts() -> tuple[int, int]:
        return len(list(Path("/proc/self/fd").iterdir())), threading.active_count()

    world.exec_capture("true")
    before = counts()
    for _ in range(200):
        world.exec_capture("true")
    assert counts() == before


OWNER = """
import sys, time
from gym_anything.runtime.runners.local.runner import LocalRunner
from tests.integration.local.conftest import spec_of
runner = LocalRunner(spec_of(vnc={"enable": True}, resources={"mem_gb": 1}))
runner.start()
world = runner._world
print(world.place.path, world.init_pid, *world.groups.folders, flush=True)
time.sleep(600)
"""


def test_a_killed_owner_leaves_nothing(local_backend: None) -> None:
    """L2, L3: nothing is left after kill -9 of the owner."""
    root = Path(__file__).parents[3]
    argv = [sys.executable, "-c", textwrap.dedent(OWNER)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd=root) as owner:
        assert owner.stdout is not None
        folder, init_pid, *groups = owner.stdout.readline().split()
        assert groups, "the limits are held by control groups here"
        owner.kill()
    left = [Path(folder), Path("/proc") / init_pid, *map(Path, groups)]
    wait_until(
        lambda: not any(path.exists() for path in left),
        deadline=Deadline.after(15),
        awaited="everything to go",
        status=lambda: ", ".join(str(path) for path in left if path.exists()),
    )


def test_an_owner_that_ends_without_stopping_leaves_nothing(local_backend: None) -> None:
    """L2: also one that forgets to stop, or fails."""
    root = Path(__file__).parents[3]
    ending = OWNER.replace("time.sleep(600)", "raise RuntimeError('forgot')")
    argv = [sys.executable, "-c", textwrap.dedent(ending)]
    done = subprocess.run(argv, capture_output=True, text=True, cwd=root, check=False)
    assert "forgot" in done.stderr
    folder, init_pid, *groups = done.stdout.split()
    left = [path for path in (Path(folder), Path("/proc") / init_pid, *map(Path, groups)) if path.exists()]
    assert groups and left == []


@pytest.mark.slow
def test_sixteen_worlds_at_once_do_not_collide(make_runner: MakeRunner) -> None:
    """L4: parallel starts collide nowhere."""
    runners = [make_runner(vnc={"enable": True}) for _ in range(16)]
    errors: list[BaseException] = []

    def start(runner: LocalRunner, number: int) -> None:
        try:
            runner.start()
            runner.exec(f"echo {number} > /home/ga/number")
        except BaseException as error:  # noqa: BLE001 - handed to the test's own thread
            errors.append(error)

    threads = [threading.Thread(target=start, args=(runner, number)) for number, runner in enumerate(runners)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(110)
    assert not errors
    assert [int(runner.exec_capture("cat /home/ga/number")) for runner in runners] == list(range(16))
    assert len({runner.get_runtime_info().vnc_port for runner in runners}) == 16
    for runner in runners:
        runner.inject_action({"keyboard": {"keys": "a"}})
        assert runner.capture_frame().array.std() > 1


def test_without_a_sandbox_two_worlds_share_the_host_and_no_display(make_runner: MakeRunner) -> None:
    first = make_runner(runner_options={"sandbox": False})
    second = make_runner(runner_options={"sandbox": False})
    first.start()
    second.start()
    displays = [runner.exec_capture("echo $DISPLAY").strip() for runner in (first, second)]
    assert len(set(displays)) == 2
    sockets = {path: path.stat().st_ino for path in (Path(f"/tmp/.X11-unix/X{display[1:]}") for display in displays)}
    home = first.exec_capture("echo $HOME").strip()
    assert Path(home).is_dir()
    assert first.run_hook("echo here", stage="pre_start") == 0
    assert Path(first.hook_log_paths(["pre_start"])[0]).read_text() == "here\n"
    assert first.exec("xdpyinfo >/dev/null", use_pty=False) == 0
    first.stop()
    second.stop()
    assert not Path(home).exists()
    # Another program of this host may have taken a number by now, with a socket of its own.
    assert not [path for path, inode in sockets.items() if path.exists() and path.stat().st_ino == inode]


def test_without_a_sandbox_mounts_and_checkpoints_are_refused(make_runner: MakeRunner, tmp_path: Path) -> None:
    mounts = [{"source": str(tmp_path), "target": "/workspace/x"}]
    runner = make_runner(runner_options={"sandbox": False}, mounts=mounts)
    assert not runner.supports_checkpoint_caching()
    with pytest.raises(UnsupportedFeature, match="sandbox"):
        runner.start()
