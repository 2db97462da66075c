"""How quick text is typed: 120 characters that the layout lacks, into GTK and Chromium; 1,000 that it has, into a terminal."""

from __future__ import annotations

import json
import statistics
import tempfile
from pathlib import Path
from random import Random

from gym_anything.runtime.native.locate import native_program
from tests.integration.desktop.screen import XVNC
from tests.integration.desktop.typing_matrix.targets import TARGETS
from tests.integration.desktop.typing_matrix.texts import SCRIPTS
from tests.integration.desktop.typing_matrix.trials import opened, type_text

TRIALS = 20
TEXTS = {"gtk": ("cyrillic", "cjk", "emoji"), "chromium": ("cyrillic", "cjk", "emoji"), "xterm": ("ascii",)}
Series = dict[str, list[float]]


def measure(app: str) -> Series:
    """Type into one application, each text once it has rested; an inexact text fails the figure."""
    random, series = Random(1), Series()
    with (
        tempfile.TemporaryDirectory(prefix="ga-typing-") as folder,
        opened(TARGETS[app], native_program("ga-desktop"), Path(folder), XVNC) as target,
    ):
        for _ in range(TRIALS):
            for script in TEXTS[app]:
                make = SCRIPTS[script]
                text = "".join(make(random) for _ in range(5)) if app == "xterm" else make(random)[:120]
                target.client.settle(60, 2000)
                trial = type_text(target.client, target, text)
                if not trial.exact:
                    raise SystemExit(f"{app} {script}: {trial.difference()}")
                name = f"{app}_{script}_{len(text)}"
                series.setdefault(f"{name}_ack_ms", []).append(round(trial.ack_ms, 3))
                series.setdefault(f"{name}_arrived_ms", []).append(round(trial.arrived_ms, 3))
    return series


def main() -> None:
    series = Series()
    for app in TEXTS:
        series |= measure(app)
    summary = {f"{name}_p50": round(statistics.median(values), 2) for name, values in series.items()}
    conditions = f"{XVNC}, openbox, layout us, {TRIALS} texts each; arrived: read back past the keyboard"
    print(json.dumps({"summary": summary, "series": series, "conditions": conditions}))


if __name__ == "__main__":
    main()
