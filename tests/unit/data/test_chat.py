"""A trajectory as a conversation: what is said by whom, and what a model must not learn from it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gym_anything.actions.coords import PictureSpace
from gym_anything.agents.builtin.vision_chat.plain_json import PlainJsonGrammar
from gym_anything.benchmark.episode_record import EpisodeRecord
from gym_anything.data.chat import Conversation, conversation
from gym_anything.data.trajectory import Trajectory, TrajectoryStep
from gym_anything.episode.limits import COMPLETED
from gym_anything.episode.outcome import Outcome

pytestmark = pytest.mark.unit

CLICK = {"mouse": {"left_click": [10, 20]}}
CLOSED = TrajectoryStep(0, 0.0, [], mark_done=True)


def trajectory(*steps: TrajectoryStep, reason: str | None = COMPLETED, interrupted: bool = False) -> Trajectory:
    record = EpisodeRecord({"env": "e", "task": "t"}, Outcome.passed(100), reason=reason, interrupted=interrupted)
    shown = []
    for number, step in enumerate(steps, 1):
        before, after = Path(f"frame_{number - 1:05d}.png"), Path(f"frame_{number:05d}.png")
        facts = {name: getattr(step, name) for name in ("actions", "metadata", "error", "mark_done")}
        shown.append(TrajectoryStep(number, 0.0, before=before, after=None if step.error else after, **facts))
    return Trajectory("id", "run", "exp", record, "Do it", "e@1", "t@1", (64, 48), tuple(shown))


def said(talk: Conversation | None) -> list[dict[str, Any]]:
    assert talk is not None
    return [json.loads(m["content"][0]["text"]) for m in talk.messages if m["role"] == "assistant"]


def step(*actions: Any, **facts: Any) -> TrajectoryStep:
    return TrajectoryStep(0, 0.0, list(actions), **facts)


def test_the_user_shows_the_screen_and_the_assistant_answers() -> None:
    talk = conversation(trajectory(step(CLICK, metadata={"thought": "there"}), step(CLICK), CLOSED))
    assert talk is not None
    assert [m["role"] for m in talk.messages] == ["system", *["user", "assistant"] * 3]
    assert "64 wide and 48 high" in talk.messages[0]["content"][0]["text"]
    assert talk.messages[1]["content"] == [{"type": "text", "text": "The task: Do it"}, {"type": "image"}]
    assert talk.messages[3]["content"] == [{"type": "image"}]
    assert [path.name for path in talk.pictures] == ["frame_00000.png", "frame_00001.png", "frame_00002.png"]
    assert said(talk) == [
        {"thought": "there", "actions": [CLICK], "done": False},
        {"thought": "", "actions": [CLICK], "done": False},
        {"thought": "", "actions": [], "done": True},
    ]
    assert (talk.turns, talk.refused, talk.missing) == (3, 0, 0)


def test_the_vision_agents_own_grammar_reads_every_answer() -> None:
    drag = {"mouse": {"left_click_drag": [[1, 2], [30, 40]]}}
    keys = {"keyboard": {"keys": ["ctrl", "s"]}}
    talk = conversation(trajectory(step(CLICK, drag), step(keys, {"action": "wait", "time": 2}), CLOSED))
    assert talk is not None
    grammar, space = PlainJsonGrammar((64, 48)), PictureSpace(64, 48)
    answers = [m["content"][0]["text"] for m in talk.messages if m["role"] == "assistant"]
    read = [grammar.parse(answer, space, (64, 48)) for answer in answers]
    assert [each.actions for each in read[:1]] == [[CLICK, drag]]
    assert read[1].actions[0] == {"keyboard": {"keys": ["Control_L", "s"]}} and [each.finished for each in read] == [
        None,
        None,
        "answer",
    ]


@pytest.mark.parametrize(
    ("reason", "interrupted"), [("max_steps", False), ("timeout", False), ("stopped", True), (COMPLETED, True)]
)
def test_an_end_that_was_not_the_agents_is_nothing_to_learn(reason: str, interrupted: bool) -> None:
    talk = conversation(trajectory(step(CLICK), CLOSED, reason=reason, interrupted=interrupted))
    assert [answer["done"] for answer in said(talk)] == [False]


def test_a_models_last_words_are_its_end_and_a_spent_budget_is_none() -> None:
    last = step(metadata={"thought": "it is saved", "stopped_by": "answer"})
    assert said(conversation(trajectory(step(CLICK), last, CLOSED)))[1:] == [
        {"thought": "it is saved", "actions": [], "done": True}
    ]
    spent = step(metadata={"stopped_by": "budget", "story": "the budget is spent"})
    answers = said(conversation(trajectory(step(CLICK), spent, CLOSED)))
    assert [answer["done"] for answer in answers] == [False]


def test_a_refused_action_is_told_to_the_model() -> None:
    refused = step({"mouse": {"left_click": [900, 20]}}, error={"code": "x", "message": "off the screen"})
    talk = conversation(trajectory(refused, step(CLICK), CLOSED))
    assert talk is not None and talk.refused == 1
    assert talk.messages[3]["content"][0]["text"] == "The last action was refused and not done: off the screen"
    assert said(talk)[0]["actions"] == [{"mouse": {"left_click": [900, 20]}}], "as it was sent"


def test_an_action_has_one_form_however_it_was_sent() -> None:
    talk = conversation(trajectory(step({"keyboard": {"keys": "ctrl+s"}}), step({"mouse": {"left_click": [10.0, 20]}})))
    assert [answer["actions"] for answer in said(talk)] == [[{"keyboard": {"keys": ["Control_L", "s"]}}], [CLICK]]


def test_nothing_done_or_nothing_asked_is_no_conversation() -> None:
    assert conversation(trajectory()) is None
    assert conversation(trajectory(CLOSED)) is None
    whole = trajectory(step(CLICK))
    unknown = Trajectory(*[None if name == "prompt" else getattr(whole, name) for name in whole.__slots__])  # type: ignore[arg-type]
    assert conversation(unknown) is None
