"""Verifiers in processes of their own: what they get, where their imports come from, and how they may misbehave."""

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
from gym_anything.errors import Aborted, HostError, SpecInvalid, VerifierError, VlmNotConfigured, WorldLost
from gym_anything.verification.cancellation import Cancellation
from gym_anything.verification.fork_server import ForkServer
from tests.integration.verification.judged import DictWorld, judged, write_task

pytestmark = pytest.mark.real


def running(words: str) -> list[int]:
    """Return the processes of ours whose command line holds ``words``."""
    found = []
    for pid in proc.descendants(os.getpid()):
        try:
            line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if words in line:
            found.append(pid)
    return found


def test_a_verifier_gets_what_the_contract_says(tmp_path: Path) -> None:
    task = write_task(
        tmp_path / "t",
        """
        import os, tempfile
        def verify(traj, env_info, task_info):
            path = os.path.join(tempfile.mkdtemp(), "copied")
            assert env_info["copy_from_env"]("/guest/file", path) == path
            with open(path) as f: text = f.read()
            with open(path, "w") as f: f.write(text + "!")
            env_info["copy_to_env"](path, "/guest/back")
            assert env_info["exec_capture"]("id; echo 'x'") == "ran id; echo 'x'"
            try:
                env_info["copy_from_env"]("/guest/missing", path)
            except FileNotFoundError as error:
                missing = str(error)
            keys = {"env_id", "episode_dir", "container", "query_vlm", "sample_trajectory_frames",
                    "get_final_screenshot", "get_first_screenshot"}
            assert keys <= set(env_info), set(env_info)
            assert env_info["sample_trajectory_frames"](traj, n=3) == [] and env_info["get_final_screenshot"](traj) is None
            return {"passed": task_info["metadata"]["answer"] == 42 and len(traj["steps"]) == 1, "score": 77,
                    "feedback": missing, "subscores": {"a": 1}, "env": env_info["env_id"]}
        """,
    )
    world = DictWorld({"/guest/file": "häagen"})
    verdict = judged(task, world=world)
    assert verdict.passed and verdict.score == 77 and "/guest/missing" in verdict.feedback
    assert verdict.extra == {"subscores": {"a": 1}, "env": "env@1"}
    assert world.files["/guest/back"] == "häagen!"
    assert world.commands == ["id; echo 'x'"]


def test_without_a_score_it_is_all_or_nothing(tmp_path: Path) -> None:
    task = write_task(
        tmp_path / "t", "def verify(t, e, i): return {'passed': True}\ndef no(t, e, i): return {'passed': 0}"
    )
    assert judged(task).score == 100
    assert judged(task, program="verifier.py::no").score == 0


def test_imports_resolve_from_task_parent_env_and_utils_also_lazily(tmp_path: Path) -> None:
    env = tmp_path / "env"
    task = write_task(
        env / "tasks" / "t",
        """
        import beside_task
        from beside_tasks import TWO
        import dataclasses
        @dataclasses.dataclass
        class Found:
            total: int = 0
        def verify(traj, env_info, task_info):
            import in_env
            from in_utils import FOUR
            return {"passed": True, "score": Found(beside_task.ONE + TWO + in_env.THREE + FOUR).total}
        """,
    )
    write_task(task, "ONE = 1", "beside_task.py")
    write_task(env / "tasks", "TWO = 2", "beside_tasks.py")
    write_task(env, "THREE = 3", "in_env.py")
    write_task(env / "utils", "FOUR = 4", "in_utils.py")
    assert judged(task, env_root=env).score == 10
    assert not list(env.rglob("__pycache__")), "a verdict leaves no trace in the content"


def test_same_named_modules_of_two_tasks_do_not_collide(tmp_path: Path) -> None:
    scores = []
    for number in (11, 22, 11):
        task = write_task(
            tmp_path / f"t{number}",
            """
            import ground_truth
            def verify(traj, env_info, task_info):
                import late_truth
                assert ground_truth.N == late_truth.N
                return {"passed": True, "score": ground_truth.N}
            """,
        )
        for name in ("ground_truth.py", "late_truth.py"):
            write_task(task, f"N = {number}", name)
        scores.append(judged(task).score)
    assert scores == [11, 22, 11]


def test_a_program_may_be_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_task(tmp_path / "lib" / "somewhere", "def check(t, e, i): return {'passed': True, 'score': 5}", "checks.py")
    (tmp_path / "lib" / "somewhere" / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path / "lib"))
    assert judged(tmp_path, program="somewhere.checks:check").score == 5
    for wrong in ("somewhere.nothing:check", "somewhere.checks:nothing", "nowhere:f"):
        with pytest.raises(SpecInvalid):
            judged(tmp_path, program=wrong)


def test_files_named_like_modules_in_use_are_no_trap(tmp_path: Path) -> None:
    source = "import json\ndef verify(t, e, i): return {'passed': json.loads('true') is True}"
    for name in ("json.py", "socket.py", "a-b c.py", "ünï.py"):
        task = write_task(tmp_path / name.replace(".", "_"), source if name != "json.py" else source.replace(
            "import json", "class json:\n    loads = staticmethod(lambda text: True)"), name)  # fmt: skip
        assert judged(task, program=f"{name}::verify").passed, name


