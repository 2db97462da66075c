"""The series: the ways take turns in every round, so that whatever the machine does meets them all alike."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.episode.env import GymAnythingEnv
from gym_anything.measure.desktop_rig import SIZE, Rig
from gym_anything.measure.desktop_ways import OURS, Way, ways_to_click, ways_to_see, ways_to_type
from gym_anything.measure.desktop_world import MeasuredWorld
from gym_anything.specs.env_spec import EnvSpec

Samples = dict[str, list[float]]
"""Way to what was measured."""

TEXT = ("".join(chr(code) for code in range(0x20, 0x7F)) * 11)[:1000]
_OURS_PER_ROUND = 5
_CPU_S = 2.0
_CHANGES_PER_S = 60
_PIXEL_S = 10.0


def timed_ms(call: Callable[[], object]) -> float:
    """Return how long a call takes, in milliseconds."""
    began = time.perf_counter()
    call()
    return (time.perf_counter() - began) * 1000


def _take_turns(
    ways: Sequence[Way], rounds: int, sample: Callable[[Way, int], float], *, times: int = _OURS_PER_ROUND
) -> Samples:
    """Let every way there is have its turn in every round; ours several, since it varies by microseconds."""
    found: Samples = {way.name: [] for way in ways if way.missing is None}
    number = 0
    for _ in range(rounds):
        for way in ways:
            for _ in range(times if way.name.startswith(OURS) else 1):
                number += 1
                if way.missing is None:
                    found[way.name].append(sample(way, number))
    return found


def see(rig: Rig, rounds: int) -> dict[str, Samples]:
    """Get the screen: as it was, after a full change, after one of 400x300."""
    ways = ways_to_see(rig)

    def after(width: int, height: int) -> Callable[[Way, int], float]:
        def sample(way: Way, number: int) -> float:
            if width:
                rig.painter.fill(number % 0xFFFFFF, 0, 0, width, height)
            return timed_ms(way.do)

        return sample

    return {
        "screenshot, unchanged": _take_turns(ways, rounds, after(0, 0)),
        "screenshot, after a full change": _take_turns(ways, rounds, after(*SIZE)),
        "screenshot, after a change of 400x300": _take_turns(ways, rounds, after(400, 300)),
    }


def click(rig: Rig, rounds: int) -> dict[str, Samples]:
    """Click: until it is acknowledged, and until the pixel that it changes has been seen by our frames."""
    ways = ways_to_click(rig)

    def acknowledged(way: Way, number: int) -> float:
        taken = timed_ms(lambda: way.do(100 + number % 900, 100 + number % 700))
        rig.painter.next_press()
        return taken

    def until_pixel(way: Way, number: int) -> float:
        colour = (number * 7919) & 0xFFFFFF

        def click_and_look() -> None:
            way.do(500, 500)
            rig.painter.next_press()
            rig.painter.fill(colour, 0, 0, *SIZE)
            wait_until(lambda: _shows(rig, colour), deadline=Deadline.after(_PIXEL_S), awaited="the pixel")

        return timed_ms(click_and_look)

    return {
        "click, acknowledged": _take_turns(ways, rounds, acknowledged),
        "click to changed pixel": _take_turns(ways, rounds, until_pixel),
    }


def _shows(rig: Rig, colour: int) -> bool:
    return bytes(rig.desktop.frame().array[900, 900]) == colour.to_bytes(3, "big")


def type_text(rig: Rig, rounds: int) -> tuple[dict[str, Samples], dict[str, int]]:
    """Type 1,000 characters until they have arrived in a terminal.

    Returns: the series; and per way, how many rounds arrived with another text than was typed.
    """
    terminal, wrong = rig.open_terminal(), dict[str, int]()

    def sample(way: Way, number: int) -> float:
        began = time.perf_counter()
        way.do(TEXT)
        arrived = terminal.take(len(TEXT))
        taken = (time.perf_counter() - began) * 1000
        wrong[way.name] = wrong.get(way.name, 0) + (arrived != TEXT)
        return taken

    try:
        return {"typing 1,000 characters, arrived": _take_turns(ways_to_type(rig), rounds, sample, times=1)}, wrong
    finally:
        terminal.close()


def step(rig: Rig, rounds: int) -> dict[str, Samples]:
    """``env.step`` with one click in fast mode, on a world that is only this desktop."""
    width, height = SIZE
    with tempfile.TemporaryDirectory() as folder:
        given: dict[str, Any] = {
            "id": "measured@1",
            "observation": [{"type": "rgb_screen", "resolution": [width, height]}],
            "action": [{"type": "mouse"}],
            "recording": {"enable": False, "output_dir": folder},
        }
        spec = EnvSpec.from_dict(given)
        with GymAnythingEnv(spec, runner=MeasuredWorld(spec, rig.desktop), fast_io=True) as env:
            env.reset()

            def sample(way: Way, number: int) -> float:
                return timed_ms(lambda: env.step({"mouse": {"left_click": [100 + number % 900, 300]}}))

            return {"env.step with one click, fast mode": _take_turns([Way(OURS, env.step)], rounds, sample)}


def cost(rig: Rig) -> dict[str, Samples]:
    """What the service costs: processor time at 60 full changes a second and at rest, memory."""
    rig.desktop.frame()
    in_use = rig.memory_mib()
    busy = _share_percent(rig, lambda number: rig.painter.fill(number, 0, 0, *SIZE), _CHANGES_PER_S)
    rest = _share_percent(rig, lambda number: None, 1)
    return {
        "service CPU at 60 full changes a second, %": {OURS: [busy]},
        "service CPU at rest, %": {OURS: [rest]},
        "service memory, MiB": {OURS: [in_use]},
        "start: X server and service to the first frame": {OURS: [rig.start_ms]},
    }


def _share_percent(rig: Rig, act: Callable[[int], object], per_s: int) -> float:
    """Return the processor's share of the service while something is done so often, and newest frames are asked for."""
    used, began = rig.processor_s(), time.monotonic()
    for number in range(int(_CPU_S * per_s)):
        act(number)
        if number % per_s == 0:
            rig.desktop.newest()
        _await_time(began + (number + 1) / per_s)
    return (rig.processor_s() - used) / (time.monotonic() - began) * 100


def _await_time(due: float) -> None:
    wait_until(lambda: time.monotonic() >= due, deadline=Deadline.after(60), awaited="the time", poll_s=0.002)
