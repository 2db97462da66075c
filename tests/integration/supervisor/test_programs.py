"""Starting programs, and their ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gym_anything._util import labels, proc
from gym_anything._util.deadline import Deadline
from gym_anything._util.state_dir import Run
from gym_anything._util.supervisor import StopPlan, Supervisor
from gym_anything.errors import DeadlineExceeded, ProcessStartFailed
from tests.integration.supervisor.conftest import MARK, until

pytestmark = pytest.mark.real


def soon() -> Deadline:
    return Deadline.after(20)


def output_of(supervisor: Supervisor, *argv: str, **options: object) -> str:
    readable, writable = os.pipe()
    try:
        process = supervisor.spawn(argv, name="talker", stdout=writable, **options)  # type: ignore[arg-type]
    finally:
        os.close(writable)
    with os.fdopen(readable, encoding="utf-8") as file:
        text = file.read()
    assert process.wait(soon()) == 0
    return text


def test_exit_codes_and_signals_are_told_as_by_subprocess(supervisor: Supervisor) -> None:
    assert supervisor.spawn(["true"], name="t").wait(soon()) == 0
    assert supervisor.spawn(["sh", "-c", "exit 7"], name="t").wait(soon()) == 7
    process = supervisor.spawn(["sleep", str(MARK)], name="t")
    assert process.poll() is None and process.returncode is None
    with pytest.raises(DeadlineExceeded, match=str(process.pid)):
        process.wait(Deadline.after(0))
    process.signal(signal.SIGINT)
    assert process.wait(soon()) == process.returncode == -signal.SIGINT
    process.signal(signal.SIGINT)
    assert process.stop() == -signal.SIGINT
    assert supervisor.running == []


def test_arguments_arrive_exactly(supervisor: Supervisor) -> None:
    """T1, N12: text is data; blanks, quotes, newlines, non-ASCII and undecodable bytes arrive as they are."""
    words = ["", " ", "-0.07", "--help", '"; rm -rf', "a'b\\\n\t", "%s & ü 日本 🙂", os.fsdecode(b"\xff\xfe")]
    script = "import os, sys; sys.stdout.buffer.write(b'\\0'.join(map(os.fsencode, sys.argv[1:])))"
    readable, writable = os.pipe()
    process = supervisor.spawn([sys.executable, "-c", script, *words], name="echo", stdout=writable)
    os.close(writable)
    with os.fdopen(readable, "rb") as file:
        assert [os.fsdecode(word) for word in file.read().split(b"\0")] == words
    process.wait(soon())


def test_a_program_sees_only_the_descriptors_it_is_given(supervisor: Supervisor, tmp_path: Path) -> None:
    """L8: stdin is the null device; nothing of the supervisor's or the owner's leaks in."""
    with (tmp_path / "f").open("w") as file:
        listed = output_of(
            supervisor,
            sys.executable,
            "-c",
            "import os\nfor n in range(256):\n try: print(n, os.readlink(f'/proc/self/fd/{n}'))\n except OSError: pass",
            pass_fds={7: file.fileno(), 3: file.fileno()},
        )
    lines = dict(line.split(" ", 1) for line in listed.splitlines())
    assert lines.pop("1").startswith("pipe:")
    assert lines == {"0": "/dev/null", "2": "/dev/null", "3": f"{tmp_path}/f", "7": f"{tmp_path}/f"}


def test_descriptors_may_swap_their_numbers(supervisor: Supervisor) -> None:
    readable, writable = os.pipe()
    process = supervisor.spawn(
        ["bash", "-c", f"echo through >&{readable}"], name="swap", pass_fds={readable: writable, writable: readable}
    )
    os.close(writable)
    assert process.wait(soon()) == 0
    assert os.read(readable, 20) == b"through\n"
    os.close(readable)


def test_environment_working_directory_and_signals_are_as_asked(supervisor: Supervisor, tmp_path: Path) -> None:
    script = (
        "import os, signal; print(os.getcwd(), dict(os.environ).get('A'), os.environ.get('HOME'),"
        " os.getsid(0) == os.getpid() == os.getpgid(0), signal.getsignal(signal.SIGINT) is signal.default_int_handler,"
        " signal.pthread_sigmask(signal.SIG_BLOCK, []))"
    )
    text = output_of(supervisor, sys.executable, "-c", script, env={"A": "ä"}, cwd=tmp_path)
    assert text == f"{tmp_path} ä None True True set()\n"


def test_every_program_carries_the_label_of_its_world_or_run(supervisor: Supervisor) -> None:
    """L3. Also one started with an environment of its own, or in a world of somebody else's."""
    run = Run.current()
    world = run.new_world("test")
    outer = "router/wouter/1-2-3-4"
    for env, expected in (
        (None, run.label),
        ({}, run.label),
        ({labels.ENV_NAME: outer}, run.label),
        ({**world.env}, world.label),
    ):
        process = supervisor.spawn(["/bin/sleep", str(MARK)], name="labelled", env=env)
        assert labels.label_of_process(process.pid) == expected
        process.stop()


