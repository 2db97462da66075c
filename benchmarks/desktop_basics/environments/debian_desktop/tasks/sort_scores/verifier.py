"""Ground truth: the cells in the saved file."""

from gnumeric_file import cells
from judging import judge, read_bytes

POINTS = {"Bo": 41, "Cai": 77, "Dora": 12, "Emil": 95, "Fay": 60, "Gil": 33, "Hana": 88, "Ines": 54}
BEFORE = [(str(points), name) for name, points in POINTS.items()]
SORTED = sorted(BEFORE, key=lambda row: -int(row[0]))


def verify(traj, env_info, task_info):
    found = cells(read_bytes(env_info, "/home/ga/scores.gnumeric"))
    rows = [(found.get((row, 0)), found.get((row, 1))) for row in range(1, 9)]
    column = [points for points, _ in rows]
    wanted = [points for points, _ in SORTED]
    return judge(
        {
            "the points are sorted": (30, column in (wanted, wanted[::-1])),
            "the highest is first": (30, column == wanted),
            "every name has its own points": (40, rows != BEFORE and sorted(rows, key=str) == sorted(BEFORE)),
        },
        {"the heading": (found.get((0, 0)), found.get((0, 1))) == ("Points", "Player"), "nothing else": len(found) == 18},
        f"rows now: {rows}",
    )
