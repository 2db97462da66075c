"""Ground truth: the bytes of /home/ga/note.txt."""

import tempfile
from pathlib import Path

FIRST = "Meeting notes"
SECOND = "Grüße aus Köln – 東京で会いましょう 🎉"


def verify(traj, env_info, task_info):
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "note.txt"
        env_info["copy_from_env"]("/home/ga/note.txt", str(copy))
        text = copy.read_bytes().decode("utf-8", errors="replace")
    lines = text.removesuffix("\n").split("\n")
    first, second = lines[0] == FIRST, lines[1:] == [SECOND]
    score = 20 * first + 80 * second if text != FIRST + "\n" else 0
    return {
        "passed": first and second,
        "score": score,
        "feedback": f"first line {'kept' if first else 'changed'}; the rest is {lines[1:]!r}",
    }
