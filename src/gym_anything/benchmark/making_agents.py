"""Making an agent from what a request says of it."""

from __future__ import annotations

from typing import Any

from gym_anything._util.deadline import Deadline
from gym_anything.agents.registry import resolve_agent
from gym_anything.benchmark import phases
from gym_anything.benchmark.agent_thread import AgentThread, StopRequested
from gym_anything.benchmark.episode_request import EpisodeRequest
from gym_anything.errors import GymAnythingError, SettingInvalid


def make_agent(request: EpisodeRequest, thread: AgentThread) -> Any:
    """Make the agent, in the thread that it will live in.

    Raises: PluginError kinds for an agent that is not there, StopRequested, what a typed constructor raised, and
        SettingInvalid (blamed on the caller) for anything else that it raised: the agent was given what it cannot take.
    """
    cls = resolve_agent(request.agent)
    arguments = dict(request.agent_args)
    try:
        return thread.call(
            lambda: cls(agent_args=arguments, verbose=request.verbose, debug=request.debug),
            doing="its construction",
            deadline=Deadline.after(phases.LOAD_S),
        )
    except (GymAnythingError, StopRequested):
        raise
    except Exception as error:  # the boundary to the agent's code
        raise SettingInvalid(
            f"the agent {request.agent!r} cannot be made: {type(error).__name__}: {error}; see its settings "
            f"(--agent-arg K=V, --model) and what it needs around it",
            detail={"agent": request.agent, "type": type(error).__name__},
        ) from error
