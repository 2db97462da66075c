"""Pictures of a QEMU world in its three ways, by turns: asked for, sent by QEMU, written by the guest."""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gym_anything import from_config
from gym_anything.measure.fork_bare import BareClone
from gym_anything.measure.fork_clones import Source, bare_clone
from gym_anything.runtime.qemu.accelerator import choose_accelerator
from gym_anything.runtime.qemu.machine_spec import FRAMES
from gym_anything.runtime.qemu.templates import STATE

ROUNDS, WARM_UP, CHANGES = 200, 10, 100
CLICK = {"mouse": {"left_click": [640, 300]}}
PLACES = ((200, 200), (900, 500))
LIMIT_S = 5.0


def spec(artifacts: str, backend: str) -> dict[str, Any]:
    return {
        "id": f"bench.qemu-{backend}",
        "runner": "qemu_native",
        "runner_options": {"fast_io_backend": backend},
        "resources": {"cpu": 2, "mem_gb": 1, "net": False},
        "observation": [{"type": "rgb_screen", "resolution": [1280, 800]}],
        "action": [{"type": "mouse"}, {"type": "keyboard"}],
        "recording": {"enable": False, "output_dir": artifacts},
    }


def timed(series: dict[str, list[float]], name: str, act: Callable[[], object]) -> None:
    begin = time.perf_counter()
    act()
    series.setdefault(name, []).append(round((time.perf_counter() - begin) * 1000, 4))


def until_seen(env: Any, number: int) -> None:
    """Move the pointer, which is part of the machine's screen, and look at memory until it shows there."""
    x, y = PLACES[number % 2]
    desktop = env.runner._world.desktop
    before = desktop.newest().array[y : y + 12, x : x + 6].copy()
    env.runner.inject_action({"mouse": {"move": [x, y]}})
    until = time.monotonic() + LIMIT_S
    while np.array_equal(desktop.newest().array[y : y + 12, x : x + 6], before):
        if time.monotonic() > until:
            raise SystemExit(f"the pointer at {x}, {y} was not seen within {LIMIT_S} s")
        time.sleep(0.0005)


def load_bare(clone: BareClone, folder: Path) -> object:
    """Do what a screenshot is without any of our layers: a line to the monitor, a file in memory, its bytes."""
    return np.frombuffer(clone.picture(folder), np.uint8)


def one_round(envs: dict[str, Any], series: dict[str, list[float]], number: int, bare: Callable[[], object]) -> None:
    """Measure everything once. What QEMU sends is looked at last, so that it rests while others are measured."""
    for name in ("qmp", "guest", "dbus"):
        env = envs[name]
        timed(series, f"{name}_step_click_ms", lambda env=env: env.step([CLICK], wait_between_actions=0.0))
    timed(series, "screendump_ms", envs["qmp"].runner.capture_frame)
    timed(series, "bare_screendump_ms", bare)
    timed(series, "guest_unchanged_ms", envs["guest"].runner.capture_frame)
    look = envs["dbus"].runner.capture_frame
    pictures = [look().picture]
    timed(series, "dbus_unchanged_ms", lambda: pictures.append(look().picture))
    if pictures[0] != pictures[1]:  # the clock has moved on just then
        series["dbus_unchanged_ms"].pop()


def changes(envs: dict[str, Any], series: dict[str, list[float]]) -> None:
    """Measure how soon a change is seen, and the frame right after all of the screen has changed."""
    for number in range(CHANGES):
        timed(series, "dbus_change_in_memory_ms", lambda number=number: until_seen(envs["dbus"], number))
        envs["guest"].runner.exec(f"DISPLAY=:1 hsetroot -solid '#{number:02x}{number:02x}40'")
        timed(series, "guest_full_change_ms", envs["guest"].runner.capture_frame)


def main() -> None:
    series: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as artifacts, ExitStack() as stack:
        envs = {}
        for name in FRAMES:
            envs[name] = stack.enter_context(from_config(spec(artifacts, name), fast_io=True))
            envs[name].reset()
            envs[name].set_episode_limits(max_steps=10 * ROUNDS, timeout_sec=3600)
        source = Source(*envs["qmp"].runner.fork_source())
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/dev/shm")))
        clone = stack.enter_context(bare_clone(source))
        clone.stand_by()
        clone.run(source.saved.folder / STATE)
        bare = partial(load_bare, clone, folder)
        for number in range(WARM_UP):
            one_round(envs, {}, number, bare)
        for number in range(ROUNDS):
            one_round(envs, series, number, bare)
        changes(envs, series)
    summary: dict[str, float] = {}
    for key, values in series.items():
        summary[f"{key}_p50"] = round(statistics.median(values), 4)
        summary[f"{key}_p95"] = round(statistics.quantiles(values, n=20)[18], 4)
    summary["screendump_ms_times_bare"] = round(summary["screendump_ms_p50"] / summary["bare_screendump_ms_p50"], 3)
    accelerator = choose_accelerator().accelerator
    conditions = (
        f"three worlds of debian-desktop-vm by turns, 2 processors, 1 GiB, accelerator {accelerator}, fast mode"
    )
    print(json.dumps({"summary": summary, "series": series, "conditions": conditions}))


if __name__ == "__main__":
    main()
