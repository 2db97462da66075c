"""Ground truth: the log itself, counted again, and the answer file."""

import tempfile
from pathlib import Path


def verify(traj, env_info, task_info):
    with tempfile.TemporaryDirectory() as folder:
        log, answer = Path(folder) / "server.log", Path(folder) / "answer.txt"
        env_info["copy_from_env"]("/home/ga/logs/server.log", str(log))
        right = sum("ERROR" in line for line in log.read_text(encoding="utf-8").splitlines())
        try:
            env_info["copy_from_env"]("/home/ga/answer.txt", str(answer))
        except FileNotFoundError:
            return {"passed": False, "score": 0, "feedback": "there is no /home/ga/answer.txt"}
        given = answer.read_text(encoding="utf-8", errors="replace").strip()
    passed = given == str(right)
    return {"passed": passed, "score": 100 if passed else 20, "feedback": f"the answer is {given!r}, the log has {right}"}
