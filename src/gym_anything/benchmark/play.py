"""One episode from nothing to its record: make the world, let the agent play, judge, clean up.

``play_episode`` is for the process that the episode may have to itself; ``worker.py`` is that process. It never raises
for what goes wrong with an episode: a broken episode is a record with blame and story.
"""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gym_anything._util.deadline import Deadline
from gym_anything.benchmark import phases
from gym_anything.benchmark.account import Account, judge_usage, task_facts
from gym_anything.benchmark.agent_context import agent_context, display_resolution
from gym_anything.benchmark.agent_loop import AgentLoop, LoopResult, Monitor
from gym_anything.benchmark.agent_thread import AgentThread, EpisodeStop, StopRequested
from gym_anything.benchmark.episode_record import EpisodeRecord, utc_now
from gym_anything.benchmark.episode_request import EpisodeRequest
from gym_anything.benchmark.judge_phase import JudgePhase
from gym_anything.benchmark.making_agents import make_agent
from gym_anything.benchmark.phases import PhaseLimits, phase_limits
from gym_anything.benchmark.plan import digest_or_none
from gym_anything.benchmark.timing_lines import TimingLines
from gym_anything.episode.factory import from_config
from gym_anything.episode.hooks import HOOK_TIMEOUT
from gym_anything.episode.outcome import Outcome
from gym_anything.errors import AgentTimedOut

SETUP_FAILED = "setup_failed"
MakeEnv = Callable[[EpisodeRequest, Path], Any]


def make_env(request: EpisodeRequest, run_dir: Path) -> Any:
    """Make the environment of a request; its episode folder will lie in ``run_dir``. Starts nothing."""
    recording = {**dict(request.overrides.get("recording") or {}), "output_dir": str(run_dir)}
    return from_config(
        request.env_dir,
        request.task,
        {**request.overrides, "recording": recording},
        fast_io=request.fast_io,
        strict_hooks=request.strict_hooks,
        runner=request.runner,
        pacing=request.pacing,
    )


def play_episode(
    request: EpisodeRequest,
    run_dir: Path,
    monitor: Monitor,
    *,
    stop: EpisodeStop | None = None,
    on_record: Callable[[EpisodeRecord], None] = lambda _record: None,
    on_facts: Callable[[Mapping[str, Any]], None] = lambda _facts: None,
    make: MakeEnv = make_env,
) -> EpisodeRecord:
    """Play one episode.

    Args:
        run_dir: an existing folder for the artifacts.
        monitor: told about every phase.
        stop: set it to end the episode at the next chance; it is then judged as it stands.
        on_record: called with the record once the verdict is there, before the world is stopped: whoever must end this
            process because the world does not stop has the result already.
        on_facts: told fields of the record as they become known (task, runner, what the agent's model took so far), for
            whoever must end this process without a result.
        make: makes the environment.
    Raises: KeyboardInterrupt, after everything was cleaned up. Nothing else that an episode can do wrong.
    """
    return _Player(request, run_dir, monitor, stop or EpisodeStop(), on_record, on_facts).play(make)


