"""Ground truth: what lies under /home/ga/Projects."""

from judging import judge, read_files

BEFORE = {"Bridge/": "", "Garden/": "", "Harbour/": "", "Garden/plants.txt": "roses, beans"}
NAME = "Résumé 2026"


def verify(traj, env_info, task_info):
    files = read_files(env_info, "/home/ga/Projects")
    new = sorted(set(files) - set(BEFORE))
    return judge(
        {
            "one new folder": (30, len(new) == 1 and new[0].endswith("/")),
            "it is inside Garden": (30, len(new) == 1 and new[0].startswith("Garden/")),
            "its name": (40, len(new) == 1 and new[0].rstrip("/").rpartition("/")[2] == NAME),
        },
        {"what was there": all(files.get(path) == said for path, said in BEFORE.items())},
        f"new: {new}",
    )
