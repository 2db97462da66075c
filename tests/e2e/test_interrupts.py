"""``gym-anything run`` on a real desktop, cut off: by Ctrl-C once and twice, by SIGTERM, by ``kill -9``. Nothing is left.

L2, L3: no process, no state folder, no port; what belongs to others stays.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gym_anything._util import labels, proc
from gym_anything._util.deadline import Deadline
from gym_anything._util.state_dir import Run, run_prefix
from gym_anything._util.waiting import wait_until
from tests.conftest import RequireBackend
from tests.e2e.command_line import CommandLine
from tests.e2e.local_world import require_local_world

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(120)]

END_S = 20.0
"""How long it may take to end everything on a loaded machine; it takes about a second on an idle one."""
AGENT = """
from pathlib import Path
from gym_anything.agents.base import BaseAgent

class Waits(BaseAgent):
    def step(self, obs, action_outputs):
        Path("phase-step").touch()
        self.done = True
        return [{"tool_id": "wait", "actions": [{"action": "wait", "time": self.agent_args["seconds"]}]}]
"""
VERIFIER = """
import time
from pathlib import Path

def verify(traj, env_info, task_info):
    Path(task_info["metadata"]["mark"]).touch()
    env_info["exec_capture"]("sleep %s" % task_info["metadata"]["seconds"])
    return {"passed": True, "score": 100, "feedback": "judged"}
