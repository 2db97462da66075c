"""Make the pictures of ``docs/how-to/view.md``: runs written for the purpose, looked at in a real browser.

``python -m tools.view_pictures`` takes seconds: nobody plays. The screen in them is that of ``docs/images/episode.png``, which
is a real one; what the agents think and what they score is made up.
"""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image
from tests.viewed_runs import add_run, request
from tests.viewer_browser import browser, wait_shown

from gym_anything.benchmark.results import ResultsFolder
from gym_anything.dashboard.server import ViewServer
from gym_anything.episode.outcome import Outcome

PICTURES = Path(__file__).parents[1] / "docs" / "images"
SCREEN, SIZE = PICTURES / "episode.png", (1280, 720)
LARGEST_BYTES = 200_000
ENV, TASK = "debian_desktop", "file_report"
PROMPT = "Put report-3.txt into the folder Travel, then add a line about it to guests.txt and save that file."
TASKS = ("count_lines", "fill_sheet", "find_invoice", "rename_photos", "sort_scores", "write_note", "zip_folder")

STEPS: tuple[dict[str, Any], ...] = (
    {
        "actions": [{"mouse": {"left_click": [326, 42]}}],
        "metadata": {"thought": "Three windows are open. The file manager shows the reports; I bring it to the front."},
    },
    {
        "actions": [{"mouse": {"left_click_drag": [[242, 168], [366, 120]]}}],
        "metadata": {
            "thought": "report-3.txt lies below Photos. I drag it onto the folder Travel, two to the right above it."
        },
    },
    {
        "actions": [{"mouse": {"left_click": [400, 516]}}, {"keyboard": {"keys": ["End"]}}],
        "metadata": {"thought": "Now the letter: the new line goes after the one about the restaurant."},
    },
    {
        "actions": [
            {"keyboard": {"text": "\nThe report is filed under Travel."}},
            {"keyboard": {"keys": ["ctrl", "s"]}},
        ],
        "metadata": {"thought": "I type the line and save."},
    },
)


def write_runs(results: ResultsFolder) -> tuple[str, str]:
    """Write an experiment; returns the addresses of two runs of one task."""
    rng = random.Random(7)
    shown: dict[str, Any] = {"size": SIZE, "frame": SCREEN, "prompt": PROMPT}
    good = add_run(
        results,
        request(TASK, "model-large", ENV),
        Outcome.passed(100, "filed, and the line is there"),
        steps=STEPS,
        **shown,
    )
    lost = (
        STEPS[0],
        {
            "actions": [{"mouse": {"double_click": [242, 172]}}],
            "metadata": {"thought": "I open the report to read it first."},
        },
    )
    poor = add_run(
        results, request(TASK, "model-small", ENV), Outcome.failed(60, "missing: text is right"), steps=lost, **shown
    )
    for task in TASKS:
        for model, chance in (("model-large", 0.75), ("model-small", 0.4)):
            for attempt in range(2):
                asked, seconds = request(task, model, ENV, attempt=attempt), round(rng.uniform(14, 70), 1)
                outcome = (
                    Outcome.passed(100, "everything is as asked")
                    if rng.random() < chance
                    else Outcome.failed(60, "missing: text is right")
                )
                if rng.random() < 0.07:
                    outcome = Outcome.broken("world", "while starting the world: it did not answer within 60 s")
                add_run(results, asked, outcome, steps=None, seconds=seconds)
    add_run(results, request("zip_folder", "model-small", ENV, attempt=2), None, steps=None)
    return "/".join(good.parts[-5:]), "/".join(poor.parts[-5:])


def take(page: Any, name: str) -> None:
    """Keep what the page shows, in few enough colours to be small."""
    path = PICTURES / f"view-{name}.png"
    page.screenshot(path=path)
    with Image.open(path) as picture:
        small = picture.convert("RGB").quantize(256, Image.Quantize.MEDIANCUT, dither=Image.Dither.FLOYDSTEINBERG)
    small.save(path, optimize=True)
    print(f"wrote {path.name}: {small.width}x{small.height}, {path.stat().st_size // 1000} kB")
    assert path.stat().st_size <= LARGEST_BYTES


def go(page: Any, place: str, what: str) -> None:
    """Follow a link within the page, and wait until it is there."""
    page.evaluate("place => { location.hash = place; }", place)
    wait_shown(page, what)


def main() -> None:
    """Write, look, and keep the pictures."""
    with tempfile.TemporaryDirectory() as scratch, browser() as chromium:
        results = ResultsFolder(Path(scratch), "pilot")
        good, poor = write_runs(results)
        with ViewServer({"pilot": results.exp_dir}) as server:
            page = chromium.new_page(viewport={"width": 1180, "height": 480})
            page.goto(server.url)
            wait_shown(page, "list")
            take(page, "list")
            page.keyboard.press("g")
            take(page, "grid")
            page.set_viewport_size({"width": 1180, "height": 700})
            page.emulate_media(color_scheme="dark")
            go(page, f"#/run/{good}?step=2", f"run {good}")
            take(page, "episode")
            page.emulate_media(color_scheme="light")
            both = "/".join(run.replace("/", "%2F") for run in (good, poor))
            go(page, f"#/compare/{both}?step=2", f"compare {good} {poor}")
            take(page, "compare")
            page.set_viewport_size({"width": 390, "height": 780})
            go(page, f"#/run/{good}?step=4", f"run {good}")
            take(page, "phone")


if __name__ == "__main__":
    main()
