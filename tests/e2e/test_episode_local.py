"""Whole episodes on real desktops: set up by hooks, played, exported, judged, recorded; fresh and restored."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import av
import numpy as np
import pytest

from gym_anything._util import proc
from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.episode.factory import from_config
from gym_anything.errors import ActionError
from gym_anything.runtime.runners.facts import runner_status
from gym_anything.runtime.runners.registry import resolve_runner
from gym_anything.verification.fork_server import ForkServer
from tests.conftest import RequireBackend

pytestmark = [pytest.mark.real, pytest.mark.timeout(180)]

INSTALL = """
#!/bin/bash
set -eu
sudo -n mkdir -p /opt/noted
whoami > /opt/noted/installed_by
echo "$GREETING" > /opt/noted/greeting
"""
SETUP = """
#!/bin/bash
set -eu
test -f /opt/noted/installed_by
rm -f /home/ga/note.txt
sudo -u ga -E env HOME=/home/ga DISPLAY=:1 setsid xterm -geometry 100x30+200+150 -e sh -c 'cat > /home/ga/note.txt' \
    > /tmp/xterm.log 2>&1 < /dev/null &
window=$(timeout 60 xdotool search --sync --onlyvisible --class xterm | tail -n 1)
xdotool windowactivate --sync "$window"
"""
EXPORT = """
#!/bin/bash
python3 - <<'PY'
import json, os
path = "/home/ga/note.txt"
text = open(path, encoding="utf-8").read() if os.path.exists(path) else None
json.dump({"text": text, "by": open("/opt/noted/installed_by").read().strip()}, open("/tmp/result.json", "w"))
PY
"""
VERIFIER = """
import json, os, tempfile

def verify(traj, env_info, task_info):
    with tempfile.NamedTemporaryFile(suffix=".json", delete=False) as temporary:
        pass
    try:
        env_info["copy_from_env"]("/tmp/result.json", temporary.name)
        with open(temporary.name, encoding="utf-8") as file:
            result = json.load(file)
    finally:
        os.unlink(temporary.name)
    greeting = env_info["exec_capture"]("cat /opt/noted/greeting").strip()
    passed = result["text"] == task_info["metadata"]["expected"] and result["by"] == "root" and greeting == "grüß dich"
    return {"passed": passed, "score": 100 if passed else 0, "feedback": repr(result)}
