"""Looking before the leap: whether agent and environments can be made at all, before any world starts.

What would break every episode (an agent that cannot be made, a runner that is not there, an option nobody knows) is the
caller's to correct, and is said at once. What breaks some of them (one environment of several, one task) is their
result: it stops nothing, and is told as a remark. All of it is tried in a process of its own, as an episode would.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
_ALL_S = phases.LOAD_S + 60.0
_END_S = 10.0


@dataclass(frozen=True, slots=True)
class Made:
    """One thing that was tried: the agent or an environment.

    Attributes:
        name: of it. module: where the class of the agent, or of the environment's runner, is defined.
        error: what went wrong.
    """

    name: str
    module: str = ""
    error: GymAnythingError | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form for ``from_dict``."""
        return {"name": self.name, "module": self.module, "error": self.error and self.error.to_wire()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Made:
        """Rebuild from ``to_dict``."""
        error = data["error"]
        return cls(data["name"], data["module"], None if error is None else from_wire(error))


@dataclass(frozen=True, slots=True)
class Configuration:
    """What could be made.

    Attributes:
        remarks: a sentence for each environment that cannot be played, while others can.
        modules: those of our own package that the episodes are going to need.
    """

    remarks: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()


def check_configuration(
    requests: Sequence[EpisodeRequest], executor: ProcessExecutor, *, stop: StopSignal | None = None
) -> Configuration:
    """Try to make what the episodes of a plan need; blocks for about a second, at most four minutes.

    Args:
        requests: of one agent. executor: starts the process for it. stop: ends it early.
    Raises: the error of the agent, or of the first environment when none can be made; Aborted.
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
    return Configuration(tuple(f"{made.name}: {made.error}" for made in broken), tuple(sorted(modules)))


def try_to_make(requests: Sequence[EpisodeRequest], folder: Path) -> Iterator[Made]:
    """Make the agent, then each environment. For a process of one's own.

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
        made = Made(env)
        for request in requests:
            if request.env == env:
                tried = _try_env(request, folder)
                made = tried if tried.error is None or made.error is None else made
                if tried.error is None:
                    break
        yield made


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
