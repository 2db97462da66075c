"""The agent's side of an episode: observe, ask, act, until somebody says that it is over."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from gym_anything._util.deadline import Deadline
from gym_anything.agents.turns import AgentTurn, read_turns
from gym_anything.benchmark import phases
from gym_anything.benchmark.agent_thread import AgentThread, StopRequested
from gym_anything.benchmark.borrowed_env import BorrowedEnv
from gym_anything.benchmark.phases import PhaseLimits, asked_wait_s
from gym_anything.benchmark.turn_watch import TurnWatch
from gym_anything.errors import ActionError, ActionUnsupported, AgentTimedOut, WorldLost

TIMEOUT, MAX_STEPS, STOPPED = "timeout", "max_steps", "stopped"
_DONE_OUTPUT = {"action": "other", "output": "done"}
_NOT_DONE = "not done, since an earlier turn of the same answer was refused"


class Monitor(Protocol):
    """Who is told where an episode stands."""

    def phase(self, name: str, limit_s: float) -> None:
        """Begin a phase that may take ``limit_s`` seconds."""
        ...

    def stepped(self, steps: int, max_steps: int | None) -> None:
        """Count a step."""
        ...


@dataclass
class LoopResult:
    """How the loop ended.

    Attributes:
        info: of the last step; has ``verifier`` and ``outcome`` when the environment completed the episode.
        reward: of the last step.
        steps: calls of ``env.step`` with the agent's turns, refused ones included.
        is_done: the environment has completed the episode.
        ended_by: ``timeout``, ``max_steps`` or ``stopped`` when it was the loop that ended it; ``setup_failed`` when
            there was nothing to play.
        agent_result: what an autonomous agent returned.
        warnings: what is worth telling and decided nothing.
    """

    info: dict[str, Any] = field(default_factory=dict)
    reward: float = 0.0
    steps: int = 0
    is_done: bool = False
    ended_by: str | None = None
    agent_result: Any = None
    warnings: list[str] = field(default_factory=list)


class AgentLoop:
    """Drives one agent through one episode that is reset already."""

    def __init__(
        self,
        env: Any,
        agent: Any,
        thread: AgentThread,
        monitor: Monitor,
        limits: PhaseLimits,
        *,
        on_timing: Callable[[Mapping[str, Any]], None] = lambda _facts: None,
    ) -> None:
        """Args: on_timing: told how long each turn took: ``{step, tool_id, agent_ms, env_step_ms, …}``."""
        self._env = env
        self._agent = agent
        self._thread = thread
        self._monitor = monitor
        self._limits = limits
        self._on_timing = on_timing
        self._began = time.monotonic()
        self.result = LoopResult()

    def run(
        self,
        obs: Mapping[str, Any],
        context: Mapping[str, Any],
        *,
        task_description: str,
        display_resolution: tuple[int, int],
        save_path: str,
    ) -> LoopResult:
        """Play until the agent or the environment is done, a limit is reached or a stop is asked for.

        Args:
            obs: the first observation.
            context: for ``on_episode_start``; the others are for ``init``.
        Raises: whatever the agent raised, AgentError for an answer that makes no sense, WorldError kinds.
        """
        agent = self._agent
        try:
            if callable(getattr(agent, "on_episode_start", None)):
                self._ask(lambda: agent.on_episode_start(context), "on_episode_start()")
            words = {
                "task_description": task_description,
                "display_resolution": display_resolution,
                "save_path": save_path,
            }
            self._ask(lambda: agent.init(**words), "init()")
            if getattr(agent, "autonomous", False):
                self._run_autonomous(task_description)
            else:
                self._run_turns(obs)
        except AgentTimedOut as error:
            self.result.ended_by = TIMEOUT
            self.result.warnings.append(str(error))
        except StopRequested:
            self.result.ended_by = STOPPED
        return self.result

    def _ask(self, function: Any, doing: str, most_s: float = math.inf) -> Any:
        """Run one call of the agent within what is left of the episode's time, and within ``most_s``."""
        left_s = min(self._limits.agent_s(time.monotonic() - self._began), most_s)
        self._monitor.phase(phases.AGENT, left_s + phases.AGENT_GRACE_S)
        deadline = Deadline.after(left_s if math.isfinite(left_s) else None)
        return self._thread.call(function, doing=doing, deadline=deadline)

    def _run_turns(self, obs: Mapping[str, Any]) -> None:
        outputs: list[dict[str, Any]] = []
        max_steps, answer_s = self._env.max_steps, self._limits.answer_s
        while not self.result.is_done and not getattr(self._agent, "done", False):
            if max_steps is not None and self.result.steps >= max_steps:
                self.result.ended_by = MAX_STEPS
                return
            asked = time.perf_counter()
            answer = self._ask(lambda seen=obs, said=outputs: self._agent.step(seen, said), "step()", answer_s)
            turns, agent_s = read_turns(answer), time.perf_counter() - asked
            if not turns:
                self._count()  # an agent that does nothing must not go on for ever
            outputs = []
            for turn in turns:
                if outputs and outputs[-1]["action"] == "error":  # it was meant for a screen that is not there
                    outputs.append({"action": "error", "output": _NOT_DONE, "tool_id": turn.tool_id})
                    continue
                new_obs, output = self._act(turn, agent_s)
                agent_s = 0.0  # the answer's time counts once, at its first turn
                obs = new_obs if new_obs is not None else obs
                outputs.append(output)
                if self.result.is_done:
                    return

    def _act(self, turn: AgentTurn, agent_s: float) -> tuple[Mapping[str, Any] | None, dict[str, Any]]:
        """Do one turn; a refused action becomes an output that says why."""
        began = time.perf_counter()
        self._monitor.phase(phases.WORLD, self._limits.step_s + asked_wait_s(turn.actions))
        obs = None
        try:
            obs, reward, done, info = self._env.step(list(turn.actions), trajectory_metadata=turn.metadata)
        except (ActionError, ActionUnsupported) as error:
            output: Mapping[str, Any] = {"action": "error", "output": str(error)}
        else:
            self.result.info, self.result.reward, self.result.is_done = dict(info), float(reward), bool(done)
            output = info.get("action_result") or _DONE_OUTPUT
        env_step_s = time.perf_counter() - began
        self._count()
        inside = self.result.info.get("timings") if output.get("action") != "error" else None
        self._on_timing(
            {
                "step": self.result.steps,
                "tool_id": turn.tool_id,
                "actions": len(turn.actions),
                "refused": output.get("action") == "error",
                "agent_ms": round(agent_s * 1000, 3),
                "env_step_ms": round(env_step_s * 1000, 3),
                "timings": inside,
            }
        )
        return obs, {**output, "tool_id": turn.tool_id}

    def _count(self) -> None:
        self.result.steps += 1
        self._monitor.stepped(self.result.steps, self._env.max_steps)

    def _run_autonomous(self, task_description: str) -> None:
        turns = TurnWatch(self._monitor, self._limits, self._began, self._thread.look_again)
        lent = BorrowedEnv(
            self._env,
            on_step=lambda steps: self._monitor.stepped(steps, self._env.max_steps),
            on_timing=self._on_timing,
            in_world=turns.in_world,
            limits=self._limits,
            shows_judge=bool(getattr(self._agent, "wants_task_root", False)),
        )
        left_s = self._limits.agent_s(time.monotonic() - self._began)
        turns.agents_turn()
        try:
            self.result.agent_result = self._thread.call(
                lambda: self._agent.run_episode(lent, task_description),
                doing="run_episode()",
                deadline=Deadline.after(left_s if math.isfinite(left_s) else None),
                answer=lambda: turns.answer_deadline,
            )
        finally:
            taken_back = self._take_back(lent, turns)
            self.result.info, self.result.reward = lent.last_info, lent.last_reward
            self.result.steps, self.result.is_done = lent.steps, lent.is_done
        if not taken_back:
            raise WorldLost("the agent's last call of the environment did not return, so the world was given up")

    def _take_back(self, lent: BorrowedEnv, turns: TurnWatch) -> bool:
        """Take the environment back; False when a call did not return and the world was given up.

        A call that the world still owes an answer keeps the phase and the bound that were announced for it.
        """
        turns.end()
        wait_s = phases.STEP_S + self._limits.judge_s
        if not turns.is_in_world:
            self._monitor.phase(phases.WORLD, wait_s)
        taken_back = lent.revoke("the episode is over; the environment was taken back", wait_s=wait_s)
        if not taken_back:
            self._env.abort()
        return taken_back
