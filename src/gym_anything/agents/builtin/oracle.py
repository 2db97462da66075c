"""``oracle``: plays the solution file that lies beside a task. It proves tasks, it solves none.

The file (``oracle.json`` in the task's folder; another one by the agent argument ``solution``, such as
``near_miss_1.json``) is a JSON list of steps; a step is one action dict or a list of action dicts for one
``env.step``::

    [
      {"mouse": {"left_click": [640, 400]}},
      [{"keyboard": {"text": "Grüße"}}, {"keyboard": {"keys": ["ctrl", "s"]}}],
      {"action": "settle"}
    ]

Contract actions only: what the oracle does, any agent could have done.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from gym_anything.actions.solution import SOLUTION, read_solution
from gym_anything.agents.base import BaseAgent
from gym_anything.errors import BenchmarkError


class OracleAgent(BaseAgent):
    """Plays the solution file beside a task (agent argument solution=FILE: another one), then stops.

    A refused step is an error: solutions are exact.
    """

    wants_task_root: ClassVar[bool] = True

    def init(self, task_description: str, display_resolution: tuple[int, int], save_path: str) -> None:
        """Read and check the whole solution. Raises: BenchmarkError when there is none or it is malformed."""
        super().init(task_description, display_resolution, save_path)
        root = self.episode_context.get("task_root")
        if not root:
            raise BenchmarkError("this task has no folder, so there is no solution file to play")
        file = Path(root) / str(self.agent_args.get("solution", SOLUTION))
        self._steps = read_solution(file, screen=display_resolution)
        self._next = 0
        self.done = not self._steps

    def step(self, obs: Mapping[str, Any], action_outputs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return the next step of the file."""
        refused = next((output for output in action_outputs if output.get("action") == "error"), None)
        if refused is not None:
            raise BenchmarkError(f"step {self._next - 1} of the solution was refused: {refused.get('output')}")
        actions = self._steps[self._next]
        self._next += 1
        self.done = self._next == len(self._steps)
        return [{"tool_id": f"solution_{self._next - 1}", "actions": actions}]
