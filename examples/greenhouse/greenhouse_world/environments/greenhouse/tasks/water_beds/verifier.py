"""Ground truth: what the command `~/water` has written down."""

import tempfile
from pathlib import Path

DRY = {"2", "5"}


def verify(traj, env_info, task_info):
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "watered.log"
        try:
            env_info["copy_from_env"]("/home/ga/watered.log", str(copy))
        except FileNotFoundError:
            return {"passed": False, "score": 0, "feedback": "nothing was watered"}
        watered = copy.read_text().split()
    passed = sorted(watered) == sorted(DRY)
    score = 100 if passed else max(0, 40 * len(DRY & set(watered)) - 20 * len(set(watered) - DRY))
    return {"passed": passed, "score": score, "feedback": f"watered: {watered}, dry were {sorted(DRY)}"}
