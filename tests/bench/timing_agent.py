"""An agent that notes when each of its steps begins and ends."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from gym_anything.agents.base import BaseAgent

FILE = "agent_times.json"


class TimingAgent(BaseAgent):
    """Clicks ``steps`` times; its times lie in ``agent_times.json`` beside the episode's artifacts."""

    def init(self, *args: Any, **kwargs: Any) -> None:
        super().init(*args, **kwargs)
        self.times: list[tuple[float, float]] = []

    def step(self, obs: Any, action_outputs: Any) -> list[dict[str, Any]]:
        began = time.perf_counter()
        self.done = len(self.times) + 1 >= int(self.agent_args["steps"])
        turn = [{"tool_id": "click", "actions": [{"mouse": {"left_click": [20, 20]}}]}]
        self.times.append((began, time.perf_counter()))
        return turn

    def finish(self, *args: Any, **kwargs: Any) -> None:
        (Path(self.save_path) / FILE).write_text(json.dumps(self.times))
