"""The agent contract: what a policy owes an episode.

Subclass ``BaseAgent`` and write ``step``; name the class by a locator (``--agent my.pkg:MyAgent``) or an entry point
of the group ``gym_anything.agents``. An agent is driven like this, by one thread of its own::

    agent = MyAgent(agent_args={"model": "…"}, verbose=False, debug=False)
    agent.on_episode_start(context)                        # optional
    agent.init(task_description, display_resolution, save_path)
    while not agent.done and not done:
        for turn in agent.step(obs, action_outputs):       # each turn's actions are one env.step
            …
    agent.finish(info=info)                                # however the episode ended

An agent that wants to own the whole loop sets ``autonomous = True`` and writes ``run_episode(env, task_description)``.

Rules:

* *Time.* A call may take as long as the episode's time limit. At the limit the episode ends without the agent: a call
  that hangs is abandoned, the verifier judges the state the world is in, and the run goes on.
* *Errors.* An action that the parser or the world refuses comes back as an output with ``action`` "error" and the
  reason; nothing of it was done and the agent may try again. The later turns of the same answer are not done either:
  each has such an output that says so. An exception out of an agent's method breaks the episode and is blamed on the
  agent.
* *Verdict.* ``done`` only says that the agent has stopped; the verifier decides. The environment that an autonomous
  agent is given shows nothing of the judge.
* *Isolation.* In benchmarks each episode runs in a process of its own: module state does not leak between episodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar


class BaseAgent:
    """A policy. Built once per episode, before the world is up; construction must not need the world.

    Attributes:
        autonomous: the agent owns the loop; ``run_episode`` is called instead of ``step``.
        wants_task_root: the agent is given the task's folder, verifier and all; an autonomous one may ask the judge
            and reach for the task's spec and the runner, too. Only for agents that prove tasks (players of solution
            files): results say that the agent saw it.
        done: set to True to end the episode; read after every ``step``.
        agent_args: what ``--agent-arg`` and ``--model`` said.
        episode_context: what ``on_episode_start`` was given.
    """

    autonomous: ClassVar[bool] = False
    wants_task_root: ClassVar[bool] = False

    def __init__(
        self, agent_args: Mapping[str, Any] | None = None, verbose: bool = False, debug: bool = False, **_: Any
    ) -> None:
        """Keep the arguments.

        Args:
            agent_args: the agent's own settings; ``model`` is there when ``--model`` was given.
            verbose: tell on standard output what is going on.
            debug: tell even more; may write files to ``save_path``.
        """
        self.agent_args: dict[str, Any] = dict(agent_args or {})
        self.verbose = verbose
        self.debug = debug
        self.done = False
        self.episode_context: dict[str, Any] = {}

    def on_episode_start(self, context: Mapping[str, Any]) -> None:
        """Learn about the coming episode, before ``init``.

        Args:
            context: ``{"env_id", "task_id", "seed", "attempt", "episode_dir", "max_steps", "timeout_sec"}``, and
                ``env_root`` and ``task_root`` (folders, as strings) where ``wants_task_root`` is set.
        """
        self.episode_context = dict(context)

    def init(self, task_description: str, display_resolution: tuple[int, int], save_path: str) -> None:
        """Start on a task.

        Args:
            task_description: the prompt.
            display_resolution: (width, height) of the screen in guest pixels; the coordinates of actions.
            save_path: an existing folder for whatever the agent wants to keep; it is part of the artifacts.
        """
        self.task_description = task_description
        self.display_resolution = display_resolution
        self.save_path = save_path

    def step(self, obs: Mapping[str, Any], action_outputs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Look, and say what to do.

        Args:
            obs: the newest observation. In fast mode ``obs["screen"]["array"]`` is valid until this returns and the
                next action is done; ``obs["screen"]["image"]`` is the agent's own.
            action_outputs: one dict for each turn of the last answer: what ``info["action_result"]`` said, plus the
                turn's ``tool_id``; ``{"action": "error", "output": reason, "tool_id": …}`` for a refused one and for
                those after it. Empty at first.
        Returns: turns, each ``{"tool_id": str, "actions": [action dicts], "metadata"?: dict}``. ``tool_id`` names the
            turn (the model's tool-call id); ``metadata`` goes into the trajectory. An empty list does nothing and
            counts as a step.
        """
        raise NotImplementedError(f"{type(self).__name__} must write step(), or run_episode() with autonomous = True")

    def run_episode(self, env: Any, task_description: str) -> Any:
        """Play the whole episode. Called instead of ``step`` when ``autonomous``.

        Args:
            env: the environment, reset and observed, on loan. ``close`` ends the episode. What is its owner's
                (``reset``, limits, settings) or shows the judge (``evaluate``, ``fork``, ``runner``, ``task_spec``,
                ``task_root``, ``env_root``; see ``wants_task_root``) raises ``StateError``, and so does every call once
                the time is up. Each ``step`` is bounded as a turn is; the time between two calls is one answer.
        Returns: anything JSON can hold, kept in the results as ``agent_result``; None for nothing.
        """
        raise NotImplementedError(f"{type(self).__name__} says autonomous = True but has no run_episode()")

    def finish(self, *args: Any, **kwargs: Any) -> None:
        """Clean up and keep what is worth keeping in ``save_path``. Called once, after the verdict.

        ``info=…`` is given: the last step's info, with ``verifier`` and ``outcome``.
        """
