"""The server that verifiers are forked from: many, at once, with much to say, killed, or not able to start."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from gym_anything._util import proc
from gym_anything._util.deadline import Deadline
from gym_anything._util.state_dir import Run
from gym_anything._util.supervisor import Supervisor
from gym_anything._util.waiting import wait_until
from gym_anything.errors import HostError, VerifierError
from gym_anything.verification.fork_server import ForkServer
from tests.integration.verification.judged import judged, running, write_task

pytestmark = pytest.mark.real


def test_calls_from_threads_take_turns_and_forked_children_are_refused(tmp_path: Path) -> None:
    task = write_task(
        tmp_path / "t",
        """
        import os, threading
        def verify(traj, env_info, task_info):
            said = []
            threads = [threading.Thread(target=lambda n=n: said.append(env_info["exec_capture"](str(n)) == f"ran {n}"))
                       for n in range(20)]
            [t.start() for t in threads]; [t.join() for t in threads]
            pid = os.fork()
            if pid == 0:
                try:
                    env_info["exec_capture"]("x")
                except Exception as error:
                    os._exit(7 if "own process" in str(error) else 8)
            refused = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
            return {"passed": all(said) and len(said) == 20 and refused}
        """,
    )
    assert judged(task).passed


def test_a_flood_of_output_is_bounded_and_does_not_block(tmp_path: Path) -> None:
    """L8: more than 64 KiB of output does not deadlock."""
    task = write_task(
        tmp_path / "t",
        """
        def verify(traj, env_info, task_info):
            print("begin")
            for _ in range(200):
                print("x" * 50_000)
                env_info["exec_capture"]("true")
            print("end")
            return {"passed": True, "feedback": "y" * 3_000_000}
        """,
    )
    assert judged(task).feedback.endswith("(2980000 more characters left out)")
    output = (task / "episode" / "output.txt").read_text()
    assert output.startswith("begin") and output.endswith("end\n") and "bytes left out" in output
    assert len(output) < 300_000


def test_many_verdicts_leave_nothing(tmp_path: Path) -> None:
    task = write_task(tmp_path / "t", "def verify(t, e, i): return {'passed': True}")

    def counts() -> tuple[int, int, int, int]:
        fds = len(list(Path("/proc/self/fd").iterdir()))
        temporary = len(list(Run.current().path.rglob("*")))
        return fds, threading.active_count(), len(proc.descendants(os.getpid())), temporary

    judged(task)
    before = counts()
    for _ in range(100):
        judged(task)
    wait_until(
        lambda: all(now <= then for now, then in zip(counts(), before, strict=True)),
        deadline=Deadline.after(5),
        awaited="the same number of descriptors, threads, processes and files as before",
        status=lambda: f"{counts()} after {before}",
    )


def test_threads_may_judge_at_once(tmp_path: Path) -> None:
    tasks = [
        write_task(tmp_path / f"t{n}", f"import time\ndef verify(t, e, i): time.sleep(0.3); return {{'passed': True, 'score': {n}}}")
        for n in range(8)
    ]  # fmt: skip
    scores: dict[int, float] = {}
    threads = [threading.Thread(target=lambda n=n: scores.update({n: judged(tasks[n]).score})) for n in range(8)]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert scores == {n: float(n) for n in range(8)}
    assert time.monotonic() - began < 2.4, "eight sleeps of 0.3 s run side by side"


def test_a_killed_server_is_replaced(tmp_path: Path) -> None:
    task = write_task(tmp_path / "t", "def verify(t, e, i): return {'passed': True}")
    judged(task)
    server = ForkServer.shared()
    first = server.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: not Path(f"/proc/{first}").exists(), deadline=Deadline.after(5), awaited="the server's end")
    server.warm_up()
    second = server.pid
    assert second != first
    assert judged(task).passed and server.pid == second, "it was warm"


def test_a_server_killed_under_a_verdict_is_the_judges_trouble(tmp_path: Path) -> None:
    task = write_task(tmp_path / "t", "import time\ndef verify(t, e, i): time.sleep(1000)")
    judged(write_task(tmp_path / "ok", "def verify(t, e, i): return {'passed': True}"))
    pid = ForkServer.shared().pid
    assert pid is not None
    timer = threading.Timer(0.3, os.kill, (pid, signal.SIGKILL))
    timer.start()
    with pytest.raises(VerifierError, match="without a verdict"):
        judged(task)
    timer.join()
    wait_until(lambda: not running("judge_process"), deadline=Deadline.after(5), awaited="the verifier's end")


OWNER = """
import sys
sys.path.insert(0, {root!r})
from pathlib import Path
from tests.integration.verification.judged import judged, running
print("ready", flush=True)
judged(Path({task!r}), seconds=100)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_an_owner_that_dies_takes_verifier_and_server_along(tmp_path: Path, how: signal.Signals) -> None:
    """L2, L3: whatever ends the owner, nothing is left."""
    marker = tmp_path / "pids"
    task = write_task(
        tmp_path / "t",
        f"""
        import os, subprocess, time
        def verify(traj, env_info, task_info):
            child = subprocess.Popen(["sleep", "98763"], start_new_session=True)
            with open({str(marker)!r}, "w") as f:
                f.write(f"{{os.getpid()}} {{os.getppid()}} {{child.pid}}")
            time.sleep(1000)
        """,
    )
    root = str(Path(__file__).parents[3])
    owner = subprocess.Popen([sys.executable, "-c", dedent(OWNER.format(root=root, task=str(task)))])
    try:
        wait_until(
            lambda: marker.exists() and len(marker.read_text().split()) == 3,
            deadline=Deadline.after(30),
            awaited="the verifier",
        )
        pids = [int(word) for word in marker.read_text().split()]
        owner.send_signal(how)
        owner.wait(20)
        alive: list[Any] = []
        wait_until(
            lambda: not [p for p in pids if Path(f"/proc/{p}").exists()],
            deadline=Deadline.after(10),
            awaited="the end of every process",
            status=lambda: str(alive),
        )
    finally:
        owner.kill()
        owner.wait()


@pytest.mark.parametrize("name", ["json.py", "numpy.py", "gym_anything/__init__.py"])
def test_a_working_directory_that_hides_modules_does_not_reach_the_judge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / "cwd" / name).parent.mkdir(parents=True)
    (tmp_path / "cwd" / name).write_text("raise RuntimeError('hidden')")
    monkeypatch.chdir(tmp_path / "cwd")
    server = ForkServer()
    try:
        server.warm_up()  # raises when it cannot start
    finally:
        server.stop()


def test_a_judge_server_that_cannot_start_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho no interpreter here >&2\nexit 3\n")
    broken.chmod(0o755)
    Supervisor.shared()
    monkeypatch.setattr(sys, "executable", str(broken))
    with pytest.raises(HostError, match=r"exit code 3.*no interpreter here"):
        ForkServer().warm_up()
