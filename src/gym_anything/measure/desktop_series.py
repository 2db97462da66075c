"""The series of times: pictures, clicks, steps, text. Each turn also checks that what it measured was really done."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.episode.env import GymAnythingEnv
from gym_anything.measure.desktop_rig import FULL, PART, SIZE, Rig
from gym_anything.measure.desktop_ways import Ways, pixel_of
from gym_anything.measure.desktop_windows import ReactingWindow, Terminal
from gym_anything.measure.desktop_world import MeasuredWorld
from gym_anything.measure.turns import OnRound, Series, Turn, take_turns, timed_ms
from gym_anything.measure.typed_text import ASCII, MIXED, arrived_in_order
from gym_anything.measure.way import OURS, Way
from gym_anything.runtime.desktop.x_client import Box
from gym_anything.specs.env_spec import EnvSpec

_PIXEL_S = 10.0
_NO_LIMIT = 1_000_000
_TEXTS = {
    "type_ascii_1000": ("1,000 ASCII characters typed", ASCII),
    "type_mixed_120": ("120 of many scripts typed", MIXED),
}


def see(rig: Rig, ways: Ways, rounds: int, on_round: OnRound) -> list[Series]:
    """Get the screen: as it was, right after a full change, right after one of 400x300."""
    changes: list[tuple[Series, Box | None]] = [
        (Series("see_unchanged", "picture, screen unchanged"), None),
        (Series("see_full_change", "picture after a full change"), FULL),
        (Series("see_part_change", "picture after a 400x300 change"), PART),
    ]
    return [_see_after(rig, ways, series, box, rounds, on_round) for series, box in changes]


def _see_after(rig: Rig, ways: Ways, series: Series, box: Box | None, rounds: int, on_round: OnRound) -> Series:
    colour, (x, y, *_) = rig.paint(0), box or FULL

    def sample(way: Way, number: int) -> Turn:
        expected = colour if box is None else rig.paint(number, box)
        taken, picture = _timed(way.do)
        return Turn(taken, right=pixel_of(picture, x, y) == expected)

    return take_turns(series, ways.to_see(), rounds, sample, on_round)


def click(rig: Rig, ways: Ways, rounds: int, on_round: OnRound) -> list[Series]:
    """Click: until it is acknowledged, and until the way's own eyes see what a window made of it."""

    def acknowledged(way: Way, number: int) -> Turn:
        x, y = 100 + number % 900, 100 + number % 700
        taken = timed_ms(lambda: way.do(x, y))
        there = rig.painter.has_press() and rig.painter.pointer() == (x, y)
        rig.painter.next_press()  # one that came late must not be taken for the next turn's
        return Turn(taken, right=there)

    acknowledgement = Series("click_acknowledged", "click, acknowledged")
    take_turns(acknowledgement, ways.to_click(), rounds, acknowledged, on_round)
    pairs = ways.to_click_and_see()
    eyes = {way.key: see for way, see in pairs}

    def to_pixel(way: Way, number: int) -> Turn:
        see = eyes[way.key]
        before = pixel_of(see(), 900, 900)

        def click_and_look() -> None:
            way.do(500, 500)
            wait_until(
                lambda: pixel_of(see(), 900, 900) != before,
                deadline=Deadline.after(_PIXEL_S),
                awaited=f"the changed pixel, by {way.name}",
                sleep=lambda pause_s: None,  # looks again at once
            )

        return Turn(timed_ms(click_and_look))

    with ReactingWindow(rig):
        pixel = Series("click_to_pixel", "click to changed pixel")
        return [acknowledgement, take_turns(pixel, [way for way, _ in pairs], rounds, to_pixel, on_round)]


def step(rig: Rig, ways: Ways, rounds: int, on_round: OnRound) -> list[Series]:
    """One click and then the picture: by ``env.step`` in fast mode, and as the other ways do it.

    The second series is ``env.step`` by itself: nothing on the screen has changed.
    """
    with tempfile.TemporaryDirectory(dir=rig.folder) as folder, _environment(rig, folder) as env:
        env.reset()
        env.set_episode_limits(max_steps=_NO_LIMIT)

        def screen_of(x: int) -> Any:
            observation, *_ = env.step({"mouse": {"left_click": [x, 300]}})
            return observation["screen"]

        def both(way: Way, see: Callable[[], Any], x: int) -> Any:
            way.do(x, 300)
            return see()

        ours = [
            Way(OURS, "ours, env.step", lambda x: screen_of(x)["array"]),
            Way("ours_image", "ours, env.step, PIL image", lambda x: screen_of(x)["image"]),
        ]
        others = [
            Way(way.key, way.name, partial(both, way, see), way.missing)
            for way, see in ways.to_click_and_see()
            if not way.is_ours
        ]

        def sample(way: Way, number: int, box: Box | None = PART) -> Turn:
            colour = rig.paint(number, box) if box else None
            taken, picture = _timed(lambda: way.do(100 + number % 900))
            right = rig.painter.has_press() and colour in (None, pixel_of(picture, PART[0], PART[1]))
            rig.painter.next_press()
            return Turn(taken, right=right)

        changed = Series("step", "step: click, then picture")
        unchanged = Series("step_unchanged", "step, screen unchanged")
        return [
            take_turns(changed, [*ours, *others], rounds, sample, on_round),
            take_turns(unchanged, ours, rounds, partial(sample, box=None), on_round),
        ]


def _environment(rig: Rig, folder: str) -> GymAnythingEnv:
    width, height = SIZE
    given: dict[str, Any] = {
        "id": "measured@1",
        "observation": [{"type": "rgb_screen", "resolution": [width, height]}],
        "action": [{"type": "mouse"}],
        "recording": {"enable": False, "output_dir": folder},
    }
    spec = EnvSpec.from_dict(given)
    return GymAnythingEnv(spec, runner=MeasuredWorld(spec, rig.desktop), fast_io=True)


def type_text(rig: Rig, ways: Ways, rounds: int, on_round: OnRound) -> list[Series]:
    """Type until the last character has arrived in a terminal; how many did, and whether the text is the same."""
    found = []
    with Terminal(rig) as terminal:
        for key, (title, text) in _TEXTS.items():

            def sample(way: Way, number: int, text: str = text) -> Turn:
                began = time.perf_counter()
                way.do(text)
                arrived, at = terminal.take(text)
                return Turn((at - began) * 1000, arrived == text, arrived_in_order(text, arrived))

            series = Series(key, title, characters=len(text))
            found.append(take_turns(series, ways.to_type(), rounds, sample, on_round, ours_per_round=1))
    return found


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return how long a call takes, in milliseconds, and what it gives."""
    began = time.perf_counter()
    given = call()
    return (time.perf_counter() - began) * 1000, given
