"""Looking before the leap: whether agent and environments can be made and tasks judged, before any world starts.

What would break every episode (an agent that cannot be made, a runner that is not there, an option nobody knows, a
judge whose model is not configured) is the caller's to correct, and is said at once. What breaks some of them (one
environment of several, one task, its judge) is their result: it stops nothing, and is told as a remark. All of it is
tried in a process of its own, as an episode would.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gym_anything._util import logs
from gym_anything._util.deadline import Deadline
from gym_anything._util.state_dir import Run
from gym_anything.benchmark import phases
from gym_anything.benchmark.agent_thread import AgentThread, EpisodeStop
from gym_anything.benchmark.episode_request import EpisodeRequest
from gym_anything.benchmark.process_watch import LOG_FILE
from gym_anything.benchmark.stop_signal import StopLevel, StopSignal
from gym_anything.errors import Aborted, AgentError, BenchmarkError, DeadlineExceeded, GymAnythingError, from_wire

if TYPE_CHECKING:
    from gym_anything.benchmark.process_executor import ProcessExecutor

AGENT = "the agent"
_MOST_NAMED = 3
_ALL_S = phases.LOAD_S + 60.0
_END_S = 10.0


@dataclass(frozen=True, slots=True)
class Made:
    """One thing that was tried: the agent or an environment.

    Attributes:
        name: of it. module: where the class of the agent, or of the environment's runner, is defined.
        error: what went wrong. remarks: a sentence for tasks of it that cannot be judged, while others can.
    """

    name: str
    module: str = ""
    error: GymAnythingError | None = None
    remarks: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form for ``from_dict``."""
        error = self.error and self.error.to_wire()
        return {"name": self.name, "module": self.module, "error": error, "remarks": list(self.remarks)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Made:
        """Rebuild from ``to_dict``."""
        error = data["error"]
        made = None if error is None else from_wire(error)
        return cls(data["name"], data["module"], made, tuple(data["remarks"]))


@dataclass(frozen=True, slots=True)
class Configuration:
    """What could be made.

    Attributes:
        remarks: a sentence for each environment that cannot be played, while others can, and for tasks that cannot be
            judged.
        modules: those of our own package that the episodes are going to need.
    """

    remarks: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()


def check_configuration(
    requests: Sequence[EpisodeRequest], executor: ProcessExecutor, *, stop: StopSignal | None = None
) -> Configuration:
    """Try to make what the episodes of a plan need, and look at the judge of each of its tasks.

    Blocks: for about a second, at most four minutes.

    Args:
        requests: of one agent. executor: starts the process for it. stop: ends it early.
    Raises: the error of the agent, or of the first environment when none can be made and judged; Aborted.
    """
    if not requests:
        return Configuration()
    one_of_each = list({(request.env, request.task): request for request in requests}.values())
    agent, *envs = _try_outside(one_of_each, executor, stop or StopSignal())
    if agent.error is not None:
        raise agent.error
    broken = [made for made in envs if made.error is not None]
    if broken and len(broken) == len(envs):
        assert broken[0].error is not None
        raise broken[0].error
    modules = {made.module for made in (agent, *envs) if made.module.startswith("gym_anything.")}
    remarks = [f"{made.name}: {made.error}" for made in broken] + [line for made in envs for line in made.remarks]
    return Configuration(tuple(remarks), tuple(sorted(modules)))


def try_to_make(requests: Sequence[EpisodeRequest], folder: Path) -> Iterator[Made]:
    """Make the agent, then each environment, and look at the judges. For a process of one's own.

    An environment is fine when one of its planned tasks is.
    """
    from gym_anything.benchmark.making_agents import make_agent

    thread = AgentThread(EpisodeStop())
    try:
        yield Made(AGENT, type(make_agent(requests[0], thread)).__module__)
    except GymAnythingError as error:
        yield Made(AGENT, error=error)
        return
    finally:
        thread.end()
    for env in dict.fromkeys(request.env for request in requests):
        yield _try_tasks([request for request in requests if request.env == env], folder)


def _try_tasks(requests: Sequence[EpisodeRequest], folder: Path) -> Made:
    """Look at every judge of an environment, and make it for one task after the other until it can be made."""
    unjudged = {request.task: error for request in requests if (error := _judge_error(request)) is not None}
    failed: Made | None = None
    for request in requests:
        if request.task in unjudged:
            continue
        tried = _try_env(request, folder)
        if tried.error is None:
            return replace(tried, remarks=_remarks(request.env, unjudged))
        failed = failed or tried
    return failed or Made(requests[0].env, error=next(iter(unjudged.values())))


def _remarks(env: str, unjudged: Mapping[str, GymAnythingError]) -> tuple[str, ...]:
    """Return a sentence for each reason; most are the same for many tasks."""
    tasks: dict[str, list[str]] = {}
    for task, error in unjudged.items():
        tasks.setdefault(str(error), []).append(f"{env}/{task}")
    return tuple(f"{_named(names)} cannot be judged: {reason}" for reason, names in tasks.items())


def _named(names: Sequence[str]) -> str:
    some = ", ".join(names[:_MOST_NAMED])
    return some if len(names) <= _MOST_NAMED else f"{some} and {len(names) - _MOST_NAMED} more"


def _judge_error(request: EpisodeRequest) -> GymAnythingError | None:
    """Return what would keep the judge from a verdict; a task that does not load fails where it is made."""
    from gym_anything.episode.judging import success_of
    from gym_anything.specs.loading import load_task
    from gym_anything.verification.dry_check import check_judge

    try:
        task = load_task(request.env_dir, request.task)
    except GymAnythingError:
        return None
    try:
        check_judge(success_of(task.spec), task_root=task.root, env_root=Path(request.env_dir))
    except GymAnythingError as error:
        return error
    except OSError as error:
        return BenchmarkError(f"what {request.label} is judged by cannot be read: {error}")
    return None


def _try_env(request: EpisodeRequest, folder: Path) -> Made:
    from gym_anything.benchmark.play import make_env

    try:
        env = make_env(request, folder)
        env.close()
    except GymAnythingError as error:
        return Made(request.env, error=error)
    except Exception as error:  # noqa: BLE001 - the boundary to a runner's code: its constructor is anybody's
        message = f"{request.env} cannot be made: {type(error).__name__}: {error}"
        return Made(request.env, error=BenchmarkError(message))
    return Made(request.env, type(env.runner).__module__)


def _try_outside(requests: Sequence[EpisodeRequest], executor: ProcessExecutor, stop: StopSignal) -> list[Made]:
    deadline = Deadline.after(_ALL_S)
    found: list[Made] = []
    with tempfile.TemporaryDirectory(prefix="check-", dir=Run.current().path) as folder:
        order = {"check": [request.to_dict() for request in requests]}
        with executor.worker(order, Path(folder), "check") as (process, sock):
            take_back = stop.at(StopLevel.FINISH, lambda: sock.shutdown(2))
            try:
                sock.settimeout(deadline.remaining())
                with sock.makefile("rb") as lines:
                    for line in lines:
                        found.append(Made.from_dict(json.loads(line)["made"]))
                code = None if stop.finishing else process.wait(Deadline.after(_END_S))
            except (TimeoutError, DeadlineExceeded):
                raise DeadlineExceeded(
                    f"the agent and the environments were not made within {_ALL_S:.0f} s; "
                    f"made so far: {', '.join(made.name for made in found) or 'nothing'}"
                ) from None
            finally:
                take_back()
        if stop.finishing:
            raise Aborted("stopped before the first episode")
        if not found:
            tail = logs.tail(Path(folder) / LOG_FILE, 15)
            raise AgentError(
                f"the process that was to make the agent ended with exit code {code}: {tail}", detail={"log_tail": tail}
            )
    return found
