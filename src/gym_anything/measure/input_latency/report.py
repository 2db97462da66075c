"""Measure how long input takes in worlds, prove that their applications got it, and say what was found."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gym_anything.episode.env import GymAnythingEnv
from gym_anything.episode.factory import make
from gym_anything.errors import DeadlineExceeded, GuestCommandFailed, UnsupportedFeature
from gym_anything.measure.input_latency import editor, events, map_in_browser
from gym_anything.measure.input_latency.contact_sheet import contact_sheet
from gym_anything.measure.input_latency.editor import Editor
from gym_anything.measure.input_latency.evidence import PARTS, Check, Evidence
from gym_anything.measure.input_latency.guest_desktop import Box, GuestDesktop
from gym_anything.measure.input_latency.map_in_browser import MapPage
from gym_anything.measure.input_latency.timed_actions import TimedAction, given_action, usual_actions
from gym_anything.measure.input_latency.timing import BOUNDARIES, Times, time_actions

SCHEMA = 1
"""Grows when a program that reads the document must change."""

CONDITIONS = (
    "milliseconds; both boundaries and all actions by turns, the screen at rest before each; two rounds uncounted"
)
OnNews = Callable[[str, float], None]
"""Told what is being done, and how much of the whole is done (0 to 1)."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is measured.

    Attributes:
        env: an environment's folder; None: the plainest desktop.
        rounds: how often each action is timed at each boundary.
        repetitions: how often each is done while events are counted.
        fast_io: None: where the runner has it.
        resolution: of the plainest desktop, in pixels.
        evidence: keys of ``PARTS``.
        actions: JSON texts of actions to time in place of the usual ones.
    """

    env: Path | None = None
    rounds: int = 20
    repetitions: int = 10
    fast_io: bool | None = None
    resolution: tuple[int, int] = (1280, 800)
    evidence: Collection[str] = tuple(PARTS)
    actions: tuple[str, ...] = ()


@dataclass
class WorldReport:
    """What was found in one world.

    Attributes:
        runner: key or locator.
        over: what lay under the pointer while input was timed.
    """

    runner: str
    fast_io: bool
    acknowledged: bool
    screen: tuple[int, int] | None
    over: str = "the bare desktop"
    start_s: float = 0.0
    times: Times = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)
    evidence: Evidence = field(default_factory=Evidence)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; every key is always there."""
        return {
            "runner": self.runner,
            "fast_io": self.fast_io,
            "acks_input_delivery": self.acknowledged,
            "screen": list(self.screen) if self.screen else None,
            "start_s": round(self.start_s, 3),
            "over": self.over,
            "actions": self.titles,
            "boundaries": {
                boundary: {action: samples.to_dict() for action, samples in actions.items()}
                for boundary, actions in self.times.items()
            },
            "devices": self.evidence.devices,
            "events": self.evidence.events,
            "checks": [check.to_dict() for check in self.evidence.checks],
            "left_out": self.evidence.left_out,
            "ok": self.evidence.ok,
        }

    def write(self, folder: Path) -> list[Path]:
        """Write the report, the files that were saved and the contact sheets; returns their paths."""
        folder.mkdir(parents=True, exist_ok=True)
        written = []
        for name, content in self.evidence.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
            written.append(folder / name)
        for name, strips in self.evidence.sheets.items():
            path = folder / f"{name}.png"
            contact_sheet(f"{name.capitalize()} in a world of {self.runner}", strips).save(path)
            written.append(path)
        report = folder / "report.json"
        report.write_text(json.dumps(self.to_dict(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        return [*written, report]


def document(reports: Iterable[WorldReport], request: Request) -> dict[str, Any]:
    """Return what ``--json`` prints: schema, conditions, rounds, what the boundaries are, worlds."""
    worlds = [report.to_dict() for report in reports]
    return {
        "schema": SCHEMA,
        "conditions": CONDITIONS,
        "rounds": request.rounds,
        "boundaries": BOUNDARIES,
        "worlds": worlds,
        "ok": all(world["ok"] for world in worlds),
    }


def measure_input_latency(
    runner: str | None, request: Request, on_news: OnNews = lambda what, share: None
) -> WorldReport:
    """Measure one world, from its start to its end. Nothing is left, however it ends.

    Args: runner: key or locator; None: the one that the environment would get.
    Raises: what making and starting a world raises; ActionUnsupported for an action that the world cannot do.
    """
    with (
        tempfile.TemporaryDirectory(prefix="gym-anything-latency-") as folder,
        _environment(runner, request, folder) as env,
    ):
        if not env.runner.has_screen() and not request.actions:
            fix = "give the actions that it takes: --action JSON"
            raise UnsupportedFeature(f"{env.runner_name} has no screen to click on; {fix}", detail={"fix": fix})
        fast = request.fast_io if request.fast_io is not None else env.runner.supports_fast_io()
        on_news("start", 0.0)
        began = time.perf_counter()
        env.reset()
        size = env.runner.screen_size()
        if size is None and env.runner.has_screen():
            raise UnsupportedFeature(f"{env.runner_name} does not say how large its screen is")
        report = WorldReport(env.runner_name, fast, env.runner.acks_input_delivery(), size)
        report.start_s = time.perf_counter() - began
        desktop = GuestDesktop(env.runner)
        try:
            _look_and_time(env, desktop, request, report, on_news)
        finally:
            desktop.close()
    return report


def _environment(runner: str | None, request: Request, folder: str) -> GymAnythingEnv:
    recording = {"enable": False, "output_dir": folder}
    plain = {
        "id": "input-latency@1",
        "base": "debian-desktop",
        "observation": [{"type": "rgb_screen", "resolution": list(request.resolution)}],
        "action": [{"type": "mouse"}, {"type": "keyboard"}],
        "resources": {"cpu": 2, "mem_gb": 1, "net": False},
    }
    source: Path | dict[str, Any] = request.env or plain
    overrides, fast = {"recording": recording}, request.fast_io
    if fast is None:
        fast = make(source, overrides=overrides, runner=runner).runner.supports_fast_io()
    return make(source, overrides=overrides, runner=runner, fast_io=fast)


def _look_and_time(
    env: GymAnythingEnv, desktop: GuestDesktop, request: Request, report: WorldReport, on_news: OnNews
) -> None:
    found, size = report.evidence, report.screen
    width, height = size or (0, 0)
    box: Box = (width // 4, height // 4, width // 2, height // 2)
    opened = _editor(desktop, request, found, on_news)
    if opened is not None:
        box, report.over = opened.box, "a text editor"
    elif size is None:
        report.over = "no screen"
    actions = [given_action(text, size) for text in request.actions] or usual_actions(box)
    report.titles = {action.key: action.title for action in actions}
    on_news("times", 0.15)
    report.times = time_actions(
        env, desktop, actions, request.rounds, lambda share: on_news("times", 0.15 + 0.55 * share)
    )
    if "events" in request.evidence:
        on_news("events", 0.7)
        _part(desktop, found, "events", events.PROGRAMS, lambda: _count(desktop, actions, request, found))
    if {"map", "menus"} & set(request.evidence):
        on_news("map", 0.8)
        _part(desktop, found, "map", map_in_browser.PROGRAMS, lambda: _map(desktop, request, found))
    on_news("done", 1.0)


def _editor(desktop: GuestDesktop, request: Request, found: Evidence, on_news: OnNews) -> Editor | None:
    """Open the editor, where the world has it: input is timed over it, whether or not it is looked at."""
    on_news("editor", 0.05)
    opened: list[Editor] = []

    def look() -> None:
        opened.append(Editor(desktop))
        if "editor" in request.evidence:
            opened[0].try_gestures(found)
        if "menus" in request.evidence:
            opened[0].show_menu(found)

    _part(desktop, found, "editor", editor.PROGRAMS, look)
    return opened[0] if opened else None


def _map(desktop: GuestDesktop, request: Request, found: Evidence) -> None:
    page = MapPage(desktop)
    if "map" in request.evidence:
        page.try_all(found)
    if "menus" in request.evidence:
        page.show_menu(found)


def _count(desktop: GuestDesktop, actions: list[TimedAction], request: Request, found: Evidence) -> None:
    if request.actions:
        found.left_out["events"] = "nobody knows how many events the given actions make"
    else:
        events.count_events(desktop, actions, request.repetitions, found)


def _part(
    desktop: GuestDesktop, found: Evidence, part: str, programs: tuple[str, ...], look: Callable[[], None]
) -> None:
    """Look at one part; where the world lacks what it takes, say so; a program that fails is a check that failed."""
    missing = desktop.missing(*programs)
    if missing:
        found.left_out[part] = missing
        return
    try:
        look()
    except (GuestCommandFailed, DeadlineExceeded) as error:
        found.checks.append(Check(part, "its program works", "yes", str(error), False))
