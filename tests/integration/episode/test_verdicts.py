"""Whole episodes with verifiers: outcomes, rewards, evaluate, dense rewards, verify task."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest
from PIL import Image

from gym_anything._util import proc
from gym_anything._util.deadline import Deadline
from gym_anything._util.state_dir import Run
from gym_anything._util.waiting import wait_until
from gym_anything.episode.env import GymAnythingEnv
from gym_anything.episode.factory import from_config
from gym_anything.errors import Aborted, StateError
from tests.unit.episode.fake_envs import env_spec, task_spec

pytestmark = pytest.mark.real

TYPED = """
import os, tempfile
def verify(traj, env_info, task_info):
    path = os.path.join(tempfile.mkdtemp(), "typed")
    try:
        env_info["copy_from_env"]("/home/ga/typed.txt", path)
    except FileNotFoundError:
        return {"passed": False, "score": 0, "feedback": "nothing was typed"}
    with open(path) as file:
        typed = file.read()
    return {"passed": typed == "hello", "score": 100 * len(typed) // 5, "feedback": f"typed {typed!r}"}
"""


def write_env(root: Path, verifier: str = TYPED, **task: Any) -> Path:
    """Write an environment with one task; returns its folder."""
    folder = root / "env" / "tasks" / "type_hello"
    folder.mkdir(parents=True, exist_ok=True)
    (root / "env" / "env.json").write_text(json.dumps(env_spec(root, **task.pop("env", {}))))
    spec = {"success": {"mode": "program", "spec": {"program": "verifier.py::verify"}}, **task}
    (folder / "task.json").write_text(json.dumps(task_spec(**spec)))
    (folder / "verifier.py").write_text(dedent(verifier))
    return root / "env"


def type_text(env: GymAnythingEnv, text: str) -> Any:
    return env.step({"keyboard": {"text": text}}, settle_after_actions=False)


def test_solved_and_unsolved_episodes_pass_and_fail(tmp_path: Path) -> None:
    with from_config(write_env(tmp_path)) as env:
        for text, status in (("hello", "passed"), ("help", "failed"), ("", "failed")):
            env.reset()
            if text:
                type_text(env, text)
            _, reward, done, info = env.step([], mark_done=True)
            assert done and info["outcome"]["status"] == status and info["outcome"]["blame"] is None
            assert reward == (1.0 if status == "passed" else 0.0)
            assert info["verifier"]["mode"] == "program" and info["verifier"]["mode_source"] == "task"
            assert env.episode_dir is not None
            summary = json.loads((env.episode_dir / "summary.json").read_text())
            assert summary["outcome"]["status"] == status and summary["verifier"]["decided"] is True


@pytest.mark.parametrize(
    ("reward_type", "expected"),
    [("sparse", 0.0), ("partial", 80.0), ("rubric", 80.0), ("continuous", 0.8), ("weighted", 0.0), ("dense", 0.0)],
)
def test_rewards_follow_the_tasks_type(tmp_path: Path, reward_type: str, expected: float) -> None:
    with from_config(write_env(tmp_path, init={"reward_type": reward_type})) as env:
        env.reset()
        type_text(env, "help")
        assert env.step([], mark_done=True)[1] == pytest.approx(expected)


def test_dense_rewards_come_with_every_step(tmp_path: Path) -> None:
    shaping = (
        TYPED + "\ndef shaped(t, e, i):\n    return verify(t, e, i)['score'] / 1000\ndef bad(t, e, i): return 1/0\n"
    )
    init = {"reward_type": "dense", "reward_shaping": "verifier.py::shaped"}
    with from_config(write_env(tmp_path, shaping, init=init)) as env:
        env.reset()
        assert type_text(env, "hel")[1] == pytest.approx(0.06)
        assert type_text(env, "lo")[1] == pytest.approx(0.1)
        assert env.step([], mark_done=True)[1] == pytest.approx(0.1 + 1.0)
    init["reward_shaping"] = "verifier.py::bad"
    with from_config(write_env(tmp_path, shaping, init=init)) as env:
        env.reset()
        _, reward, done, info = type_text(env, "hello")
        assert reward == 0.0 and not done and info["reward_error"]["code"] == "verifier-error"
        assert env.step([], mark_done=True)[1] == 1.0


def test_evaluate_judges_at_any_time_and_leaves_the_episode_open(tmp_path: Path) -> None:
    task = {"hooks": {"post_task": "echo exported > /tmp/exported"}, "extras": {"post_task_settle_sec": 0}}
    with from_config(write_env(tmp_path, **task)) as env:
        with pytest.raises(StateError):
            env.evaluate()
        env.reset()
        first = env.evaluate()
        assert first["passed"] is False and first["outcome"]["status"] == "failed" and first["reward"] == 0.0
        assert env.runner.exec_capture("cat /tmp/exported") == "exported\n"
        type_text(env, "hello")
        assert env.evaluate()["passed"] is True
        assert not type_text(env, "x")[2], "it goes on"
        info = env.step([], mark_done=True)[3]
        assert info["outcome"]["status"] == "failed", "the final verdict is of the final state"
        assert env.evaluate()["outcome"] == info["outcome"], "and is computed once"


def test_the_final_verdict_is_computed_once(tmp_path: Path) -> None:
    counter = tmp_path / "count"
    source = f"def verify(t, e, i):\n    open({str(counter)!r}, 'a').write('x')\n    return {{'passed': True}}"
    with from_config(write_env(tmp_path, source)) as env:
        env.reset()
        env.step([], mark_done=True)
        env.evaluate()
        env.close()
    assert counter.read_text() == "x"


@pytest.mark.parametrize(
    ("source", "blame", "words"),
    [
        ("def verify(t, e, i): 1/0", "judge", "ZeroDivisionError"),
        ("def verify(t, e, i): return None", "judge", "dict"),
        ("import time\ndef verify(t, e, i): time.sleep(100)", "judge", "stopped"),
        ("def other(t, e, i): return {'passed': True}", "content", "no function 'verify'"),
        ("def verify(t, e, i): return {'passed': bool(e['query_vlm'](prompt='?'))}", "host", "vision model"),
    ],
)
def test_a_judge_that_cannot_decide_is_broken(tmp_path: Path, source: str, blame: str, words: str) -> None:
    """V2, V5: broken with blame, never a fail."""
    success = {"spec": {"program": "verifier.py::verify", "timeout_sec": 0.5}}
    with from_config(write_env(tmp_path, source, success=success)) as env:
        env.reset()
        _, reward, done, info = env.step([], mark_done=True)
        assert done and reward == 0.0
        assert info["outcome"]["status"] == "broken" and info["outcome"]["blame"] == blame
        assert words in info["outcome"]["story"]
        assert info["verifier"]["decided"] is False and "error" in info["verifier"]


def test_a_missing_verifier_file_is_broken_content(tmp_path: Path) -> None:
    root = write_env(tmp_path)
    (root / "tasks" / "type_hello" / "verifier.py").unlink()
    with from_config(root) as env:
        env.reset()
        info = env.step([], mark_done=True)[3]
    assert info["outcome"]["status"] == "broken" and info["outcome"]["blame"] == "content"


def test_overrides_win_over_the_task(tmp_path: Path) -> None:
    source = (
        "import os, time\ndef verify(t, e, i):\n    time.sleep(float(os.environ['NAP']))\n    return {'passed': True}"
    )
    with from_config(write_env(tmp_path, source)) as env:
        env.set_verifier_overrides({"NAP": "0"})
        env.reset()
        assert env.evaluate()["passed"] is True
        env.set_verifier_overrides(environment={"NAP": "50"}, timeout_sec=0.3)
        assert "stopped" in env.evaluate()["outcome"]["story"]
        env.set_verifier_overrides(mode="image_match")
        report = env.evaluate()
        assert report["mode_source"] == "override" and report["outcome"]["blame"] == "content"


def test_image_match_sees_the_final_screen(tmp_path: Path) -> None:
    success = {"mode": "image_match", "spec": {"target": "target.png"}}
    root = write_env(tmp_path, success=success)
    with from_config(root) as env:
        env.reset(seed=1)
        type_text(env, "hello")
        Image.fromarray(np.array(env.runner.capture_frame().array)).save(root / "tasks" / "type_hello" / "target.png")
        assert env.step([], mark_done=True)[3]["outcome"]["status"] == "passed"
        env.reset(seed=2)
        env.step({"mouse": {"left_click_drag": [[2, 2], [60, 40]]}}, settle_after_actions=False)
        info = env.step([], mark_done=True)[3]
        assert info["outcome"]["status"] == "failed" and info["verifier"]["ssim"] < 0.95


def test_the_trajectory_reaches_the_verifier(tmp_path: Path) -> None:
    source = """
    import os
    def verify(traj, env_info, task_info):
        names = lambda paths: [os.path.basename(p) for p in paths]
        return {"passed": True, "frames": names(traj["frames"]), "step_frames": names(traj["step_frames"]),
                "first": os.path.basename(traj["first_frame"]), "last": os.path.basename(traj["last_frame"]),
                "final": os.path.isfile(traj["final_screenshot"]), "post": os.path.isfile(traj["post_verification_screenshot"]),
                "typed": [a["keyboard"]["text"] for s in traj["steps"] for a in s["actions"]],
                "sampled": len(env_info["sample_trajectory_frames"](traj, n=2)), "id": task_info["task_id"],
                "spec": task_info["task_spec"]["description"], "final_is": os.path.basename(env_info["get_final_screenshot"](traj)),
                "env": env_info["env_id"], "dir": traj["episode_dir"] == env_info["episode_dir"]}
    """
    with from_config(write_env(tmp_path, source)) as env:
        env.reset()
        type_text(env, "a")
        type_text(env, "b")
        report = env.step([], mark_done=True)[3]["verifier"]
    assert report["frames"] == [f"frame_0000{n}.png" for n in range(4)]
    assert report["step_frames"] == report["frames"][1:] and report["first"] == "frame_00000.png"
    assert report["last"] == "frame_00003.png" and report["final"] and report["post"]
    assert report["typed"] == ["a", "b"] and report["sampled"] == 2 and report["dir"]
    assert (report["id"], report["spec"], report["final_is"], report["env"]) == (
        "task@1",
        "do it",
        "final.png",
        "fake@1",
    )


def test_fast_episodes_have_frames_for_the_judge_too(tmp_path: Path) -> None:
    source = (
        "def verify(t, e, i): return {'passed': len(e['sample_trajectory_frames'](t)) >= 1, 'first': t['first_frame']}"
    )
    with from_config(write_env(tmp_path, source), fast_io=True) as env:
        env.reset()
        type_text(env, "x")
        report = env.step([], mark_done=True)[3]["verifier"]
    assert report["passed"] and Path(report["first"]).name == "frame_00000.png"


def test_a_guest_command_of_a_verifier_ends_with_it(tmp_path: Path) -> None:
    """L8: a time-out kills the process in the guest too."""
    source = "def verify(t, e, i): return {'passed': bool(e['exec_capture']('sleep 100'))}"
    success = {"spec": {"program": "verifier.py::verify", "timeout_sec": 0.5}}
    env = from_config(write_env(tmp_path, source, success=success, env={"runner_options": {"time_control": False}}))
    with env:
        env.reset()
        began = time.monotonic()
        info = env.step([], mark_done=True)[3]
        assert time.monotonic() - began < 3
        assert info["outcome"]["status"] == "broken" and info["outcome"]["blame"] == "judge"


def test_abort_ends_judging_within_a_second(tmp_path: Path) -> None:
    source = "import time\ndef verify(t, e, i): time.sleep(100)"
    with from_config(write_env(tmp_path, source)) as env:
        env.reset()
        timer = threading.Timer(0.5, env.abort)
        timer.start()
        began = time.monotonic()
        with pytest.raises(Aborted):
            env.step([], mark_done=True)
        assert time.monotonic() - began < 1.6
        timer.join()


PLAYER = """
import sys
sys.path.insert(0, {root!r})
from gym_anything.episode.factory import from_config
env = from_config({env!r})
env.reset()
print("ready", env.episode_dir, flush=True)
try:
    env.step([], mark_done=True)
except KeyboardInterrupt:
    print("interrupted", env.runner.state, flush=True)
"""


def test_ctrl_c_during_the_verdict_leaves_nothing(tmp_path: Path) -> None:
    """L2: interrupt at any point; the verifier and what it started are gone, too."""
    marker = tmp_path / "pids"
    source = f"""
    import os, subprocess, time
    def verify(t, e, i):
        child = subprocess.Popen(["sleep", "98762"], start_new_session=True)
        open({str(marker)!r}, "w").write(f"{{os.getpid()}} {{child.pid}}.")
        time.sleep(1000)
    """
    root = write_env(tmp_path, source)
    code = PLAYER.format(root=str(Path(__file__).parents[3]), env=str(root))
    player = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        wait_until(
            lambda: marker.exists() and marker.read_text().endswith("."),
            deadline=Deadline.after(30),
            awaited="the verifier",
        )
        pids = [int(word) for word in marker.read_text().strip(".").split()]
        player.send_signal(signal.SIGINT)
        output, _ = player.communicate(timeout=20)
        assert "interrupted stopped" in output
        folder = Path(output.split()[1])
        assert json.loads((folder / "summary.json").read_text())["reason"] == "interrupted"
        wait_until(
            lambda: not [p for p in pids if Path(f"/proc/{p}").exists()],
            deadline=Deadline.after(5),
            awaited="their end",
        )
    finally:
        player.kill()
        player.wait()


def prove(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gym_anything.cli.main", "verify", "task", str(root), "type_hello", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ, "COLUMNS": "160"})


def test_verify_task_proves_a_sound_task(tmp_path: Path) -> None:
    """V3: doing nothing does not pass, the solution passes, near misses fail."""
    root = write_env(tmp_path)
    folder = root / "tasks" / "type_hello"
    (folder / "oracle.json").write_text('[{"keyboard": {"text": "hel"}}, [{"keyboard": {"text": "lo"}}]]')
    (folder / "near_miss_case.json").write_text('[{"keyboard": {"text": "Hello"}}]')
    result = prove(root, "--json", "--artifacts", str(tmp_path / "proof"))
    assert result.returncode == 0, result.stdout + result.stderr
    report = json.loads(result.stdout)
    assert report["ok"] and report["has_solution"]
    assert [(a["attempt"], a["status"], a["ok"]) for a in report["attempts"]] == [
        ("do nothing", "failed", True),
        ("oracle.json", "passed", True),
        ("near_miss_case.json", "failed", True),
    ]
    assert all(Path(a["episode_dir"]).parent == tmp_path / "proof" for a in report["attempts"])


def test_verify_task_finds_unsound_tasks(tmp_path: Path) -> None:
    always = "def verify(t, e, i): return {'passed': True, 'feedback': 'fine by me'}"
    lazy = prove(write_env(tmp_path / "always", always))
    assert lazy.returncode == 1 and "fine by me" in lazy.stdout and "NOT OK" in lazy.stdout
    assert "nothing shows that it can be solved" in lazy.stdout
    broken = prove(write_env(tmp_path / "broken", "def verify(t, e, i): 1/0"))
    assert broken.returncode == 1 and "broken (judge)" in broken.stdout
    root = write_env(tmp_path / "unsolvable")
    (root / "tasks" / "type_hello" / "oracle.json").write_text('[{"keyboard": {"text": "bye"}}]')
    assert prove(root).returncode == 1
    (root / "tasks" / "type_hello" / "oracle.json").write_text('[{"mouse": {"left_click": [9999, 0]}}]')
    off_screen = prove(root)
    assert off_screen.returncode == 1 and "9999" in off_screen.stdout
    (root / "tasks" / "type_hello" / "oracle.json").write_text('{"not": "a list"}')
    assert "list of steps" in prove(root).stderr


@pytest.mark.slow
def test_two_hundred_episodes_leave_everything_flat(tmp_path: Path) -> None:
    """200 episodes in one process, judged and recorded: descriptors, threads, processes, temporary files stay flat."""
    import tempfile

    def counts() -> dict[str, int]:
        return {
            "fds": len(list(Path("/proc/self/fd").iterdir())),
            "threads": threading.active_count(),
            "processes": len(proc.descendants(os.getpid())),
            "temporary": len(list(Path(tempfile.gettempdir()).glob("gym-anything-*"))),
            "state": len(list(Run.current().path.rglob("*"))),
        }

    root = write_env(tmp_path, env={"recording": {"enable": True}})
    before: dict[str, int] = {}
    memory_kib = 0
    for number in range(200):
        with from_config(root, fast_io=number % 2 == 0) as env:
            env.reset(seed=number)
            type_text(env, "hello")
            assert env.step([], mark_done=True, settle_after_actions=False)[1] == 1.0
        if number == 20:
            before, memory_kib = counts(), proc.rss_kib(os.getpid())
    wait_until(
        lambda: all(now <= before[name] for name, now in counts().items()),
        deadline=Deadline.after(5),
        awaited="the counts of episode 20",
        status=lambda: f"{counts()} after {before}",
    )
    grown_mib = (proc.rss_kib(os.getpid()) - memory_kib) / 1024
    assert grown_mib < 20, f"memory grew by {grown_mib:.1f} MiB"
