"""Ground truth: what lies in /home/ga/Restored, and the archive's own list."""

from judging import judge, read_files

SAID = "Letter of march 2024"
MEMBERS = 6


def verify(traj, env_info, task_info):
    files = {path: said for path, said in read_files(env_info, "/home/ga/Restored").items() if not path.endswith("/")}
    right = [path for path, said in files.items() if said == SAID and path.rpartition("/")[2] == "march.txt"]
    listed = env_info["exec_capture"]("tar -tzf /home/ga/backup.tar.gz").split()
    return judge(
        {"march.txt of 2024 is there": (60, bool(right)), "it is alone": (40, bool(right) and len(files) == 1)},
        {"the archive": len([name for name in listed if name.endswith(".txt")]) == MEMBERS},
        f"restored: {sorted(files)}",
    )
