"""The phases of an episode, how long each may take, and who is to blame when one does not end.

Whoever plays an episode says which phase begins and how long it may take; whoever watches from outside needs to know
nothing else to stop it in time and to tell whose fault it was.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gym_anything.errors import Blame

if TYPE_CHECKING:
    from gym_anything.specs.env_spec import EnvSpec
    from gym_anything.specs.task_spec import TaskSpec

LOAD, RESET, AGENT, WORLD, JUDGE, FINISH, CLOSE = "load", "reset", "agent", "world", "judge", "finish", "close"
BLAME: Mapping[str, Blame] = {
    LOAD: "host",
    RESET: "world",
    AGENT: "policy",
    WORLD: "world",
    JUDGE: "judge",
    FINISH: "policy",
    CLOSE: "world",
}
DOING: Mapping[str, str] = {
    LOAD: "loading the environment and the agent",
    RESET: "starting the world and setting the task up",
    AGENT: "waiting for the agent",
    WORLD: "doing the agent's actions",
    JUDGE: "judging",
    FINISH: "letting the agent clean up",
    CLOSE: "stopping the world",
}

LOAD_S = 180.0
BOOT_S = 900.0
"""Beyond all hooks: a machine booted under emulation, images unpacked."""
STEP_S = 180.0
"""Beyond the waits that the actions themselves ask for."""
AGENT_GRACE_S = 30.0
"""The inner limit ends a hung agent; the outer one is for when even that fails."""
FINISH_S = 60.0
CLOSE_S = 120.0


@dataclass(frozen=True, slots=True)
class PhaseLimits:
    """Upper bounds of one episode's phases, in seconds. Generous: they catch what hangs, they steer nothing.

    Attributes:
        reset_s: boot and every set-up hook with its own time-out.
        judge_s: export hook, settling and the verifier.
        episode_s: the episode's own time limit; infinite when it has none.
        step_s: doing a turn's actions, beyond the waits that they ask for themselves.
        answer_s: one answer of the agent; infinite when nobody bounds it.
        verdict_s: the verifier alone; infinite when nobody bounds it.
    """

    reset_s: float
    judge_s: float
    episode_s: float
    step_s: float = STEP_S
    answer_s: float = math.inf
    verdict_s: float = math.inf

    def agent_s(self, elapsed_s: float) -> float:
        """Return how long the agent may still take when the episode has run for ``elapsed_s``."""
        return max(0.0, self.episode_s - elapsed_s)


def phase_limits(
    env: EnvSpec,
    task: TaskSpec | None,
    *,
    hook_timeout_s: float,
    episode_s: float | None,
    step_deadline_s: float | None = None,
    verifier_deadline_s: float | None = None,
) -> PhaseLimits:
    """Return the bounds for an environment and task.

    Args:
        hook_timeout_s: what a hook without a time-out of its own may take.
        episode_s: the time limit in force; None is none.
        step_deadline_s, verifier_deadline_s: see ``EpisodeRequest``.
    """
    hooks = [env.hooks.pre_start, env.hooks.post_start, env.hooks.reset, env.reset_script]
    reset_s = BOOT_S + hook_timeout_s * sum(1 for hook in hooks if hook)
    judge_s = BOOT_S
    if task is not None:
        reset_s += task.hooks.pre_task_timeout + (hook_timeout_s if task.init.init_script else 0)
        judge_s += (hook_timeout_s if task.hooks.post_task else 0) + (task.post_task_settle_sec or 0)
    return PhaseLimits(
        reset_s,
        judge_s,
        math.inf if episode_s is None else episode_s,
        step_s=STEP_S if step_deadline_s is None else step_deadline_s,
        answer_s=math.inf if step_deadline_s is None else step_deadline_s,
        verdict_s=math.inf if verifier_deadline_s is None else verifier_deadline_s,
    )


def asked_wait_s(actions: Any, gap_s: Any = None) -> float:
    """Return the seconds that action dicts ask to wait themselves, as far as they can be read.

    Args: gap_s: what was asked for between two of them.
    """
    listed = actions if isinstance(actions, list | tuple) else [actions]
    total = 0.0
    if isinstance(gap_s, int | float) and math.isfinite(gap_s):
        total += max(0.0, float(gap_s)) * max(0, len(listed) - 1)
    for action in listed:
        if not isinstance(action, Mapping):
            continue
        for key, scale in (("time", 1.0), ("seconds", 1.0), ("max_ms", 0.001)):
            value = action.get(key)
            if isinstance(value, int | float) and math.isfinite(value):
                total += max(0.0, float(value)) * scale
    return total
