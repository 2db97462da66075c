"""``examples/data_generation.py``: on fake worlds, and (soak) as it stands in its help on local desktops."""

from __future__ import annotations

import importlib.util
import json
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from gym_anything.agents.base import BaseAgent
from gym_anything.data.sft import read_sft
from gym_anything.errors import WorldLost
from gym_anything.testing.fakes.world import FakeWorld
from tests.conftest import RequireBackend
from tests.e2e.local_world import require_local_world
from tests.unit.episode.fake_envs import FAKE, env_spec

pytestmark = [pytest.mark.real, pytest.mark.timeout(120)]

EXAMPLE = Path(__file__).parents[2] / "examples" / "data_generation.py"
VERIFIER = """
def verify(traj, env_info, task_info):
    typed = env_info["exec_capture"]("cat /home/ga/typed.txt")
    return {"passed": typed == task_info["metadata"]["word"], "score": 100 if typed else 0, "feedback": repr(typed)}
"""


class OnceLost(FakeWorld):
    """The first of these worlds is lost at its first input."""

    left = 1

    def inject_action(self, action: dict[str, Any]) -> Any:
        if OnceLost.left:
            OnceLost.left -= 1
            self.lose("it fell over")
            raise WorldLost("the fake world fell over")
        return super().inject_action(action)


class Meeting(BaseAgent):
    """Thinks until another one of its kind thinks, too, and is then done; it lives in one thread."""

    both = threading.Barrier(2, timeout=30)

    def init(self, task_description: str, display_resolution: tuple[int, int], save_path: str) -> None:
        self.thread = threading.current_thread()

    def step(self, obs: Any, action_outputs: Any) -> list[dict[str, Any]]:
        assert threading.current_thread() is self.thread is not threading.main_thread()
        Meeting.both.wait()
        self.done = True
        return []


def example() -> Any:
    spec = importlib.util.spec_from_file_location("data_generation", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["data_generation"] = module
    spec.loader.exec_module(module)
    return module


def environment(folder: Path, runner: str = FAKE) -> Path:
    place = folder / "words"
    options = {"time_control": True, "fast_io": True}
    spec = env_spec(folder, runner=runner, runner_options=options)
    for word in ("one", "two"):
        task = place / "tasks" / word
        task.mkdir(parents=True)
        judge = {"mode": "program", "spec": {"program": "verifier.py::verify"}}
        facts = {"id": f"{word}@1", "description": f"write {word}", "success": judge, "metadata": {"word": word}}
        (task / "task.json").write_text(json.dumps(facts))
        (task / "verifier.py").write_text(VERIFIER)
        (task / "oracle.json").write_text(json.dumps([{"keyboard": {"text": word}}]))
    (place / "env.json").write_text(json.dumps(spec))
    return place


def index(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "index.jsonl").read_text().splitlines()]


def test_every_agent_plays_and_the_episodes_stay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    given = ["--env", str(environment(tmp_path)), "--agents", "oracle,random:3", "--replicas", "2", "--out", str(out)]
    assert example().main([*given, "--tasks", "one", "--json"]) == 0
    lines = index(out)
    played = sorted((line["agent"], line["task"], line["seed"]) for line in lines)
    assert played == [("oracle", "one", 1), ("random", "one", 1), ("random", "one", 2)]
    assert [line["status"] for line in lines if line["agent"] == "oracle"] == ["passed"]
    assert all(line["steps"] == 3 and line["status"] == "failed" for line in lines if line["agent"] == "random")
    for line in lines:
        kept = {path.name for path in (out / line["episode_dir"]).iterdir()}
        assert {"traj.jsonl", "summary.json", "final.png"} <= kept
    found = json.loads(capsys.readouterr().out)
    assert found["episodes"] == found["trajectories"] == 3
    assert "2 replicas of fake@1" in found["conditions"]
    assert json.loads((out / "cost.json").read_text()) == found
    (solved,) = read_sft(out / "sft")
    assert (solved["agent"], solved["task"], solved["prompt"]) == ("oracle", "one", "write one")
    answers = [json.loads(each["content"][0]["text"]) for each in solved["messages"] if each["role"] == "assistant"]
    assert answers[0]["actions"] == [{"keyboard": {"text": "one"}}] and answers[-1]["done"] is True
    assert len(solved["images"]) == len(answers) and all((out / "sft" / image).is_file() for image in solved["images"])


def test_agents_think_side_by_side(tmp_path: Path) -> None:
    out, place = tmp_path / "out", environment(tmp_path)
    given = ["--env", str(place), "--agents", f"{__name__}:Meeting", "--tasks", "one", "--replicas", "2"]
    assert example().main([*given, "--out", str(out)]) == 0
    assert [line["status"] for line in index(out)] == ["failed"] * 2, "both thought at once, and did nothing"


def test_a_lost_world_costs_a_masked_attempt_and_no_episode(tmp_path: Path) -> None:
    OnceLost.left = 1
    out, place = tmp_path / "out", environment(tmp_path, f"{__name__}:OnceLost")
    given = ["--env", str(place), "--agents", "oracle", "--replicas", "1", "--out", str(out)]
    assert example().main(given) == 0
    lines = index(out)
    assert [line["status"] for line in lines] == ["passed", "passed"]
    attempts = [attempt for line in lines for attempt in line["attempts"]]
    assert sorted(attempt["masked"] for attempt in attempts) == [False, False, True]


def test_bad_input_is_said_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module = example()
    assert module.main(["--env", "nowhere", "--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith("error: ") and not list(tmp_path.iterdir())
    assert module.main(["--agents", "nobody", "--out", str(tmp_path)]) == 2
    with pytest.raises(SystemExit):
        module.main(["--replicas", "0"])


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_it_runs_as_its_help_says_on_local_desktops(tmp_path: Path, require_backend: RequireBackend) -> None:
    require_local_world(require_backend)
    command = [sys.executable, str(EXAMPLE), "--replicas", "3", "--per-task", "1", "--runner", "local"]
    done = subprocess.run([*command, "--out", str(tmp_path / "out"), "--json"], stdout=subprocess.PIPE, timeout=800)
    assert done.returncode == 0
    lines = index(tmp_path / "out")
    assert {line["status"] for line in lines if line["agent"] == "oracle"} == {"passed"}
    assert json.loads(done.stdout)["memory_mib_per_replica"] < 400


@pytest.mark.soak
@pytest.mark.timeout(300)
def test_an_interrupt_keeps_what_was_played(tmp_path: Path) -> None:
    place, out = environment(tmp_path, "gym_anything.testing.fakes.misbehaving:SlowWorld"), tmp_path / "out"
    given = ["--env", str(place), "--agents", "random:400", "--replicas", "1", "--out", str(out)]
    started = subprocess.Popen([sys.executable, str(EXAMPLE), *given], stderr=subprocess.PIPE, text=True)
    with pytest.raises(subprocess.TimeoutExpired):
        started.wait(5)
    started.send_signal(signal.SIGINT)
    _, said = started.communicate(timeout=60)
    assert started.returncode == 130 and "stopped" in said.splitlines()[-1]
