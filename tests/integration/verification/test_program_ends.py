"""Verifiers that hang, are stopped, or lose their world: nothing of theirs stays, and nothing is hidden."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.errors import Aborted, VerifierError, WorldLost
from gym_anything.verification.cancellation import Cancellation
from tests.integration.verification.judged import DictWorld, judged, running, write_task

pytestmark = pytest.mark.real


def test_a_hung_verifier_and_all_it_started_are_stopped(tmp_path: Path) -> None:
    """V5: a hung verifier is stopped from outside at its deadline."""
    task = write_task(
        tmp_path / "t",
        """
        import subprocess, time, os, signal
        def verify(traj, env_info, task_info):
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            subprocess.Popen(["sleep", "98765"], start_new_session=True)
            subprocess.Popen(["sh", "-c", "setsid sleep 98765 & exit"]).wait()
            print("waiting", flush=True)
            if os.fork() == 0:
                os.setsid()
                time.sleep(1000)
            while True:
                time.sleep(100)
        """,
    )
    began = time.monotonic()
    with pytest.raises(VerifierError, match="stopped: no verdict after") as error:
        judged(task, seconds=1.0)
    assert time.monotonic() - began < 3
    assert error.value.detail["output_tail"] == "waiting\n"
    assert not running("sleep 98765")
    assert len(running("judge_process.server")) == 1


def test_what_a_good_verifier_leaves_running_is_stopped_too(tmp_path: Path) -> None:
    task = write_task(
        tmp_path / "t",
        """
        import subprocess, threading, time
        def verify(traj, env_info, task_info):
            subprocess.Popen(["sleep", "98764"], start_new_session=True)
            threading.Thread(target=lambda: time.sleep(1000)).start()
            return {"passed": True}
        """,
    )
    began = time.monotonic()
    assert judged(task).passed
    assert time.monotonic() - began < 3 and not running("sleep 98764")


def test_a_stopped_verifier_cancels_its_guest_command(tmp_path: Path) -> None:
    class SlowWorld(DictWorld):
        def exec_capture(self, command: str, *, deadline: Deadline) -> str:
            wait_until(deadline.expired, deadline=Deadline.after(30), awaited="the verdict's deadline")
            self.commands.append("cancelled")
            return ""

    world = SlowWorld()
    task = write_task(tmp_path / "t", "def verify(t, e, i): return {'passed': not e['exec_capture']('sleep 1000')}")
    with pytest.raises(VerifierError, match="stopped"):
        judged(task, world=world, seconds=0.5)
    assert world.commands == ["cancelled"]


def test_a_verifiers_own_time_out_shortens_the_deadline(tmp_path: Path) -> None:
    class TellingWorld(DictWorld):
        def exec_capture(self, command: str, *, deadline: Deadline) -> str:
            return f"{deadline.remaining():.0f}"

    task = write_task(
        tmp_path / "t",
        "def verify(t, e, i): return {'passed': True, 'said': [e['exec_capture']('x', timeout=3), e['exec_capture']('x')]}",
    )
    assert judged(task, world=TellingWorld(), seconds=20).extra["said"] == ["3", "20"]


def test_cancelling_from_another_thread_ends_judging_within_a_second(tmp_path: Path) -> None:
    task = write_task(tmp_path / "t", "import time\ndef verify(t, e, i): time.sleep(1000)")
    button = Cancellation()
    timer = threading.Timer(0.3, button.cancel)
    timer.start()
    began = time.monotonic()
    with pytest.raises(Aborted):
        judged(task, cancellation=button)
    assert time.monotonic() - began < 1.3
    with pytest.raises(Aborted):
        judged(task, cancellation=button)
    timer.join()


@pytest.mark.parametrize("error", [WorldLost("the X server is gone"), Aborted("ended")])
def test_a_world_that_dies_under_a_verifier_is_not_hidden_by_it(tmp_path: Path, error: Exception) -> None:
    """L9: a dead world is not taken for a fail."""
    world = DictWorld()
    world.error = error
    task = write_task(
        tmp_path / "t",
        """
        def verify(traj, env_info, task_info):
            try:
                env_info["exec_capture"]("true")
            except Exception:
                pass
            return {"passed": False, "score": 0}
        """,
    )
    with pytest.raises(type(error)):
        judged(task, world=world)


def test_trouble_in_the_runner_reaches_the_verifier_as_an_error(tmp_path: Path) -> None:
    world = DictWorld()
    world.error = ValueError("a bug of the runner")
    task = write_task(
        tmp_path / "t",
        """
        def verify(traj, env_info, task_info):
            try:
                env_info["exec_capture"]("true")
            except Exception as error:
                return {"passed": False, "feedback": f"{type(error).__name__}: {error}"}
        """,
    )
    assert judged(task, world=world).feedback == "WorldError: exec_capture: ValueError: a bug of the runner"
