"""The thread an agent lives in, and the environment it is lent."""

from __future__ import annotations

import math
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything.benchmark.agent_thread import AgentThread, EpisodeStop, StopRequested
from gym_anything.benchmark.borrowed_env import BorrowedEnv
from gym_anything.benchmark.phases import AGENT_GRACE_S, PhaseLimits, asked_wait_s, phase_limits
from gym_anything.benchmark.turn_watch import TurnWatch
from gym_anything.errors import ActionError, AgentError, AgentTimedOut, StateError
from gym_anything.specs.env_spec import EnvSpec
from gym_anything.specs.task_spec import TaskSpec
from tests.unit.benchmark.small_benchmark import ENV

pytestmark = pytest.mark.unit


def test_calls_run_in_one_thread_and_bring_results_and_errors_back() -> None:
    thread = AgentThread(EpisodeStop())
    soon = Deadline.after(20)
    idents = {thread.call(threading.get_ident, doing="x", deadline=soon) for _ in range(3)}
    assert len(idents) == 1
    assert threading.get_ident() not in idents
    with pytest.raises(ZeroDivisionError):
        thread.call(lambda: 1 / 0, doing="x", deadline=soon)
    for kind in (SystemExit, KeyboardInterrupt):
        with pytest.raises(AgentError, match=kind.__name__):
            thread.call(raiser(kind("3")), doing="step()", deadline=soon)
    thread.end()


def raiser(error: BaseException) -> Any:
    def call(*_: Any) -> None:
        raise error

    return call


def test_a_call_that_hangs_is_left_behind_and_no_other_is_begun() -> None:
    """V5: a hung agent is stopped at its deadline."""
    release, begun = threading.Event(), []
    thread = AgentThread(EpisodeStop())
    with pytest.raises(AgentTimedOut, match=r"step\(\)"):
        thread.call(release.wait, doing="step()", deadline=Deadline.after(0.02))
    with pytest.raises(AgentTimedOut, match="still hangs"):
        thread.call(lambda: begun.append(1), doing="finish()", deadline=Deadline.after(20))
    release.set()
    assert begun == []


def test_a_wish_to_stop_ends_the_wait_at_once() -> None:
    release, stop = threading.Event(), EpisodeStop()
    thread = AgentThread(stop)
    threading.Timer(0.02, stop.set).start()
    with pytest.raises(StopRequested):
        thread.call(release.wait, doing="step()", deadline=Deadline.never())
    release.set()


class Env:
    """Counts; the least that can be lent."""

    max_steps = 5

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def step(self, actions: Any, mark_done: bool = False) -> tuple[Any, float, bool, dict[str, Any]]:
        self.calls.append((actions, mark_done))
        return {}, 0.5, mark_done, {"step": len(self.calls)}

    def capture_observation(self) -> str:
        return "seen"

    def reset(self) -> None:
        self.calls.append("reset")


def test_a_lent_environment_passes_calls_on_and_remembers_the_last_step() -> None:
    env, counted = Env(), []
    lent = BorrowedEnv(env, on_step=counted.append)
    assert lent.capture_observation() == "seen"
    assert lent.max_steps == 5
    lent.step([{"action": "screenshot"}])
    assert (lent.steps, lent.last_info, lent.last_reward, lent.is_done, counted) == (1, {"step": 1}, 0.5, False, [1])
    with lent:
        pass
    lent.close()
    assert env.calls[1:] == [([], True)]
    assert lent.is_done


OWNERS = [
    "reset", "warm_up", "abort", "set_task", "set_episode_limits", "set_roots", "set_verifier_overrides", "set_reporter",
]  # fmt: skip
JUDGES = ["evaluate", "task_root", "env_root", "task_spec", "runner", "fork"]


@pytest.mark.parametrize("name", [*OWNERS, *JUDGES])
def test_what_is_the_owners_is_refused_and_blamed_on_the_agent(name: str) -> None:
    """V4: an agent has no say over its own judge."""
    with pytest.raises(StateError) as caught:
        getattr(BorrowedEnv(Env()), name)
    assert caught.value.blame == "policy"
    assert ("wants_task_root" in str(caught.value)) == (name in JUDGES)


def test_an_agent_that_declares_it_sees_the_judge_and_is_no_owner_all_the_same() -> None:
    env = SimpleNamespace(**dict.fromkeys(JUDGES, 7))
    lent = BorrowedEnv(env, shows_judge=True)
    assert [getattr(lent, name) for name in JUDGES] == [7] * len(JUDGES)
    with pytest.raises(StateError):
        _ = lent.reset


