"""Ground truth: what the page told its server when Accept was pressed."""

from judging import judge
from web_events import events


def verify(traj, env_info, task_info):
    told = events(env_info)
    ticked = set(told[-1]["ticked"]) if told else set()
    return judge(
        {
            "Accept was pressed": (20, bool(told)),
            "Safety goggles": (30, "goggles" in ticked),
            "Own gloves": (30, "gloves" in ticked),
            "no Rented drill": (20, bool(told) and "drill" not in ticked),
        },
        note=f"ticked: {sorted(ticked)}",
    )
