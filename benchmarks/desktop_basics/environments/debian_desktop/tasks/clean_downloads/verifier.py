"""Ground truth: names and contents of the files in /home/ga/Downloads."""

from judging import judge, read_files

GO = ["film.part", "manual.part", "tickets.part"]
STAY = {name: f"this is {name}" for name in ("agenda.txt", "guide.txt", "music.txt", "party.txt", "zebra.txt")}


def verify(traj, env_info, task_info):
    files = read_files(env_info, "/home/ga/Downloads")
    return judge(
        {f"{name} is gone": (points, name not in files) for name, points in zip(GO, (33, 33, 34))},
        {"the other files": {name: said for name, said in files.items() if name not in GO} == STAY},
        f"files now: {sorted(files)}",
    )