"""


class Playing:
    """One ``gym-anything run`` in a session of its own, with a state folder of its own.

    Attributes:
        process: the command line. vnc_port: the world's port on this host, once ``reach`` saw it.
    """

    def __init__(self, folder: Path, state: Path) -> None:
        self.cli = CommandLine(folder)
        self.cli.environ["GYM_ANYTHING_STATE_DIR"] = str(state)
        self.state = state
        self.folder = folder
        self.vnc_port: int | None = None
        self.process: subprocess.Popen[str] | None = None

    def start(self, **seconds: float) -> None:
        """Start the episode; ``seconds`` says how long each phase lasts: ``reset``, ``step``, ``verify``."""
        task = self.folder / "env" / "tasks" / "stay"
        task.mkdir(parents=True)
        self._sleep = str(seconds.get("reset", 0) + 0.00731)
        spec = {
            "id": "stay_env@1", "base": "debian-desktop", "runner": "local", "recording": {"enable": False},
            "vnc": {"enable": True, "host_port": -1, "password": "secret12"},
            "observation": [{"type": "rgb_screen", "resolution": [640, 480]}],
        }  # fmt: skip
        (self.folder / "env" / "env.json").write_text(json.dumps(spec))
        mark = str(self.folder / "phase-verify")
        document = {
            "id": "stay@1", "description": "stay", "hooks": {"pre_task": f"sleep {self._sleep}"},
            "metadata": {"mark": mark, "seconds": seconds.get("verify", 0)},
            "success": {"spec": {"program": "verifier.py::verify"}},
        }  # fmt: skip
        (task / "task.json").write_text(json.dumps(document))
        (task / "verifier.py").write_text(VERIFIER)
        (self.folder / "staying.py").write_text(AGENT)
        self._said = self.folder / "stderr.txt"
        agent = ("--agent", "staying:Waits", "--agent-arg", f"seconds={seconds.get('step', 0)}")
        with self._said.open("w") as said:
            self.process = subprocess.Popen(
                [*self.cli.program, "run", "env", "--fast-io", *agent],
                cwd=self.folder,
                env=self.cli.environ,
                stdout=subprocess.PIPE,
                stderr=said,
                text=True,
                start_new_session=True,
            )

    def reach(self, phase: str) -> None:
        """Wait until the episode is in this phase."""
        wait_until(lambda: self._is_in(phase), deadline=Deadline.after(60), awaited=phase, status=self._status)
        for trajectory in self.folder.rglob("traj.jsonl"):
            events = [json.loads(line) for line in trajectory.read_text(encoding="utf-8").splitlines()]
            self.vnc_port = next((event["vnc_port"] for event in events if event["event"] == "session"), None)
        assert phase == "reset" or self.vnc_port, "the world has a port on this host, to be closed in the end"

    def _is_in(self, phase: str) -> bool:
        assert self.process is not None and self.process.poll() is None, self._status()
        if phase != "reset":
            return (self.folder / f"phase-{phase}").exists()
        return any(proc.command_line(pid) == ["sleep", self._sleep] for pid in self.processes())

    def _status(self) -> str:
        assert self.process is not None
        return str(self.end() if self.process.poll() is not None else self.processes())

    def processes(self) -> set[int]:
        """Return everything that carries a label of a run below our state folder."""
        prefix = run_prefix(self.state)
        found = {pid: labels.label_of_process(pid) for pid in proc.pids()}
        return {pid for pid, label in found.items() if label is not None and label.run.startswith(prefix)}

    def hears(self, words: str) -> None:
        """Wait until the command line has said so."""
        wait_until(
            lambda: words in self._said.read_text(encoding="utf-8"), deadline=Deadline.after(30), awaited=f"{words!r}"
        )

    def press_ctrl_c(self) -> None:
        """Send SIGINT as a terminal does, to the whole process group, and wait until it was answered."""
        assert self.process is not None
        before = self._said.stat().st_size
        os.killpg(self.process.pid, signal.SIGINT)
        wait_until(
            lambda: self._said.stat().st_size > before, deadline=Deadline.after(END_S), awaited="an answer to Ctrl-C"
        )

    def end(self) -> tuple[int, str, str]:
        """Wait for the end of the command line."""
        assert self.process is not None
        out, _ = self.process.communicate(timeout=END_S)
        return self.process.returncode, out, self._said.read_text(encoding="utf-8")

    def expect_nothing_left(self) -> None:
        """Wait until no process is there, then look for folders and the port."""
        waiting = {"deadline": Deadline.after(END_S), "awaited": "the end of all processes"}
        wait_until(lambda: not self.processes(), status=lambda: str(self.processes()), **waiting)  # type: ignore[arg-type]
        assert list(self.state.glob("r*")) == []
        if self.vnc_port is not None:
            with socket.socket() as sock, pytest.raises(ConnectionRefusedError):
                sock.connect(("127.0.0.1", self.vnc_port))


@pytest.fixture
def playing(tmp_path: Path, require_backend: RequireBackend) -> Iterator[Playing]:
    require_local_world(require_backend)
    state = Path(tempfile.mkdtemp(prefix="ga-e2e-"))
    played = Playing(tmp_path, state)
    try:
        yield played
    finally:
        if played.process is not None:
            played.process.kill()
            played.process.communicate()
        shutil.rmtree(state, ignore_errors=True)


@pytest.mark.parametrize("phase", ["reset", "step", "verify"])
def test_ctrl_c_once_ends_the_episode_which_is_judged_as_it_stands(playing: Playing, phase: str) -> None:
    playing.start(**{phase: 1.5})
    playing.reach(phase)
    playing.press_ctrl_c()
    code, out, err = playing.end()
    assert (code, out.split()[0]) == (130, "PASSED"), (out, err)
    assert "judged as it stands" in err
    playing.expect_nothing_left()


@pytest.mark.parametrize("phase", ["reset", "step", "verify"])
@pytest.mark.parametrize("how", ["ctrl-c twice", "SIGTERM"])
def test_a_second_ctrl_c_or_sigterm_stops_now(playing: Playing, phase: str, how: str) -> None:
    playing.start(**{phase: 90.0})
    playing.reach(phase)
    if how == "SIGTERM":
        assert playing.process is not None
        playing.process.terminate()
    else:
        playing.press_ctrl_c()
        playing.hears("Press Ctrl-C again")  # two signals that wait together count as one
        playing.press_ctrl_c()
    code, out, err = playing.end()
    assert (code, out) == (130, ""), (out, err)
    assert "stopped; there is no result" in err and "Traceback" not in err
    assert list(playing.folder.rglob("info.json")) == []
    playing.expect_nothing_left()


def test_kill_9_at_random_points_is_cleaned_up_and_others_are_left_alone(playing: Playing) -> None:
    """L3: a collection finds only our own left-overs."""
    chance = random.Random(20)
    alike = subprocess.Popen(["bash", "-c", "exec -a Xvnc sleep 300"])
    ours = Run(playing.state)  # of this process, which lives: as another program of the same user would have one
    world = ours.new_world("local")
    foreign = playing.state / "notes"
    foreign.mkdir()
    try:
        for _ in range(3):  # a hundred for each kind of world: tests/bench/figure_kills.py
            playing.start(step=60.0)
            assert playing.process is not None
            after_s = chance.uniform(0.05, 2.5)
            killed_at = Deadline.after(after_s)
            wait_until(killed_at.expired, deadline=Deadline.after(after_s + 5), awaited="the moment of the kill")
            playing.process.kill()
            playing.end()
            report = _collect(playing)
            assert report["ok"], report
            assert {path.name for path in playing.state.iterdir()} == {ours.id, "notes"}
            shutil.rmtree(playing.folder / "env")
        assert alike.poll() is None and world.path.is_dir()
    finally:
        ours.close()
        alike.kill()
        alike.wait()


def _collect(playing: Playing) -> Any:
    """Collect until nothing of a dead run is left: its end may still be under way at the first look."""
    began = time.monotonic()
    while True:
        report = playing.cli.json("cache", "gc")
        if not report["orphans"] and not playing.processes():
            return report
        assert time.monotonic() - began < END_S, (report, playing.processes())
