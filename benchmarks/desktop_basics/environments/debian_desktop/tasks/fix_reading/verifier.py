"""Ground truth: the cells in the saved file."""

from gnumeric_file import cells
from judging import judge, read_bytes

WRONG = 286
OTHERS = {hour: 20 + (hour * 37 % 100) / 10 for hour in range(1, 401) if hour != WRONG}


def number(text):
    try:
        return float(text)
    except (TypeError, ValueError):
        return None


def verify(traj, env_info, task_info):
    found = cells(read_bytes(env_info, "/home/ga/readings.gnumeric"))
    now = number(found.get((WRONG, 1)))
    changed = [hour for hour, value in OTHERS.items() if abs((number(found.get((hour, 1))) or 0) - value) > 1e-9]
    return judge(
        {"the wrong reading was changed": (30, now != 247), "it is 24.7": (70, now == 24.7)},
        {"the other readings": not changed, "nothing else": len(found) == 802},
        f"the reading of hour {WRONG} is {found.get((WRONG, 1))}; changed others: {changed[:5]}",
    )
