"""Ground truth: the text of /home/ga/order.txt."""

from judging import judge, read_text

RESULT = 1234.5 * 87.25 - 19.75


def verify(traj, env_info, task_info):
    text = (read_text(env_info, "/home/ga/order.txt") or "").rstrip("\n")
    first, _, second = text.partition("\n")
    value = second.removeprefix("Total:").strip()
    try:
        number = float(value.replace(",", ""))
    except ValueError:
        number = None
    return judge(
        {
            "a number is there": (20, number is not None),
            "it is near the result": (20, number is not None and abs(number - RESULT) < 1),
            "it is the exact result": (60, number is not None and abs(number - RESULT) < 1e-6),
        },
        {"the rest of the file": first == "Order 4711" and second.startswith("Total:")},
        f"the last line is {second!r}",
    )
