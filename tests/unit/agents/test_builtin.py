"""The bundled agents by themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gym_anything.actions.parse import parse_actions
from gym_anything.agents.base import BaseAgent
from gym_anything.agents.builtin.noop import NoopAgent
from gym_anything.agents.builtin.oracle import OracleAgent
from gym_anything.agents.builtin.random_clicks import RandomAgent
from gym_anything.errors import BenchmarkError

pytestmark = pytest.mark.unit

SCREEN = (640, 480)


def started(agent: BaseAgent, tmp_path: Path, **context: Any) -> BaseAgent:
    agent.on_episode_start({"env_id": "e", "task_id": "t", "seed": 1, "attempt": 0, **context})
    agent.init("do it", SCREEN, str(tmp_path))
    return agent


def played(agent: BaseAgent, *, at_most: int = 50) -> list[Any]:
    turns: list[Any] = []
    while not agent.done and len(turns) < at_most:
        turns += agent.step({}, [])
    return [turn["actions"] for turn in turns]


def test_noop_looks_and_stops(tmp_path: Path) -> None:
    assert played(started(NoopAgent(), tmp_path)) == [[{"action": "screenshot"}]]
    assert len(played(started(NoopAgent({"steps": 3}), tmp_path))) == 3


def test_random_repeats_itself_for_the_same_seed_and_stays_on_the_screen(tmp_path: Path) -> None:
    one, same = (played(started(RandomAgent(), tmp_path)) for _ in range(2))
    other = played(started(RandomAgent(), tmp_path, seed=2))
    assert one == same != other
    assert len({json.dumps(actions) for actions in one}) > 20
    for actions in one:
        parse_actions(actions, screen=SCREEN)
    assert len(played(started(RandomAgent({"steps": 3}), tmp_path))) == 3


def test_the_oracle_plays_its_file_step_by_step(tmp_path: Path) -> None:
    steps = [{"keyboard": {"text": "a"}}, [{"mouse": {"left_click": [1, 2]}}, {"action": "settle"}]]
    (tmp_path / "oracle.json").write_text(json.dumps(steps), "utf-8")
    (tmp_path / "near_miss_1.json").write_text(json.dumps(steps[:1]), "utf-8")
    assert played(started(OracleAgent(), tmp_path, task_root=str(tmp_path))) == [[steps[0]], steps[1]]
    near = OracleAgent({"solution": "near_miss_1.json"})
    assert played(started(near, tmp_path, task_root=str(tmp_path))) == [[steps[0]]]


@pytest.mark.parametrize(
    "content", [None, "{", "{}", "[3]", '[{"mouse": {"left_click": [9999, 0]}}]', '[{"mouse": {"lft_click": [1, 0]}}]']
)
def test_a_missing_or_wrong_solution_is_the_contents_fault(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "oracle.json").write_text(content, "utf-8")
    with pytest.raises(BenchmarkError, match=r"oracle\.json") as caught:
        started(OracleAgent(), tmp_path, task_root=str(tmp_path))
    assert caught.value.blame == "content"


def test_a_refused_solution_step_is_an_error_not_a_shrug(tmp_path: Path) -> None:
    (tmp_path / "oracle.json").write_text('[{"keyboard": {"text": "a"}}, {"keyboard": {"text": "b"}}]', "utf-8")
    agent = started(OracleAgent(), tmp_path, task_root=str(tmp_path))
    agent.step({}, [])
    with pytest.raises(BenchmarkError, match="step 0"):
        agent.step({}, [{"action": "error", "output": "no keyboard", "tool_id": "solution_0"}])


def test_without_a_task_folder_the_oracle_says_so(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match="no folder"):
        started(OracleAgent(), tmp_path)


def test_only_the_oracle_asks_for_the_tasks_folder() -> None:
    assert OracleAgent.wants_task_root
    assert not any(cls.wants_task_root for cls in (BaseAgent, NoopAgent, RandomAgent))


def test_an_agent_without_step_says_what_to_write() -> None:
    with pytest.raises(NotImplementedError, match=r"step\(\)"):
        BaseAgent().step({}, [])