"""
TEXT = 'Grüße; "quoted" $HOME && 日本'


@pytest.fixture
def env_dir(tmp_path: Path, require_backend: RequireBackend) -> Path:
    """Write an environment in the shape that public ones have."""
    status = runner_status(resolve_runner("local"))
    require_backend("local", status.available, status.reason or "")
    ForkServer.shared().warm_up()  # one for the whole process: no test leaves it behind
    root = tmp_path / "noted env"
    task = root / "tasks" / "note"
    task.mkdir(parents=True)
    (root / "scripts").mkdir()
    spec = {
        "id": "noted@0.1",
        "base": "debian-desktop",
        "runner": "local",
        "observation": [{"type": "rgb_screen", "resolution": [1024, 768], "fps": 10}],
        "mounts": [
            {"source": "scripts", "target": "/workspace/scripts", "mode": "ro"},
            {"source": "tasks", "target": "/workspace/tasks", "mode": "ro"},
        ],
        "hooks": {
            "pre_start": "export GREETING='grüß dich' && bash -l /workspace/scripts/install.sh | tee /tmp/install.log",
            "post_start": "/workspace/scripts/ready.sh",
        },
        "recording": {"output_dir": str(tmp_path / "artifacts")},
    }
    (root / "env.json").write_text(json.dumps(spec), encoding="utf-8")
    task_spec = {
        "id": "note@1",
        "description": "write the note",
        "init": {"max_steps": 20, "timeout_sec": 120},
        "hooks": {
            "pre_task": "/workspace/tasks/note/setup_task.sh",
            "post_task": "/workspace/tasks/note/export_result.sh",
        },
        "success": {"mode": "program", "spec": {"program": "verifier.py::verify"}},
        "metadata": {"expected": TEXT + "\n"},
        "extras": {"post_task_settle_sec": 0},
    }
    (task / "task.json").write_text(json.dumps(task_spec), encoding="utf-8")
    for path, source in (
        (root / "scripts" / "install.sh", INSTALL),
        (root / "scripts" / "ready.sh", "#!/bin/bash\ntouch /home/ga/ready && chown ga /home/ga/ready\n"),
        (task / "setup_task.sh", SETUP),
        (task / "export_result.sh", EXPORT),
        (task / "verifier.py", VERIFIER),
    ):
        path.write_text(dedent(source).lstrip(), encoding="utf-8")
        path.chmod(0o755)
    return root


def write_note(env: Any) -> Any:
    """Type the note into the terminal and end its input."""
    env.step([{"keyboard": {"text": TEXT + "\n"}}, {"keyboard": {"keys": ["ctrl", "d"]}}, {"action": "settle"}])
    return env.step([], mark_done=True)


@pytest.mark.parametrize("fast_io", [True, False])
def test_an_episode_is_set_up_played_judged_and_recorded(env_dir: Path, fast_io: bool, no_leaks: Any) -> None:
    """T1, T2: text is data, any Unicode arrives; a verifier reads ground truth."""
    with from_config(env_dir, fast_io=fast_io) as env:
        first = env.reset(seed=1)["screen"]
        assert first["resolution"] == [1024, 768]
        _, reward, done, info = write_note(env)
        assert done and info["outcome"]["status"] == "passed", info["outcome"]["story"]
        assert reward == 1.0 and not env.warnings
        folder = env.episode_dir
    assert folder is not None
    names = {path.name for path in folder.iterdir()}
    assert {"traj.jsonl", "summary.json", "frame_00000.png", "final.png", "recording.mp4"} <= names
    with av.open(str(folder / "recording.mp4")) as video:
        pictures = [frame.reformat(format="rgb24", threads=1).to_ndarray() for frame in video.decode(video=0)]
    assert pictures[0].shape == (768, 1024, 3) and len(pictures) >= 2
    assert np.abs(pictures[0].astype(int) - pictures[-1].astype(int)).mean() > 0.05, "something was seen to happen"


def test_settle_pacing_waits_for_the_world_instead_of_sleeping(env_dir: Path, no_leaks: Any) -> None:
    """S3: a step returns when the terminal shows what was typed, or says that the bound passed."""
    with from_config(env_dir, fast_io=True, pacing="settle") as env:
        before = np.asarray(env.reset()["screen"]["image"]).astype(int)
        observation, _, _, info = env.step({"keyboard": {"text": TEXT + "\n"}})
        assert info["settle"]["settled"], "a terminal comes to rest"
        assert 100 <= info["settle"]["waited_ms"] < 2000 and info["timings"]["pacing_s"] < 2.0
        assert (np.abs(np.asarray(observation["screen"]["image"]).astype(int) - before) > 60).any(), "it is seen"
        env.step({"keyboard": {"keys": ["ctrl", "d"]}})
        assert env.step([], mark_done=True)[3]["outcome"]["status"] == "passed"


def test_the_resolution_may_change_within_an_episode(env_dir: Path, no_leaks: Any) -> None:
    """What is seen, what can be clicked and what a settle leaves out follow; the recording goes on."""
    corner = [980, 740, 44, 28]
    with from_config(env_dir, fast_io=True, pacing="settle", settle_ignore=[corner]) as env:
        env.reset()
        assert env.runner.screen_size() == (1024, 768)
        assert env.runner.exec("DISPLAY=:1 xrandr -s 800x600") == 0
        screen = env.step({"action": "settle", "ignore": [[0, 0, 10, 10]]})[0]["screen"]
        assert screen["resolution"] == [800, 600] and screen["array"].shape == (600, 800, 3)
        info = env.step({"mouse": {"left_click": [799, 599]}})[3]
        assert corner in info["settle"]["ignored"]
        with pytest.raises(ActionError, match="800x600"):
            env.step({"mouse": {"left_click": [800, 10]}})
        with pytest.raises(ActionError, match="800x600"):
            env.step([], settle_ignore=[corner])
        folder = env.episode_dir
    assert folder is not None
    with av.open(str(folder / "recording.mp4")) as video:
        assert next(video.decode(video=0)).width == 1024


def test_restored_episodes_agree_with_fresh_ones(env_dir: Path, no_leaks: Any) -> None:
    """K7: what the checkpoint holds is there, the task starts afresh."""
    with from_config(env_dir, fast_io=True) as env:
        for level in ("pre_start", "post_start", "post_start"):
            env.reset(use_cache=True, cache_level=level)  # type: ignore[arg-type]
            info = write_note(env)[3]
            assert info["outcome"]["status"] == "passed", info["outcome"]["story"]
        assert env.episode_dir is not None
        summary = json.loads((env.episode_dir / "summary.json").read_text())
        assert summary["restored_from"] == "post_start"
        env.reset(use_cache=True, cache_level="post_start")
        assert env.step([], mark_done=True)[3]["outcome"]["status"] == "failed", "doing nothing does not pass"


def test_a_world_killed_from_outside_ends_the_episode_as_a_value(env_dir: Path, no_leaks: Any) -> None:
    """L9: a dead world is not blamed on the agent."""
    with from_config(env_dir, fast_io=True) as env:
        env.reset()
        servers = [p for p in proc.descendants(os.getpid()) if "Xvnc" in " ".join(proc.command_line(p)[:1])]
        assert len(servers) == 1
        os.kill(servers[0], signal.SIGKILL)
        observation, reward, done, info = env.step({"mouse": {"left_click": [5, 5]}})
        assert done and observation == {} and reward == 0.0
        assert info["outcome"]["status"] == "broken" and info["outcome"]["blame"] == "world", info["outcome"]
        env.reset()
        assert write_note(env)[3]["outcome"]["status"] == "passed", "the next one has a new world"


PLAYER = """
from gym_anything import from_config
import sys
env = from_config({env!r}, fast_io=True)
try:
    env.reset()
    print("ready", flush=True)
    env.step({{"action": "wait", "time": 100}})
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("when", ["start", "step"])
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL, signal.SIGTERM])
def test_whatever_ends_the_owner_nothing_is_left(env_dir: Path, how: signal.Signals, when: str) -> None:
    """L2: interrupt, terminate and kill, while the world starts and while it is used."""
    player = subprocess.Popen(
        [sys.executable, "-c", PLAYER.format(env=str(env_dir))], stdout=subprocess.PIPE, text=True
    )
    try:
        if when == "step":
            assert player.stdout is not None and player.stdout.readline() == "ready\n"
        else:
            wait_until(
                lambda: len(proc.descendants(player.pid)) >= 3, deadline=Deadline.after(60), awaited="a world starting"
            )
        started = proc.descendants(player.pid)
        player.send_signal(how)
        output, _ = player.communicate(timeout=30)
        assert how != signal.SIGINT or "interrupted" in output
        wait_until(
            lambda: not [pid for pid in started if Path(f"/proc/{pid}").exists()],
            deadline=Deadline.after(15),
            awaited="the end of every process",
            status=lambda: str([pid for pid in started if Path(f"/proc/{pid}").exists()]),
        )
    finally:
        player.kill()
        player.wait()
