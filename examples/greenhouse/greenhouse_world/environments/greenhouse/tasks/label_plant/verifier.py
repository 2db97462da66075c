"""Ground truth: the lines of /home/ga/label.txt."""

import tempfile
from pathlib import Path

NAME = "Echinacea ‘Crème brûlée’"


def verify(traj, env_info, task_info):
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "label.txt"
        env_info["copy_from_env"]("/home/ga/label.txt", str(copy))
        lines = copy.read_text(encoding="utf-8", errors="replace").rstrip("\n").split("\n")
    right = lines[1:] == [NAME]
    passed = right and lines[:1] == ["Bed 3"]
    return {"passed": passed, "score": 100 if passed else 50 * right, "feedback": f"the file has {lines}"}
