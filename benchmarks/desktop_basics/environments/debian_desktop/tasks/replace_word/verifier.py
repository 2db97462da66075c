"""Ground truth: the bytes of /home/ga/letter.txt."""

import tempfile
from pathlib import Path

BEFORE = """Dear team,

this draft replaces the draft of last week. Please read the draft by Monday.
Draft versions stay in the folder Drafts; the draftsman keeps them.
A second draft follows, then the last draft.

Kind regards
"""
AFTER = BEFORE.replace("draft", "final")


def verify(traj, env_info, task_info):
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "letter.txt"
        env_info["copy_from_env"]("/home/ga/letter.txt", str(copy))
        text = copy.read_text(encoding="utf-8", errors="replace")
    passed = text == AFTER
    replaced = text.count("final")
    score = 100 if passed else (50 * min(replaced, 6) // 6 if text != BEFORE else 0)
    return {
        "passed": passed,
        "score": score,
        "feedback": f"{replaced} of 6 replaced, {text.count('draft')} left, capital ones {text.count('Draft')} of 2",
    }