@pytest.mark.parametrize(
    ("argv", "options", "reason"),
    [
        (["no-such-program"], {}, "no program 'no-such-program' in PATH"),
        (["/no/such/program"], {}, "No such file"),
        (["/etc/passwd"], {}, "Permission denied"),
        (["true"], {"cwd": "/no/such/folder"}, "working directory"),
        (["true"], {"env": {"PATH": "/nowhere"}}, "PATH"),
        (["/bin/true", "x" * 3_000_000], {}, "Argument list too long"),
    ],
)
def test_a_program_that_cannot_start_is_a_typed_error_with_the_reason(
    supervisor: Supervisor, argv: list[str], options: dict[str, object], reason: str
) -> None:
    """L1: and nothing is left of the try."""
    with pytest.raises(ProcessStartFailed, match=reason) as caught:
        supervisor.spawn(argv, name="wrong", **options)  # type: ignore[arg-type]
    assert "wrong" in str(caught.value)
    assert caught.value.detail["errno"] > 0
    assert supervisor.running == []
    assert supervisor.spawn(["true"], name="t").wait(soon()) == 0


@pytest.mark.parametrize("argv", [[], [""], ["true", "a\0b"]])
def test_what_no_program_can_be_given_is_refused(supervisor: Supervisor, argv: list[str]) -> None:
    with pytest.raises(ValueError, match="odd"):
        supervisor.spawn(argv, name="odd")
    with pytest.raises(ValueError, match="odd"):
        supervisor.spawn(["true"], name="odd", env={"A=B": "x"})


def test_a_descriptor_that_is_not_open_is_said(supervisor: Supervisor) -> None:
    with pytest.raises(OSError, match="descriptor"):
        supervisor.spawn(["true"], name="t", stdout=9999)


RESISTANT = "trap '' TERM; setsid sleep {0} & (setsid sleep {0} &) ; sleep {0}; sleep {0}"


def test_stop_ends_the_whole_tree_also_what_left_the_session_or_lost_its_parent(
    supervisor: Supervisor, marked: Callable[[], list[int]]
) -> None:
    """L2, L6."""
    plan = StopPlan(grace_s=0.3)
    process = supervisor.spawn(["bash", "-c", RESISTANT.format(MARK)], name="tree", stop=plan)
    until(lambda: len(marked()) == 3, "three sleepers")
    began = time.monotonic()
    assert process.stop() == -signal.SIGKILL
    assert 0.25 < time.monotonic() - began < 5
    assert marked() == []
    assert process.stop() == -signal.SIGKILL
    assert _children(supervisor) == []


def test_a_polite_program_ends_by_itself_and_without_waiting_for_the_grace(supervisor: Supervisor) -> None:
    plan = StopPlan(grace_s=30)
    process = supervisor.spawn(["bash", "-c", f"trap 'exit 3' TERM; sleep {MARK} & wait"], name="polite", stop=plan)
    until(lambda: proc.children(process.pid), "its child")
    began = time.monotonic()
    assert process.stop() == 3
    assert time.monotonic() - began < 10


