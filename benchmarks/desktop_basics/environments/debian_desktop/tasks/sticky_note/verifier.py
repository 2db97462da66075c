"""Ground truth: the notes that xpad has saved."""

from judging import judge

SECOND = "Büro schließt um 17:30 ☕"


def verify(traj, env_info, task_info):
    saved = env_info["exec_capture"]("cd /home/ga/.config/xpad && for note in content-*; do cat $note; printf '\\036'; done")
    notes = [note.rstrip("\n") for note in saved.split("\x1e")[:-1]]
    lines = notes[0].split("\n") if len(notes) == 1 else []
    return judge(
        {"a second line": (20, len(lines) == 2), "it reads as asked": (80, lines[1:] == [SECOND])},
        {"the first line": lines[:1] == ["Call Bob"], "it is the only note": len(notes) == 1},
        f"the notes: {notes}",
    )
