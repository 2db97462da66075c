"""Ground truth: the lines of /home/ga/plan.txt."""

from judging import judge, read_text

OTHERS = ["Plan for Saturday", "", "Buy bread", "Pack the tent", "Drive to the lake", "Swim"]
MOVED = "Check the weather"


def verify(traj, env_info, task_info):
    lines = (read_text(env_info, "/home/ga/plan.txt") or "").removesuffix("\n").split("\n")
    first = lines[2:3] == [MOVED]
    gone = MOVED not in lines[3:]
    return judge(
        {"it is the first item": (60, first), "it is gone from its old place": (40, first and gone)},
        {"the other lines": [line for line in lines if line != MOVED] == OTHERS},
        f"the file has {lines}",
    )