class Turns:
    """A monitor that keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, float]] = []

    def phase(self, name: str, limit_s: float) -> None:
        self.told.append((name, limit_s))


def test_each_call_of_a_lent_world_is_the_worlds_turn_with_its_own_bound() -> None:
    env, monitor, timed, turned = Env(), Turns(), list[Any](), list[int]()
    limits = PhaseLimits(1.0, 900.0, math.inf, step_s=5.0, answer_s=7.0)
    watch = TurnWatch(monitor, limits, 0.0, lambda: turned.append(1))
    lent = BorrowedEnv(env, in_world=watch.in_world, limits=limits, on_timing=timed.append)
    agents_turn = ("agent", 7.0 + AGENT_GRACE_S)
    watch.agents_turn()
    assert 0 < watch.answer_deadline.remaining() <= 7.0
    lent.step([{"action": "wait", "time": 2}, {"action": "screenshot"}])
    lent.capture_observation()
    assert monitor.told == [agents_turn, ("world", 7.0), agents_turn, ("world", 5.0), agents_turn]
    assert len(turned) == 3
    assert [(row["step"], row["actions"], row["refused"]) for row in timed] == [(1, 2, False)]
    env.step = raiser(ActionError("outside"))  # type: ignore[method-assign]
    with pytest.raises(ActionError):
        lent.step({"mouse": {}})
    assert (timed[-1]["step"], timed[-1]["refused"], lent.steps) == (2, True, 2)
    watch.end()
    monitor.told.clear()
    with watch.in_world(3.0):
        assert watch.is_in_world and watch.answer_deadline.at == math.inf
    assert monitor.told == [("world", 3.0)], "who took the world back says what comes next"


def test_an_answer_that_is_owed_has_a_deadline_that_can_move() -> None:
    thread, release, now = AgentThread(EpisodeStop()), threading.Event(), [Deadline.never()]

    def move() -> None:
        now[0] = Deadline.after(0)
        thread.look_again()

    threading.Timer(0.02, move).start()
    with pytest.raises(AgentTimedOut, match="one answer"):
        thread.call(release.wait, doing="run_episode()", deadline=Deadline.after(60), answer=lambda: now[0])
    release.set()


def test_an_environment_taken_back_refuses_every_call() -> None:
    env = Env()
    lent = BorrowedEnv(env)
    observe = lent.capture_observation
    assert lent.revoke("the time is up", wait_s=1)
    for call in (lambda: lent.step([]), observe, lambda: lent.max_steps):
        with pytest.raises(StateError, match="the time is up"):
            call()
    lent.close()
    assert env.calls == []


def test_taking_back_waits_for_a_running_call_only_so_long() -> None:
    env = Env()
    inside, release = threading.Event(), threading.Event()
    env.capture_observation = lambda: (inside.set(), release.wait(20))  # type: ignore[method-assign,assignment]
    lent = BorrowedEnv(env)
    agent = threading.Thread(target=lent.capture_observation, daemon=True)
    agent.start()
    assert inside.wait(20)
    assert not lent.revoke("up", wait_s=0.02)
    release.set()
    agent.join(20)
    assert lent.revoke("up", wait_s=20)


def test_the_bounds_of_a_phase_cover_every_hook_with_its_own_time_out() -> None:
    env = EnvSpec.from_dict({**ENV, "hooks": {"pre_start": "a", "post_start": "b"}})
    bare = phase_limits(EnvSpec.from_dict(ENV), None, hook_timeout_s=100, episode_s=None)
    task = TaskSpec.from_dict({"id": "t", "hooks": {"pre_task": "c", "pre_task_timeout": 77, "post_task": "d"}})
    full = phase_limits(env, task, hook_timeout_s=100, episode_s=30)
    assert full.reset_s == bare.reset_s + 200 + 77
    assert full.judge_s == bare.judge_s + 100
    assert (full.agent_s(10), full.agent_s(50)) == (20, 0)
    assert bare.agent_s(1e9) == float("inf")


def test_the_waits_that_actions_ask_for_are_added_up_as_far_as_they_can_be_read() -> None:
    actions = [
        {"action": "wait", "time": 2},
        {"action": "settle", "max_ms": 500},
        {"type": "wait", "seconds": float("nan")},
        "x",
    ]
    assert asked_wait_s(actions) == 2.5
    assert asked_wait_s({"action": "wait", "time": 3}) == 3
    assert asked_wait_s([{"action": "wait", "time": 3}] * 3, 0.5) == 10
