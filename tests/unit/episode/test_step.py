"""Steps: what is done, what the world says to it, how an episode ends."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from gym_anything.errors import (
    Aborted,
    ActionError,
    ActionUnsupported,
    InputDeliveryUnknown,
    InputNotDelivered,
    SpecInvalid,
    StateError,
)
from gym_anything.testing.fakes.world import FakeWorld
from tests.unit.episode.fake_envs import MISBEHAVING, fake_env, task_spec

pytestmark = pytest.mark.unit


CLICK = {"mouse": {"left_click": [0, 0]}}


TYPE = {"keyboard": {"text": "a"}}
REFUSED = {"action": "refuse"}


def locator(cls: type) -> str:
    return f"{__name__}:{cls.__name__}"


class TellingWorld(FakeWorld):
    """It answers every action with what it was."""

    def inject_action(self, action: dict[str, Any]) -> Any:
        if action.get("action") == "refuse":
            raise InputNotDelivered("the wire was cut")
        if "api_call" in action:
            return {"called": action["api_call"]}
        super().inject_action(action)
        return None


def test_results_of_actions_are_in_info(tmp_path: Path) -> None:
    with fake_env(tmp_path, runner=locator(TellingWorld)) as env:
        env.reset()
        _, _, _, info = env.step(
            [{"action": "settle", "quiet_ms": 0, "max_ms": 50}, {"api_call": "ping"}, {"action": "screenshot"}]
        )
        settle, call, screenshot = info["action_results"]
        assert settle["output"]["settled"] is True
        assert call == {"action": "other", "output": {"called": "ping"}}
        assert screenshot["action"] == "screenshot" and Path(screenshot["output"]).is_file()
        assert info["action_result"] is screenshot
        assert set(info["timings"]) == {"actions_s", "pacing_s", "observation_s", "step_s"}


def test_an_unknown_action_is_refused_by_the_world_never_ignored(tmp_path: Path) -> None:
    with fake_env(tmp_path) as env:
        env.reset()
        with pytest.raises(ActionUnsupported):
            env.step({"voice": "hello"})
        _, _, done, _ = env.step(CLICK)
        assert not done, "the episode goes on"


def events(folder: Path | None) -> list[dict[str, Any]]:
    assert folder is not None
    return [json.loads(line) for line in (folder / "traj.jsonl").read_text().splitlines()]


def test_input_that_was_not_delivered_is_said_and_logged_and_is_no_step(tmp_path: Path) -> None:
    """P7: success is reported on evidence, not on intent. Whoever sends it again sends the same step."""
    with fake_env(tmp_path, runner=locator(TellingWorld)) as env:
        env.reset()
        for actions in ({"action": "refuse"}, [{"action": "screenshot"}, {"action": "wait", "time": 1}, REFUSED]):
            with pytest.raises(InputNotDelivered):
                env.step(actions)
        assert env.step(CLICK)[3]["step"] == 1
        *_, first, second, done = events(env.episode_dir)
        assert [first["event"], second["event"], done["event"]] == ["not_delivered", "not_delivered", "step"]
        assert first["step"] == second["step"] == done["step"] == 1
        assert first["error"]["code"] == "input-not-delivered" and first["actions"] == [REFUSED]


def test_a_step_of_which_something_was_done_is_never_sent_again(tmp_path: Path) -> None:
    """``InputNotDelivered`` says that nothing was done, and whoever hears it does all of the step once more."""
    with fake_env(tmp_path, runner=locator(TellingWorld)) as env:
        env.reset()
        with pytest.raises(InputDeliveryUnknown, match="1 of this step's inputs were done") as raised:
            env.step([CLICK, REFUSED])
        assert raised.value.detail == {"inputs_done": 1} and isinstance(raised.value.__cause__, InputNotDelivered)
        last = events(env.episode_dir)[-1]
        assert (last["event"], last["step"], last["error"]["code"]) == ("step", 1, "input-delivery-unknown")
        assert env.step(CLICK)[3]["step"] == 2, "what may have been done counts"


def test_a_turn_that_nobody_can_read_is_in_the_trajectory(tmp_path: Path) -> None:
    with fake_env(tmp_path) as env:
        env.reset()
        env.step(CLICK)
        wrong = {"mouse": {"left_click": [9999, 0]}}
        with pytest.raises(ActionError):
            env.step([wrong], trajectory_metadata={"thought": "far out"})
        last = events(env.episode_dir)[-1]
        assert (last["event"], last["step"], last["actions"]) == ("refused", 2, [wrong])
        assert last["metadata"] == {"thought": "far out"} and last["error"]["code"] == ActionError.code
        for odd in (7, "click", [{"mouse": {"left_click": [object(), b"x"]}}]):
            with pytest.raises(ActionError):
                env.step(odd)
            assert events(env.episode_dir)[-1]["event"] == "refused"
        assert env.step(CLICK)[3]["step"] == 2


@pytest.mark.parametrize("fast_io", [False, True])
def test_a_lost_world_ends_the_episode_as_a_value(tmp_path: Path, fast_io: bool) -> None:
    """L9: a dead world is not blamed on the agent."""
    runner = MISBEHAVING.format("CrashingWorld")
    with fake_env(tmp_path, task_spec(), runner=runner, fast_io=fast_io) as env:
        env.reset()
        env.step([CLICK, CLICK], wait_between_actions=0, settle_after_actions=False) if fast_io else None
        observation, reward, done, info = env.step([CLICK, CLICK, CLICK], wait_between_actions=0)
        assert observation == {} and reward == 0.0 and done
        assert info["reason"] == "world_lost"
        assert info["outcome"]["status"] == "broken" and info["outcome"]["blame"] == "world"
        assert "crashed" in info["outcome"]["story"]
        assert info["outcome"]["detail"]["log_tail"] == "segmentation fault"
        with pytest.raises(StateError, match="over"):
            env.step(CLICK)
        assert env.evaluate()["outcome"]["status"] == "broken"
        env.reset()
        _, _, done, _ = env.step([])
        assert not done, "the next episode has a new world"


def test_a_world_lost_while_the_episode_is_completed_is_a_value_too(tmp_path: Path) -> None:
    with fake_env(tmp_path, task_spec(hooks={"post_task": "true"})) as env:
        env.reset()
        env.runner.lose("out of memory")  # type: ignore[attr-defined]
        env.close()
        assert env.evaluate()["outcome"]["blame"] == "world"


def test_a_world_lost_while_it_is_judged_is_a_value_too(tmp_path: Path) -> None:
    with fake_env(tmp_path, task_spec(hooks={"post_task": "true"})) as env:
        env.reset()
        env.runner.lose("out of memory")  # type: ignore[attr-defined]
        report = env.evaluate()
        assert (report["outcome"]["status"], report["outcome"]["blame"]) == ("broken", "world")
        with pytest.raises(StateError, match="over"):
            env.step(CLICK)
        assert env.evaluate() == report


def test_the_limits_end_an_episode(tmp_path: Path) -> None:
    task = task_spec(init={"max_steps": 3, "timeout_sec": 1000})
    with fake_env(tmp_path, task) as env:
        env.reset()
        ends = [env.step([])[2:] for _ in range(3)]
        assert [done for done, _ in ends] == [False, False, True]
        assert ends[-1][1]["reason"] == "max_steps"
        assert (env.max_steps, env.timeout_sec) == (3, 1000.0)


def test_limits_can_be_set_from_outside(tmp_path: Path) -> None:
    with fake_env(tmp_path, task_spec()) as env:
        env.reset()
        env.set_episode_limits(max_steps=1)
        assert env.step([])[3]["reason"] == "max_steps"
        assert (env.max_steps, env.timeout_sec) == (1, 600.0)
        env.set_episode_limits(timeout_sec=0.000001, max_steps=50)
        env.reset()
        assert env.step([])[3]["reason"] == "timeout"
        for wrong in ({"max_steps": 0}, {"max_steps": True}, {"timeout_sec": float("nan")}, {"timeout_sec": -1}):
            with pytest.raises(SpecInvalid):
                env.set_episode_limits(**wrong)


def test_mark_done_ends_it_for_the_agent(tmp_path: Path) -> None:
    with fake_env(tmp_path, task_spec()) as env:
        env.reset()
        observation, _, done, info = env.step(CLICK, mark_done=True)
        assert done and info["reason"] == "Agent Completed" and "screen" in observation


def test_roles_are_split_and_take_turns(tmp_path: Path) -> None:
    class_name = locator(RoleWorld)
    with fake_env(tmp_path, runner=class_name, multi_agent={"roles": ["red", "blue"], "turn_based": True}) as env:
        env.reset()
        env.step(TYPE)
        with pytest.raises(ActionError):
            env.step({"keyboard": {"keys": "nonsense"}})
        env.step(TYPE)
        env.step({"blue": TYPE, "red": [TYPE]})
        assert env.runner.roles == ["red", "blue", "red", "blue"]  # type: ignore[attr-defined]
        env.reset()
        env.step(TYPE)
        assert env.runner.roles[-1] == "red", "a new episode begins with the first role"  # type: ignore[attr-defined]


def test_a_step_that_is_sent_again_is_of_the_same_role(tmp_path: Path) -> None:
    with fake_env(
        tmp_path, runner=locator(RoleWorld), multi_agent={"roles": ["red", "blue"], "turn_based": True}
    ) as env:
        env.reset()
        with pytest.raises(InputNotDelivered):
            env.step(REFUSED)
        env.step(TYPE)
        env.step(TYPE)
        assert env.runner.roles == ["red", "red", "blue"]  # type: ignore[attr-defined]


class RoleWorld(FakeWorld):
    """It remembers who acted."""

    def inject_action(self, action: dict[str, Any]) -> Any:
        if "_role" in action:
            self.__dict__.setdefault("roles", []).append(action["_role"])
        if action.get("action") == "refuse":
            raise InputNotDelivered("the wire was cut")
        return super().inject_action({k: v for k, v in action.items() if k != "_role"})


def test_held_keys_are_released_at_the_end(tmp_path: Path) -> None:
    """T5: keys_down without keys_up is released at the end of the episode."""
    with fake_env(tmp_path, task_spec()) as env:
        env.reset()
        env.step({"keyboard": {"keys_down": ["shift"]}})
        assert env.runner.held  # type: ignore[attr-defined]
        env.step([], mark_done=True)
        assert not env.runner.held  # type: ignore[attr-defined]


def test_abort_ends_a_blocked_step_within_a_second(tmp_path: Path) -> None:
    env = fake_env(tmp_path, task_spec(), runner_options={"time_control": False})
    env.reset()
    threading.Timer(0.05, env.abort).start()
    with pytest.raises(Aborted):
        env.step({"action": "wait", "time": 60})
    assert env.evaluate()["outcome"]["status"] == "broken"
    env.close()
    with pytest.raises(Aborted):
        env.reset()
    env.close()
