"""Ground truth: the text of /home/ga/parcel.txt."""

from judging import judge, read_text

CODE = "RX7f0Q29LmW8kd5Z3tVb"


def verify(traj, env_info, task_info):
    text = (read_text(env_info, "/home/ga/parcel.txt") or "").rstrip("\n")
    first, _, second = text.partition("\n")
    value = second.removeprefix("Tracking:").strip()
    return judge(
        {"something is there": (20, bool(value)), "it is the tracking code": (80, value == CODE)},
        {"the rest of the file": first == "Parcel for Ada" and second.startswith("Tracking:")},
        f"the last line is {second!r}",
    )
