"""Ground truth: what the web server received."""

import json
import tempfile
from pathlib import Path

EXPECTED = {
    "name": "Zoë Ångström",
    "email": "zoe@example.org",
    "travel": "Train",
    "lunch": "yes",
    "parking": "",
    "note": "Arrives at 9:30",
}


def verify(traj, env_info, task_info):
    names = env_info["exec_capture"]("ls /home/ga/visitors").split()
    submissions = [n for n in names if n.startswith("visitor-")]
    if len(submissions) != 1:
        return {"passed": False, "score": 0, "feedback": f"{len(submissions)} submissions, one was asked for"}
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "visitor.json"
        env_info["copy_from_env"](f"/home/ga/visitors/{submissions[0]}", str(copy))
        fields = json.loads(copy.read_text(encoding="utf-8"))
    given = {key: fields.get(key, [""])[0].strip() for key in EXPECTED}
    given["note"] = given["note"].removesuffix(".")
    right = {key: given[key] == EXPECTED[key] for key in EXPECTED}
    score = round(100 * sum(right.values()) / len(right))
    wrong = [f"{key}: {given[key]!r}" for key, ok in right.items() if not ok]
    return {
        "passed": all(right.values()),
        "score": score,
        "subscores": {key: 100 * ok for key, ok in right.items()},
        "feedback": "all fields are right" if not wrong else "wrong: " + "; ".join(wrong),
    }
