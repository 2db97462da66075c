"""The typing matrix: applications, layouts and scripts, 50 texts of 200 characters each, exact or not, and how quick.

``python -m tests.bench.figure_typing_matrix [--apps xterm,qt] [--layouts …] [--scripts …] [--trials N] [--seed N]
[--server Xvfb]`` runs a part of it and says on standard error what did not arrive.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path

from gym_anything.runtime.native.locate import native_program
from tests.integration.desktop.screen import XVNC
from tests.integration.desktop.typing_matrix.targets import MATRIX, TARGETS
from tests.integration.desktop.typing_matrix.texts import LAYOUTS, LENGTH, SCRIPTS
from tests.integration.desktop.typing_matrix.trials import Trial, opened, trials

Cells = dict[tuple[str, str, str], list[Trial]]


def measure(app: str, options: argparse.Namespace) -> Cells:
    """Run an application's cells; a line on standard error for each."""
    cells: Cells = {}
    with (
        tempfile.TemporaryDirectory(prefix="ga-typing-") as folder,
        opened(TARGETS[app], native_program("ga-desktop"), Path(folder), options.server) as target,
    ):
        for layout in options.layouts:
            for script in options.scripts:
                cell = list(trials(target, layout, script, options.trials, options.seed))
                cells[app, layout, script] = cell
                wrong = [trial.difference() for trial in cell if not trial.exact]
                said = f"{app} {layout} {script}: {len(cell) - len(wrong)} of {len(cell)} exact, {_p50(cell):.1f} ms, read back after {statistics.median(t.arrived_ms for t in cell):.0f} ms"
                print(said, *wrong[:3], sep="\n    ", file=sys.stderr, flush=True)
    return cells


def _p50(cell: list[Trial]) -> float:
    return statistics.median(trial.ack_ms for trial in cell)


def summary(cells: Cells) -> dict[str, float]:
    """Counts over all, and for each application and script over its layouts; speeds are medians."""
    every = [trial for cell in cells.values() for trial in cell]
    found: dict[str, float] = {"trials": len(every), "exact": sum(trial.exact for trial in every)}
    found["exact_percent"] = round(100 * found["exact"] / found["trials"], 3)
    for app, script in dict.fromkeys((app, script) for app, _, script in cells):
        of_both = [t for key, cell in cells.items() if (key[0], key[2]) == (app, script) for t in cell]
        found[f"{app}_{script}_trials"] = len(of_both)
        found[f"{app}_{script}_exact"] = sum(trial.exact for trial in of_both)
        found[f"{app}_{script}_ack_ms_p50"] = round(_p50(of_both), 2)
        found[f"{app}_{script}_arrived_ms_p50"] = round(statistics.median(t.arrived_ms for t in of_both), 2)
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    for name, every in (("apps", MATRIX), ("layouts", LAYOUTS), ("scripts", SCRIPTS)):
        parser.add_argument(f"--{name}", type=lambda text: text.split(","), default=list(every))
    parser.add_argument("--trials", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--server", default=XVNC)
    parser.add_argument("--jobs", type=int, default=2, help="applications at once, each on a screen of its own")
    options = parser.parse_args()
    cells: Cells = {}
    with ProcessPoolExecutor(options.jobs) as pool:
        slowest_first = sorted(options.apps, key=lambda app: app != "office")
        for of_app in pool.map(measure, slowest_first, repeat(options)):
            cells |= of_app
    series = {
        f"{'_'.join(key)}_exact_of_{len(cell)}": [float(sum(trial.exact for trial in cell))]
        for key, cell in cells.items()
    }
    series |= {f"{'_'.join(key)}_ack_ms": [round(trial.ack_ms, 2) for trial in cell] for key, cell in cells.items()}
    conditions = (
        f"{options.server}, openbox, {LENGTH} characters a text, seed {options.seed}, read back past the keyboard, "
        f"{options.jobs} applications at once"
    )
    print(json.dumps({"summary": summary(cells), "series": series, "conditions": conditions}))


if __name__ == "__main__":
    main()