def test_a_stopped_program_is_ended_too(supervisor: Supervisor, marked: Callable[[], list[int]]) -> None:
    process = supervisor.spawn(["sleep", str(MARK)], name="frozen", stop=StopPlan(grace_s=30))
    process.signal(signal.SIGSTOP)
    until(lambda: (stat := proc.read_stat(process.pid)) and stat.state == "T", "its stop")
    assert process.stop() == -signal.SIGTERM
    assert marked() == []


def test_a_deadline_shortens_the_grace_and_a_passed_one_kills_at_once(supervisor: Supervisor) -> None:
    plan = StopPlan(grace_s=60)
    for deadline_s in (0.5, 0.0):
        process = supervisor.spawn(["bash", "-c", f"trap '' TERM; sleep {MARK}; sleep 1"], name="slow", stop=plan)
        until(lambda process=process: proc.children(process.pid), "its child")
        began = time.monotonic()
        assert process.stop(Deadline.after(deadline_s)) == -signal.SIGKILL
        assert time.monotonic() - began < 5


def test_what_a_program_leaves_behind_at_its_own_end_is_ended(
    supervisor: Supervisor, marked: Callable[[], list[int]]
) -> None:
    """L8: a background child that holds the pipe does not hang the call, and does not outlive it."""
    process = supervisor.spawn(["bash", "-c", f"(setsid sleep {MARK} &); sleep {MARK} & exit 5"], name="leaver")
    assert process.wait(soon()) == 5
    assert process.stop() == 5
    assert marked() == []


def test_a_tree_that_keeps_forking_is_ended(supervisor: Supervisor, marked: Callable[[], list[int]]) -> None:
    script = f"trap '' TERM; while :; do setsid bash -c 'trap \"\" TERM; sleep {MARK}' & sleep 0.01; done"
    process = supervisor.spawn(["bash", "-c", script], name="bomb", stop=StopPlan(grace_s=0.1))
    until(lambda: len(marked()) > 10, "some forks")
    process.stop()
    assert marked() == []
    assert _children(supervisor) == []


def test_who_hides_its_environment_and_its_parent_is_swept_when_nothing_else_runs(
    supervisor: Supervisor, marked: Callable[[], list[int]]
) -> None:
    process = supervisor.spawn(["bash", "-c", f"(setsid env -i sleep {MARK} &) ; sleep 0.2"], name="hider")
    until(lambda: len(marked()) == 1, "the hidden sleeper")
    process.wait(soon())
    process.stop()
    until(lambda: not marked(), "the sweep")


def test_a_slow_end_delays_no_other_start_or_end(supervisor: Supervisor) -> None:
    plan = StopPlan(grace_s=3)
    slow = supervisor.spawn(["bash", "-c", f"trap '' TERM; sleep {MARK}; sleep 1"], name="slow", stop=plan)
    until(lambda: proc.children(slow.pid), "its child")
    stopper = threading.Thread(target=slow.stop)
    stopper.start()
    began = time.monotonic()
    for _ in range(20):
        assert supervisor.spawn(["true"], name="quick").stop() is not None
    assert time.monotonic() - began < 2.5
    assert slow.returncode is None
    stopper.join()
    assert slow.returncode == -signal.SIGKILL


def test_a_program_outlives_the_thread_that_started_it(supervisor: Supervisor) -> None:
    """House law 8: a world tied to the thread that started it dies with that thread."""
    started: list[int] = []

    def start() -> None:
        started.append(supervisor.spawn(["sleep", str(MARK)], name="t").pid)

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    supervisor.spawn(["sleep", "0.1"], name="later").wait(soon())
    assert proc.start_ticks(started[0]) is not None


