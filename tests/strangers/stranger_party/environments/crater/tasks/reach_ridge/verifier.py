"""Reads the rover's true state, by both ways that a judge is given."""

import json
import tempfile
from pathlib import Path


def verify(traj, env_info, task_info):
    state = json.loads(env_info["exec_capture"]("state"))
    with tempfile.TemporaryDirectory() as folder:
        env_info["copy_from_env"]("rover/state.json", str(Path(folder) / "state.json"))
        assert json.loads((Path(folder) / "state.json").read_text())["cell"] == state["cell"]
    reached = state["cell"] == task_info["metadata"]["ridge"]
    return {"passed": reached, "score": 100 if reached else 0, "feedback": f"the rover is at cell {state['cell']}"}
