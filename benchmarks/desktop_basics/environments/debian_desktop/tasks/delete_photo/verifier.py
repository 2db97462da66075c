"""Ground truth: the files in /home/ga/Pictures."""

from judging import judge

ALL = [f"{number:02d}.png" for number in range(1, 11)]
RED = "07.png"


def verify(traj, env_info, task_info):
    files = env_info["exec_capture"]("ls /home/ga/Pictures").split()
    gone = [name for name in ALL if name not in files]
    return judge(
        {"a picture is gone": (20, bool(gone)), "the picture with the red square is gone": (80, RED in gone)},
        {"the other pictures": not set(gone) - {RED}, "nothing new": not set(files) - set(ALL)},
        f"gone: {gone}",
    )
