"""``replay``: does again what an earlier episode did, from its ``traj.jsonl``, or what a solution file says.

Waits and settles are repeated as actions; how long the first agent thought is not. A world that is not in the state it
was in then is clicked at all the same; the verifier decides whether that led anywhere.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gym_anything.actions.parse import parse_actions
from gym_anything.actions.solution import read_solution
from gym_anything.agents.arguments import Arguments
from gym_anything.agents.base import BaseAgent
from gym_anything.errors import ActionError, AgentError, SettingInvalid

TRAJECTORY = "traj.jsonl"


class ReplayAgent(BaseAgent):
    """Does again what an earlier episode did (agent argument source=FOLDER, traj.jsonl or a solution file).

    Agent argument ``strict`` (default true): a refused step ends the episode with an error; false goes on.
    """

    def __init__(
        self, agent_args: Mapping[str, Any] | None = None, verbose: bool = False, debug: bool = False, **more: Any
    ) -> None:
        """Find the source, before a world starts. Raises: SettingInvalid."""
        super().__init__(agent_args, verbose, debug, **more)
        arguments = Arguments(self.agent_args, "replay")
        source = arguments.text("source")
        self._strict = arguments.flag("strict", True)
        arguments.text("model")  # names the results; nothing else
        arguments.refuse_unknown()
        if not source:
            raise SettingInvalid(
                "replay needs --agent-arg source=PATH: an episode's folder, its traj.jsonl, or a solution file",
                detail={"setting": "source"},
            )
        self._source = Path(source).expanduser()
        if self._source.is_dir():
            self._source /= TRAJECTORY
        if not self._source.is_file():
            raise SettingInvalid(
                f"agent argument source: there is no file {self._source}", detail={"setting": "source"}
            )

    def init(self, task_description: str, display_resolution: tuple[int, int], save_path: str) -> None:
        """Read and check all of it. Raises: AgentError, BenchmarkError for a malformed file."""
        super().init(task_description, display_resolution, save_path)
        if self._source.suffix == ".jsonl":
            self._steps = read_trajectory(self._source, screen=display_resolution)
        else:
            self._steps = read_solution(self._source, screen=display_resolution)
        self._next = 0
        self.done = not self._steps

    def step(self, obs: Mapping[str, Any], action_outputs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return the next step."""
        refused = next((output for output in action_outputs if output.get("action") == "error"), None)
        if refused is not None and self._strict:
            raise AgentError(f"step {self._next - 1} of {self._source.name} was refused: {refused.get('output')}")
        actions = self._steps[self._next]
        self._next += 1
        self.done = self._next == len(self._steps)
        return [{"tool_id": f"replay_{self._next - 1}", "actions": actions}]


def read_trajectory(file: Path, *, screen: tuple[int, int]) -> list[list[dict[str, Any]]]:
    """Return the actions of each step of a trajectory, in order; steps that ended in an error are left out.

    Raises: AgentError for a file that is no trajectory, or one of a larger screen.
    """
    steps: list[list[dict[str, Any]]] = []
    with file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                record = json.loads(line)
            except ValueError as error:
                raise AgentError(f"{file}, line {number} is no JSON: {error}") from error
            if not isinstance(record, dict) or record.get("event") != "step" or record.get("error"):
                continue
            actions = record.get("actions")
            if not isinstance(actions, list):
                raise AgentError(f"{file}, line {number}: the step has no list of actions")
            try:
                parse_actions(actions, screen=screen)
            except ActionError as error:
                raise AgentError(f"{file}, line {number} cannot be done on this screen: {error}") from error
            if actions:
                steps.append(actions)
    return steps