@dataclass
class _Player:
    request: EpisodeRequest
    run_dir: Path
    monitor: Monitor
    stop: EpisodeStop
    on_record: Callable[[EpisodeRecord], None]
    on_facts: Callable[[Mapping[str, Any]], None]
    doing: str = phases.LOAD
    timings: dict[str, float] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    progress: LoopResult = field(default_factory=LoopResult)
    account: Account = field(default_factory=Account)
    agent: Any = None
    beginning: Any = field(default_factory=threading.Lock)
    began: float = field(default_factory=time.monotonic)
    phase_began: float = field(default_factory=time.monotonic)
    began_at: str = field(default_factory=utc_now)

    def play(self, make: MakeEnv) -> EpisodeRecord:
        """Play from nothing to a stopped world. Raises: KeyboardInterrupt."""
        self.facts["task_digest"] = digest_or_none(self.request)
        thread = AgentThread(self.stop)
        env = None
        try:
            self._begin(phases.LOAD, phases.LOAD_S)
            agent = self.agent = make_agent(self.request, thread)
            env = make(self.request, self.run_dir)
            record = self._play(env, agent, thread)
        except Exception as error:  # noqa: BLE001 - the boundary of an episode: what broke it is its result
            record = self._broken(error)
        except BaseException:
            self._close(env)
            raise
        finally:
            thread.end()
        self.on_record(record)
        trouble = self._close(env)
        self._close_phase()
        record = replace(
            record,
            warnings=record.warnings if trouble is None else (*record.warnings, trouble),
            timings=self._timings(),
            world_s=self.account.world_s,
        )
        self.on_record(record)
        return record

    def _close(self, env: Any) -> str | None:
        """Stop the world; returns what went wrong with that."""
        self._begin(phases.CLOSE, phases.CLOSE_S)
        try:
            if env is not None:
                env.close()
        except Exception as error:  # noqa: BLE001 - the boundary of an episode: its result is there and stays
            return f"while {phases.DOING[phases.CLOSE]}: {type(error).__name__}: {error}"
        finally:
            self.account.world_is_gone()
        return None

    def _play(self, env: Any, agent: Any, thread: AgentThread) -> EpisodeRecord:
        request = self.request
        env.set_episode_limits(max_steps=request.max_steps, timeout_sec=request.time_limit_s)
        limits = phase_limits(
            env.env_spec,
            env.task_spec,
            hook_timeout_s=HOOK_TIMEOUT.get(),
            episode_s=env.timeout_sec,
            step_deadline_s=request.step_deadline_s,
            verifier_deadline_s=request.verifier_deadline_s,
        )
        self.facts |= {"runner": env.runner_name, **task_facts(env.task_spec)}
        self.on_facts(self.facts)
        self._begin(phases.RESET, limits.reset_s)
        self.account.world_begins()
        try:
            obs = env.reset(
                seed=request.seed,
                use_cache=request.use_cache,
                cache_level=request.cache_level,
                use_savevm=request.use_savevm,
            )
            self.account.look_at(env)
            env.set_reporter(JudgePhase(_Watch(self), lambda: self.doing, limits).hear)
            if env.setup_failed:
                self.progress.ended_by = SETUP_FAILED  # broken in any case: nobody is to pay for a play
                result = self._judged(self.progress, env, limits)
                self.account.look_at(env)
                return self._record(result, env)
            result = self._let_play(env, agent, thread, limits, obs)
            self.account.look_at(env)
            self._finish_agent(agent, thread, result.info)
            return self._record(result, env)
        except BaseException as error:
            self._keep_artifacts(env)
            blamed = self.doing
            self.monitor.phase(phases.CLOSE, phases.CLOSE_S)
            env.__exit__(type(error), error, error.__traceback__)  # ends the episode without a verdict
            self.doing = blamed
            raise

    def _let_play(
        self, env: Any, agent: Any, thread: AgentThread, limits: PhaseLimits, obs: Mapping[str, Any]
    ) -> LoopResult:
        self._begin(phases.AGENT, limits.episode_s + phases.AGENT_GRACE_S)
        prompt = env.task_spec.prompt if env.task_spec is not None else ""
        context = agent_context(self.request, env, wants_task_root=getattr(agent, "wants_task_root", False))
        self.facts["agent_saw_task_root"] = "task_root" in context
        self.on_facts({"agent_saw_task_root": "task_root" in context})
        loop = AgentLoop(env, agent, thread, _Watch(self), limits, on_timing=TimingLines(self.request).write)
        self.progress = loop.result
        result = loop.run(
            obs,
            context,
            task_description=prompt,
            display_resolution=display_resolution(env, obs),
            save_path=str(env.episode_dir or self.run_dir),
        )
        return result if result.is_done else self._judged(result, env, limits)

    def _judged(self, result: LoopResult, env: Any, limits: PhaseLimits) -> LoopResult:
        """Complete the episode as it stands."""
        self._begin(phases.JUDGE, limits.judge_s)
        _, reward, result.is_done, info = env.step([], mark_done=True)
        result.info, result.reward = dict(info), float(reward)
        return result

    def _finish_agent(self, agent: Any, thread: AgentThread, info: Mapping[str, Any]) -> None:
        self._begin(phases.FINISH, phases.FINISH_S)
        try:
            thread.call(
                lambda: agent.finish(info=dict(info)), doing="finish()", deadline=Deadline.after(phases.FINISH_S / 2)
            )
        except (AgentTimedOut, StopRequested):
            self.warnings.append("the agent's finish() was not waited for")
        except Exception as error:  # noqa: BLE001 - the boundary to the agent's code: the verdict is there and stays
            self.warnings.append(f"the agent's finish() raised {type(error).__name__}: {error}")

    def _record(self, result: LoopResult, env: Any) -> EpisodeRecord:
        info = result.info
        outcome = Outcome.from_dict(info["outcome"]) if info.get("outcome") else _undecided(info)
        interrupted = self.stop.is_set
        reason = result.ended_by or info.get("reason")
        self._keep_artifacts(env)
        self.warnings += [*map(str, env.warnings), *result.warnings]
        return self._finished(
            outcome,
            reason=reason,
            steps=result.steps,
            reward=result.reward,
            verifier=info.get("verifier"),
            judge_usage=judge_usage(info.get("verifier")),
            agent_result=result.agent_result,
            interrupted=interrupted,
        )

    def _broken(self, error: Exception) -> EpisodeRecord:
        outcome = Outcome.from_error(error, default_blame=phases.BLAME[self.doing], doing=phases.DOING[self.doing])
        traceback.print_exception(error)  # to the log beside the result; the story has one line of it
        where = self.doing if self.doing in phases.DOING else None
        return self._finished(
            outcome, reason="error", broke_in=where, steps=self.progress.steps, interrupted=self.stop.is_set
        )

    def _finished(self, outcome: Outcome, **more: Any) -> EpisodeRecord:
        self._close_phase()
        return EpisodeRecord(
            self.request.public(),
            outcome,
            started_at=self.began_at,
            finished_at=utc_now(),
            duration_s=round(time.monotonic() - self.began, 3),
            timings=self._timings(),
            warnings=tuple(dict.fromkeys(self.warnings)),
            usage=self.account.usage_of(self.agent),
            world_s=self.account.world_s,
            memory=self.account.memory(),
            **self.facts,
            **more,
        )

    def _keep_artifacts(self, env: Any) -> None:
        if env.episode_dir is not None:
            folder = Path(env.episode_dir)
            inside = folder.is_relative_to(self.run_dir)
            self.facts["episode_dir"] = str(folder.relative_to(self.run_dir) if inside else folder)

    # --- phases --------------------------------------------------------------------------------------------------

    def _begin(self, name: str, limit_s: float) -> None:
        with self.beginning:  # an agent that owns the loop begins phases from its own thread
            self._close_phase()
            self.doing = name
            self.monitor.phase(name, limit_s)

    def _timings(self) -> dict[str, float]:
        return {name: round(seconds, 3) for name, seconds in self.timings.items()}

    def _close_phase(self) -> None:
        now = time.monotonic()
        self.timings[f"{self.doing}_s"] = self.timings.get(f"{self.doing}_s", 0.0) + now - self.phase_began
        self.phase_began = now


@dataclass
class _Watch:
    """Passes the loop's phases on to the player's book-keeping."""

    player: _Player
    told_usage: Mapping[str, Any] | None = None

    def phase(self, name: str, limit_s: float) -> None:
        self.player._begin(name, limit_s)

    def stepped(self, steps: int, max_steps: int | None) -> None:
        self.player.monitor.stepped(steps, max_steps)
        usage = self.player.account.usage_of(self.player.agent)
        if usage is not None and usage != self.told_usage:
            self.told_usage = usage
            self.player.on_facts({"usage": usage})


def _undecided(info: Mapping[str, Any]) -> Outcome:
    """The outcome of an episode that has no task to judge, or that was not completed."""
    if info.get("verifier") is None and "outcome" in info:
        return Outcome.broken("content", "there is no task, so there is nothing to judge")
    return Outcome.broken("judge", "the environment completed the episode without an outcome")
