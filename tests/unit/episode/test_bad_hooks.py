"""A thousand bad hooks and worlds: an episode is set up, or broken with a story, or a typed error; never a fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gym_anything.errors import (
    Aborted,
    CheckpointError,
    DeadlineExceeded,
    GuestCommandFailed,
    GymAnythingError,
    UnsupportedFeature,
    WorldError,
    WorldLost,
)
from gym_anything.testing.fakes.world import FakeWorld
from tests.unit.episode.fake_envs import fake_env, task_spec

pytestmark = pytest.mark.unit

TYPED = [Aborted, CheckpointError, DeadlineExceeded, GuestCommandFailed, UnsupportedFeature, WorldError, WorldLost]
STAGES = ["pre_start", "post_start", "reset", "pre_task", "init", "post_task"]
ANSWERS = st.one_of(
    st.sampled_from([0, 0, 1, 2, 127, 255, -9, None, True, False, "0", 3.5, b"", []]),
    st.sampled_from(TYPED),
    st.sampled_from([ValueError, OSError, RuntimeError, MemoryError]),
)


class ScriptedWorld(FakeWorld):
    """Every hook answers as the test says."""

    answers: ClassVar[dict[str, Any]] = {}

    def run_hook(self, cmd: str, *, stage: str, timeout: float | None = None, use_pty: bool = True) -> int:
        return self._answer(stage)

    def run_task_init(self, script: str) -> None:
        return self._answer("init")  # type: ignore[no-any-return]  # an older runner may answer with the exit code

    def _answer(self, stage: str) -> Any:
        self.require_ready(stage)
        answer = type(self).answers.get(stage, 0)
        if isinstance(answer, type) and issubclass(answer, BaseException):
            raise answer(f"{stage} went wrong")
        return answer


HOOKS = dict.fromkeys(("pre_start", "post_start", "reset"), "x")
TASK = task_spec(
    hooks={"pre_task": "x", "post_task": "x"}, init={"init_script": "x"}, extras={"post_task_settle_sec": 0}
)


@settings(max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(st.sampled_from(STAGES), ANSWERS, max_size=3),
    st.booleans(),
    st.sampled_from(["", "post_start", "post_task"]),
)
def test_any_hook_sets_up_or_breaks_the_episode_with_a_story(
    tmp_path: Path, answers: dict[str, Any], strict: bool, level: str
) -> None:
    """V1: a failed set-up is never scored as a failed task."""
    ScriptedWorld.answers = answers
    env = fake_env(
        tmp_path, TASK, runner=f"{__name__}:ScriptedWorld", hooks=HOOKS, strict_hooks=strict, description=repr(answers)
    )
    raised: BaseException | None = None
    try:
        with env:
            env.reset(use_cache=bool(level), cache_level=level or "pre_start")  # type: ignore[arg-type]
            info = env.step([], mark_done=True)[3]
            assert info["outcome"]["status"] == "broken", "there is no judge, and perhaps no set-up"
            failed = [s for s in STAGES[:-1] if _fails(answers.get(s, 0))]
            if failed and not level:
                assert set(info["setup_failed"]) == {"init_script" if s == "init" else s for s in failed}
                assert not strict, "strict hooks raise"
    except GymAnythingError as error:
        raised = error
    except (ValueError, OSError, RuntimeError, MemoryError) as error:
        raised = error
        assert type(error) in answers.values(), "only what the world itself raised"
    assert env.runner.state in ("stopped", "new")  # type: ignore[attr-defined]
    if raised is not None:
        assert str(raised)
        assert env.evaluate()["outcome"]["status"] == "broken"


def _fails(answer: Any) -> bool:
    if answer in (GuestCommandFailed, DeadlineExceeded):
        return True
    return isinstance(answer, int) and not isinstance(answer, bool) and answer != 0
