"""Ground truth: the settings that galculator wrote when it was quit."""

import re

from judging import judge, read_text

WANTED = {"mode": ("scientific mode", "1"), "default_number_base": ("hexadecimal", "1"), "default_angle_base": ("degrees", "0")}


def verify(traj, env_info, task_info):
    text = read_text(env_info, "/home/ga/.config/galculator/galculator.conf")
    running = env_info["exec_capture"]("pgrep -x galculator || true").strip()
    found = dict(re.findall(r"^(\w+)=(.*)$", text or "", re.MULTILINE))
    return judge(
        {
            "it was quit and has kept its settings": (10, bool(text) and not running),
            **{said: (30, found.get(key) == value) for key, (said, value) in WANTED.items()},
        },
        note="no settings were written" if text is None else f"settings: { {key: found.get(key) for key in WANTED} }",
    )
