"""How many events the X server gets of each action, and from which of its input devices."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.measure.input_latency.evidence import Check, Evidence
from gym_anything.measure.input_latency.guest_desktop import FOLDER, GuestDesktop, last_answer
from gym_anything.measure.input_latency.timed_actions import TimedAction

PROGRAMS = ("python3",)
KINDS = ("key_press", "key_release", "button_press", "button_release", "motion")
_START_S, _COUNT_S = 60.0, 20.0
_PART = "events"
Counts = dict[str, dict[str, int]]
"""Device -> event -> how many."""


@dataclass(frozen=True, slots=True)
class Expected:
    """How many events there must be.

    Attributes:
        exact: event -> exactly so many.
        at_least: event -> so many or more.
    """

    exact: dict[str, int]
    at_least: dict[str, int]

    @classmethod
    def of(cls, action: TimedAction, repetitions: int) -> Expected:
        """Return what so many repetitions of an action make."""
        presses, keys = action.presses * repetitions, action.keys * repetitions
        exact = {"button_press": presses, "button_release": presses}
        if action.is_text:  # a capital letter may need a shift, too
            return cls(exact, {"key_press": keys, "key_release": keys})
        return cls({**exact, "key_press": keys, "key_release": keys}, {"motion": action.motions * repetitions})

    def met_by(self, counts: Counts) -> bool:
        """Tell whether the events of all devices together are as many."""
        total = totals(counts)
        exactly = all(total[kind] == count for kind, count in self.exact.items())
        return exactly and all(total[kind] >= count for kind, count in self.at_least.items())

    def __str__(self) -> str:
        return _words(self.exact) + "".join(
            f", {count}+ {_name(kind)}" for kind, count in self.at_least.items() if count
        )


def totals(counts: Counts) -> dict[str, int]:
    """Return the events of all devices together."""
    return {kind: sum(events.get(kind, 0) for events in counts.values()) for kind in KINDS}


class EventWatch:
    """The program in the world that counts; ``close`` ends it."""

    def __init__(self, desktop: GuestDesktop) -> None:
        """Start it. Raises: DeadlineExceeded with what it said."""
        self._desktop = desktop
        log = f"{FOLDER}/watch.log"
        program = desktop.put("watch_events.py")
        self._process = desktop.runner.exec_async(f"exec python3 {program} {FOLDER} >{log} 2>&1")
        self.devices: list[dict[str, Any]] = wait_until(
            lambda: json.loads(desktop.read(f"{FOLDER}/devices.json") or b"[]"),
            deadline=Deadline.after(_START_S),
            awaited="the list of input devices",
            log_tail=lambda: (desktop.read(log) or b"").decode("utf-8", "replace")[-600:],
        )
        self._before: Counts = {}

    def count(self, expected: Expected, awaited: str) -> Counts:
        """Return what was counted since the last call, once it is as expected; else what it came to."""
        now: Counts = {}

        def since() -> Counts:
            nonlocal now
            now = json.loads(self._desktop.read(f"{FOLDER}/counts.json") or b"{}")
            return _difference(now, self._before)

        counted = last_answer(since, expected.met_by, _COUNT_S, awaited)
        self._before = now
        return counted

    def close(self) -> None:
        """End it."""
        self._process.kill()


def count_events(desktop: GuestDesktop, actions: list[TimedAction], repetitions: int, found: Evidence) -> None:
    """Do each action so many times and compare what the X server got with what it must have got."""
    watch = EventWatch(desktop)
    try:
        found.devices = watch.devices
        for action in actions:
            for number in range(repetitions):
                desktop.act(action.make(number), *action.after)
            desktop.rest()
            expected = Expected.of(action, repetitions)
            counts = watch.count(expected, f"the events of {action.title}")
            found.events[action.key] = {"repetitions": repetitions, "devices": counts}
            name = f"{action.title}{' and Escape' if action.after else ''}, {repetitions} times"
            ok = expected.met_by(counts)
            found.checks.append(Check(_PART, name, str(expected), _words(totals(counts)), ok))
    finally:
        watch.close()


def _difference(now: Counts, before: Counts) -> Counts:
    """Return what has come since; devices of which nothing has come are left out."""
    since = {
        device: {kind: count - before.get(device, {}).get(kind, 0) for kind, count in events.items()}
        for device, events in now.items()
    }
    return {device: events for device, events in since.items() if any(events.values())}


def _words(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {_name(kind)}" for kind, count in counts.items() if count) or "none"


def _name(kind: str) -> str:
    return kind.replace("_", " ")
