"""Ground truth: the settings that GTK programs read."""

import re

from judging import judge, read_text


def theme(text):
    found = re.search(r"^gtk-theme-name\s*=\s*\"?([^\"\n]*)", text or "", re.MULTILINE)
    return found.group(1).strip() if found else None


def verify(traj, env_info, task_info):
    of_2 = theme(read_text(env_info, "/home/ga/.gtkrc-2.0"))
    of_3 = theme(read_text(env_info, "/home/ga/.config/gtk-3.0/settings.ini"))
    return judge(
        {"a theme was applied": (20, bool(of_2 or of_3)), "it is Harbour": (80, "Harbour" in (of_2, of_3))},
        note=f"GTK 2 has {of_2}, GTK 3 has {of_3}",
    )
