"""Ground truth: what the page told its server, in its order."""

from judging import judge
from web_events import events


def verify(traj, env_info, task_info):
    did = [event["did"] for event in events(env_info)]
    return judge(
        {
            "it was prepared": (20, "prepare" in did),
            "it became ready": (20, "ready" in did),
            "it was signed once ready": (60, "sign" in did and "ready" in did[: did.index("sign")]),
        },
        {"prepared only once": did.count("prepare") <= 1},
        f"the page told: {did}",
    )