def test_many_threads_start_and_stop_at_once(supervisor: Supervisor) -> None:
    def life(number: int) -> int | None:
        process = supervisor.spawn(["sh", "-c", f"exit {number % 100}"], name=f"n{number}")
        other = supervisor.spawn(["sleep", str(MARK)], name=f"s{number}")
        assert process.wait(soon()) == number % 100
        return other.stop()

    with ThreadPoolExecutor(16) as pool:
        assert set(pool.map(life, range(64))) == {-signal.SIGTERM}
    assert supervisor.running == []


def test_stop_world_ends_all_of_one_world_and_nothing_else(supervisor: Supervisor) -> None:
    one, two = Run.current().new_world("test"), Run.current().new_world("test")
    env = dict(os.environ)
    mine = [supervisor.spawn(["sleep", str(MARK)], name="a", env={**env, **one.env}) for _ in range(3)]
    other = supervisor.spawn(["sleep", str(MARK)], name="b", env={**env, **two.env})
    supervisor.stop_world(one.id)
    supervisor.stop_world(one.id)
    assert [process.returncode for process in mine] == [-signal.SIGTERM] * 3
    assert other.poll() is None


def test_a_pidfd_tells_the_end(supervisor: Supervisor) -> None:
    import select

    process = supervisor.spawn(["sleep", "0.1"], name="t")
    fd = process.pidfd()
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    assert poll.poll(20_000)
    os.close(fd)
    process.stop()
    with pytest.raises(ProcessLookupError, match="t has ended"):
        process.pidfd()


def test_500_programs_leave_nothing_behind(supervisor: Supervisor) -> None:
    """L6: descriptors, threads, processes and memory of both sides stay flat."""
    supervisor.spawn(["true"], name="t").stop()
    [server] = proc.children(supervisor.warden_pid)

    def facts() -> tuple[int, int, int, int]:
        return len(proc.open_fds()), len(proc.open_fds(server)), threading.active_count(), len(_children(supervisor))

    def run(count: int) -> None:
        for _ in range(count):
            supervisor.spawn(["true"], name="t").stop()

    run(50)
    before, memory = facts(), (proc.rss_kib(os.getpid()), proc.rss_kib(server))
    run(500)
    assert facts() == before
    assert proc.rss_kib(server) - memory[1] < 512
    assert proc.rss_kib(os.getpid()) - memory[0] < 2048


def test_the_supervisor_starts_quickly_and_is_small(state: Path) -> None:
    """Generous bounds: this guards against an import that does not belong there; the figures are in the records."""
    began = time.monotonic()
    supervisor = Supervisor()
    supervisor.spawn(["true"], name="t").stop()
    took = time.monotonic() - began
    [server] = proc.children(supervisor.warden_pid)
    memory = proc.pss_kib(server) + proc.pss_kib(supervisor.warden_pid)
    supervisor.close()
    assert took < 1.0
    assert memory < 14 * 1024


def _children(supervisor: Supervisor) -> list[int]:
    [server] = proc.children(supervisor.warden_pid)
    return proc.children(server)


def test_a_program_is_called_as_it_was_asked_for(supervisor: Supervisor) -> None:
    process = supervisor.spawn(["sleep", str(MARK)], name="t")
    assert proc.command_line(process.pid) == ["sleep", str(MARK)]


def test_a_program_is_found_as_subprocess_finds_it(supervisor: Supervisor, tmp_path: Path) -> None:
    (tmp_path / "tool ü").write_text("#!/bin/sh\nexit 4\n")
    (tmp_path / "tool ü").chmod(0o755)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    assert supervisor.spawn(["tool ü"], name="t", env=env).wait(soon()) == 4
    assert supervisor.spawn(["./tool ü"], name="t", cwd=tmp_path).wait(soon()) == 4
    assert subprocess.run(["./tool ü"], cwd=tmp_path, check=False).returncode == 4


def test_a_program_steps_back_as_far_as_it_is_told(supervisor: Supervisor) -> None:
    ours = os.nice(0)
    assert int(output_of(supervisor, "nice")) == ours
    assert int(output_of(supervisor, "nice", nice=3)) == ours + 3
