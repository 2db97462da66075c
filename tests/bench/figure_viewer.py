"""How long the viewer's pages take in a real browser: a list of 10,000 runs, and one episode with frames in full size.

The folders are written by the writers of real runs. The server is a process of its own, as ``gym-anything view`` starts
it. Times are the browser's own, from the start of the navigation (or the key that opens a run) to the second frame
after everything stands on the page; for an episode its first picture is decoded by then.
"""

from __future__ import annotations

import contextlib
import json
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gym_anything.benchmark.results import ResultsFolder
from gym_anything.episode.outcome import Outcome
from tests.viewed_runs import STEPS, add_run, request
from tests.viewer_browser import browser, wait_shown

TASKS, MODELS, ATTEMPTS = 500, 4, 5
EPISODE_STEPS = 200
SCREEN = (1920, 1080)
TIMES = 9


def make_runs(root: Path) -> ResultsFolder:
    """Write 10,000 runs, a few with all artifacts."""
    results, rng = ResultsFolder(root, "many"), random.Random(1)
    for task in range(TASKS):
        for model in range(MODELS):
            for attempt in range(ATTEMPTS):
                asked = request(f"task_{task:03d}", f"model-{model}", f"env_{task % 10}", attempt, attempt)
                story = f"missing: part {rng.randrange(9)} of the document is not as it should be"
                outcome = (
                    Outcome.failed(rng.randrange(100), story)
                    if rng.random() < 0.6
                    else Outcome.passed(100, "all there")
                )
                add_run(results, asked, outcome, steps=None)
    return results


def add_episodes(results: ResultsFolder) -> list[str]:
    """Write long episodes; returns their addresses."""
    found = []
    for number in range(TIMES):
        run = add_run(
            results,
            request(f"long_{number}", "model-0"),
            Outcome.passed(100),
            steps=[STEPS[n % len(STEPS)] for n in range(EPISODE_STEPS)],
            size=SCREEN,
        )
        found.append("/".join(run.parts[-5:]))
    return found


@contextlib.contextmanager
def served(exp_dir: Path) -> Iterator[str]:
    """Serve an experiment by the command; yields the address."""
    command = [sys.executable, "-m", "gym_anything.cli.main", "view", str(exp_dir)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().rpartition(" ")[2].strip()
        finally:
            process.terminate()


def opened_ms(page: Any, url: str) -> float:
    """Open the list in a page of its own and return when it is there, in ms from the start of the navigation."""
    page.goto(url)
    wait_shown(page, "list")
    return float(page.evaluate("performance.getEntriesByName('shown:list')[0].startTime"))


def episode_ms(page: Any, run: str) -> float:
    """Open one run from the list and return how long that takes, in ms."""
    page.evaluate("run => { window.began = performance.now(); location.hash = '#/run/' + run; }", run)
    wait_shown(page, f"run {run}")
    took = page.evaluate("run => performance.getEntriesByName('shown:run ' + run)[0].startTime - began", run)
    page.evaluate("location.hash = '#/'")
    wait_shown(page, "list")
    return float(took)


def main() -> None:
    """Measure and print the record."""
    series: dict[str, list[float]] = {"list_ms": [], "episode_ms": [], "filter_ms": []}
    with tempfile.TemporaryDirectory(prefix="ga-view-") as scratch, browser() as chromium:
        results = make_runs(Path(scratch))
        runs = add_episodes(results)
        with served(results.exp_dir) as url:
            first = opened_ms(chromium.new_page(), url)  # makes the index, too
        with served(results.exp_dir) as url:
            page = chromium.new_page()
            for _ in range(TIMES):
                series["list_ms"].append(round(opened_ms(page, url), 1))
            for run in runs:
                series["episode_ms"].append(round(episode_ms(page, run), 1))
            for word in ("task_123", "part 3", "env:env_7 -model-2"):
                series["filter_ms"].append(round(filter_ms(page, word), 1))
    summary: dict[str, float] = {"runs": TASKS * MODELS * ATTEMPTS + TIMES, "first_list_s": round(first / 1000, 2)}
    for name in ("list", "episode", "filter"):
        values = series[f"{name}_ms"]
        summary[f"{name}_s_p50"] = round(statistics.median(values) / 1000, 3)
        summary[f"{name}_s_max"] = round(max(values) / 1000, 3)
    conditions = (
        f"Chromium without a window; {summary['runs']} runs by the real writers; episodes of {EPISODE_STEPS} steps at "
        f"{SCREEN[0]} × {SCREEN[1]}; files in the page cache; the first list also makes the index"
    )
    print(json.dumps({"summary": summary, "series": series, "conditions": conditions}))


def filter_ms(page: Any, words: str) -> float:
    """Type into the filter; returns how long the list takes to follow, in ms."""
    script = """async words => {
        const field = document.getElementById("search"), began = performance.now();
        field.value = words;
        field.dispatchEvent(new Event("input"));
        await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
        return performance.now() - began;
    }"""
    return float(page.evaluate(script, words))


if __name__ == "__main__":
    main()
