"""Ground truth: names and contents of the files in /home/ga/Reports."""

from judging import judge, read_files

OTHERS = {"draft-old.txt": "Old draft", "figures.csv": "Figures"}
SAID = "Report on the harbour"


def verify(traj, env_info, task_info):
    files = read_files(env_info, "/home/ga/Reports")
    moved = [name for name, said in files.items() if said == SAID and name != "draft.txt"]
    return judge(
        {
            "draft.txt has another name": (30, "draft.txt" not in files and len(moved) == 1),
            "its name is final report.txt": (70, moved == ["final report.txt"] and "draft.txt" not in files),
        },
        {"the other files": {n: s for n, s in files.items() if s != SAID} == OTHERS},
        f"files now: {sorted(files)}",
    )