def test_the_vlm_front_door_works_inside_a_verifier(tmp_path: Path) -> None:
    task = write_task(
        tmp_path / "t",
        """
        from gym_anything.vlm import query_vlm, sample_trajectory_frames, get_final_screenshot, get_first_screenshot
        def verify(traj, env_info, task_info):
            assert sample_trajectory_frames(traj, num_samples=4) == []
            return {"passed": True}
        def caught(traj, env_info, task_info):
            try:
                query_vlm(prompt="?", images=["a.png"])
            except Exception:
                pass
            return {"passed": False, "score": 30}
        def uncaught(traj, env_info, task_info):
            return {"passed": bool(env_info["query_vlm"](prompt="?", image="a.png"))}
        def unneeded(traj, env_info, task_info):
            return {**caught(traj, env_info, task_info), "passed": True}
        """,
    )
    assert judged(task).passed
    assert judged(task, program="verifier.py::unneeded").passed
    for program in ("caught", "uncaught"):
        with pytest.raises(VlmNotConfigured):
            judged(task, program=f"verifier.py::{program}")


def test_what_a_verifier_prints_is_kept_in_order_and_without_secrets(tmp_path: Path) -> None:
    task = write_task(
        tmp_path / "t",
        """
        import sys, os, logging, subprocess
        logging.basicConfig(level=logging.INFO)
        def verify(traj, env_info, task_info):
            print("one", flush=True)
            print("two s3cr3t-token", file=sys.stderr)
            subprocess.run(["sh", "-c", "echo three"])
            logging.info("four")
            print("fünf", input() if False else "")
            return {"passed": True, "feedback": "it said s3cr3t-token", "said": ["s3cr3t-token"]}
        """,
    )
    verdict = judged(task, secrets=["s3cr3t-token"])
    output = (task / "episode" / "output.txt").read_text()
    assert output == "one\ntwo [secret]\nthree\nINFO:root:four\nfünf \n"
    assert verdict.feedback == "it said [secret]" and verdict.extra["said"] == ["[secret]"]


def test_a_verifier_has_no_input_its_own_temporary_folder_and_the_given_variables(tmp_path: Path) -> None:
    task = write_task(
        tmp_path / "t",
        """
        import os, sys, tempfile
        def verify(traj, env_info, task_info):
            assert sys.stdin.read() == ""
            handle, left_behind = tempfile.mkstemp()
            return {"passed": os.environ["VLM_MODEL"] == "m", "cwd": os.getcwd(), "left": left_behind}
        """,
    )
    verdict = judged(task, environment={"VLM_MODEL": "m"})
    assert verdict.passed and verdict.extra["cwd"] == str(Path.cwd())
    assert not Path(str(verdict.extra["left"])).exists(), "what it left in its temporary folder is gone"
    assert Path(str(verdict.extra["left"])).is_relative_to(Run.current().path), (
        "where left-overs of kills are collected"
    )


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("def verify(t, e, i): 1/0", "ZeroDivisionError"),
        ("def verify(t, e, i): raise SystemExit(0)", "SystemExit"),
        ("def verify(t, e, i): raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("def verify(t, e, i): return None", "dict"),
        ("def verify(t, e, i): return {'passed': True, 'score': float('nan')}", "finite"),
        ("def verify(t, e): return {'passed': True}", "TypeError"),
        ("def verify(t, e, i)\n return", "SyntaxError"),
        ("import no_such_module\ndef verify(t, e, i): return {'passed': True}", "no_such_module"),
        ("raise ValueError('at import')\ndef verify(t, e, i): return {'passed': True}", "at import"),
        ("import os\ndef verify(t, e, i): os._exit(3)", "exit code 3"),
        ("import os\ndef verify(t, e, i): os.kill(os.getpid(), 9)", "signal 9"),
        ("import os\ndef verify(t, e, i): os.abort()", "signal 6"),
        ("import ctypes\ndef verify(t, e, i): ctypes.string_at(0)", "signal 11"),
        ("def verify(t, e, i): return verify(t, e, i)", "RecursionError"),
        ("import os\ndef verify(t, e, i):\n os.closerange(3, 99)\n return {'passed': True}", "ended|OSError"),
        ("def verify(t, e, i): e['copy_from_env']('/none', '/tmp/x')", "GuestFileNotFound"),
        ("class E(Exception):\n def __str__(self): raise ValueError\ndef verify(t, e, i): raise E", "E|ended"),
        ("class D(dict):\n def get(self, *a): raise OSError('odd')\ndef verify(t, e, i): return D(passed=True)", "odd"),
    ],
)  # fmt: skip
def test_a_verifier_that_breaks_is_broken_with_blame_judge(tmp_path: Path, source: str, words: str) -> None:
    """V2: a crashed judge is broken, not 0."""
    with pytest.raises(VerifierError, match=words) as error:
        judged(write_task(tmp_path / "t", source))
    assert error.value.blame == "judge"


def test_a_missing_verifier_is_the_contents(tmp_path: Path) -> None:
    task = write_task(tmp_path / "t", "def other(t, e, i): return {'passed': True}\nvalue = 3")
    for program in ("nothing.py::verify", "verifier.py::verify", "verifier.py::value"):
        with pytest.raises(SpecInvalid) as error:
            judged(task, program=program)
        assert error.value.blame == "content"
    with pytest.raises(SpecInvalid, match="it has other"):
        judged(task)


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
    assert judged(task).passed and server.pid != first


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
from tests.integration.verification.judged import judged
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
