"""Torn frames among 100,000 that a reader looked at while the whole screen changed, on Xvfb and on Xvnc."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path

from gym_anything.runtime.native.locate import native_program
from tests.integration.desktop import test_torn
from tests.integration.desktop.screen import XVFB, XVNC, Probe, Screen

FRAMES = 100_000
SIZE = (1920, 1080)


def torn_on(server: str, folder: Path) -> tuple[int, int, int]:
    """Return how many frames were torn, looked at and (of those read without asking) different from one another."""
    program = folder / "x_probe"
    source = Path(test_torn.__file__).with_name("x_probe.c")
    subprocess.run(["cc", "-O1", "-o", program, source, "-lxcb"], check=True)
    screen = Screen(native_program("ga-desktop"), folder, server=server, size=SIZE)
    try:
        return test_torn.look(screen.client(), lambda: Probe(screen, program, (0, 0, *SIZE)), FRAMES)
    finally:
        screen.stop()


def main() -> None:
    summary: dict[str, int] = {}
    for server in (XVNC, XVFB):
        with tempfile.TemporaryDirectory(prefix="ga-torn-") as folder:
            torn, looked_at, different = torn_on(server, Path(folder))
        name = server.lower()
        summary |= {f"{name}_torn_frames": torn, f"{name}_frames_looked_at": looked_at}
        summary[f"{name}_different_pictures"] = different
    conditions = f"{SIZE[0]}x{SIZE[1]}, a new grey all over every 8 ms; frames by barrier, newest and seqlock by turns, views kept"
    series = {key: [float(value)] for key, value in summary.items()}
    print(json.dumps({"summary": summary, "series": series, "conditions": conditions}))


if __name__ == "__main__":
    main()
