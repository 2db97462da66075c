"""Fast input of a QEMU world at 1280x800: texts that arrive exactly, buttons that the guest sees, how long each takes."""

from __future__ import annotations

import json
import os
import random
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.errors import DeadlineExceeded
from gym_anything.runtime.qemu.accelerator import choose_accelerator
from gym_anything.runtime.runners.qemu_native.runner import QemuNativeRunner
from gym_anything.specs.env_spec import EnvSpec
from tests.busy_host import busy_host

TRIALS, LOADED_TRIALS, CHARACTERS = 50, 25, 500
CLICKS, DOUBLE_CLICKS, DRAGS = 200, 100, 20
PRINTABLE = [chr(code) for code in range(32, 127)]
SPEC: dict[str, Any] = {
    "id": "bench.qemu_input",
    "runner": "qemu_native",
    "resources": {"cpu": 2, "mem_gb": 1, "net": False},
    "observation": [{"type": "rgb_screen", "resolution": [1280, 800]}],
    "action": [{"type": "mouse"}, {"type": "keyboard"}],
}
_ARRIVES_S = 60.0
BUSY = (os.cpu_count() or 1) + 1
"""How many programs that never rest run beside the machine where it is loaded."""


@contextmanager
def window(world: QemuNativeRunner, title: str, command: str) -> Iterator[None]:
    """Show a program with a window, active, as the desktop's user."""
    program = world.exec_async(f"runuser -u ga -- {command}")
    there = f"xdotool search --onlyvisible --name '^{title}$' windowactivate --sync"
    wait_until(lambda: world.exec(there, use_pty=False) == 0, deadline=Deadline.after(60), awaited="the window")
    try:
        yield
    finally:
        program.kill()


def timed_ms(world: QemuNativeRunner, action: dict[str, Any]) -> float:
    begin = time.perf_counter()
    world.inject_action(action)
    return round((time.perf_counter() - begin) * 1000, 3)


def some_text(rng: random.Random) -> str:
    """Return printable characters in lines that a terminal takes whole."""
    lines = ["".join(rng.choices(PRINTABLE, k=CHARACTERS // 5 - 1)) for _ in range(5)]
    return "".join(f"{line}\n" for line in lines)


def texts(world: QemuNativeRunner, trials: int, times_ms: list[float]) -> int:
    """Type texts and return how many arrived exactly."""
    rng, exact = random.Random(trials), 0
    title = f"{trials} texts"
    with window(world, title, f"xterm -title '{title}' -e 'cat > /tmp/typed'"):
        before = 0
        for _ in range(trials):
            text = some_text(rng)
            times_ms.append(timed_ms(world, {"keyboard": {"text": text}}))
            arrived = arrivals(world, before, len(text))
            exact += arrived == text
            before += len(arrived)
    return exact


def arrivals(world: QemuNativeRunner, before: int, wanted: int) -> str:
    """Return what has come since, once it is as much as was typed or nothing has come for long."""

    def all_there() -> bool:
        return int(world.exec_capture("stat -c %s /tmp/typed")) >= before + wanted

    try:
        wait_until(all_there, deadline=Deadline.after(_ARRIVES_S), awaited="the text")
    except DeadlineExceeded:
        pass  # something was lost: the comparison says so
    return world.exec_capture(f"tail -c +{before + 1} /tmp/typed")


def buttons(world: QemuNativeRunner, series: dict[str, list[float]]) -> dict[str, float]:
    """Return the share of presses and releases that an application saw, in percent, by gesture."""
    xev = "xev -event button -geometry 600x300+300+100 | grep --line-buffered -o 'Button[PR][a-z]*' > /tmp/seen"
    gestures: dict[str, tuple[int, int, Any]] = {
        "click": (CLICKS, 1, lambda n: {"left_click": [400 + n % 300, 150 + n % 100]}),
        "double_click": (DOUBLE_CLICKS, 2, lambda n: {"double_click": [400 + n % 300, 150 + n % 100]}),
        "drag": (DRAGS, 1, lambda n: {"left_click_drag": [[350 + n, 150], [700, 250 + n]]}),
    }
    shares = {}
    with window(world, "Event Tester", f'sh -c "stdbuf -oL {xev}"'):
        seen = 0
        for name, (count, presses, action) in gestures.items():
            for number in range(count):
                series[f"{name}_ms"].append(timed_ms(world, {"mouse": action(number)}))
            wanted = ["ButtonPress", "ButtonRelease"] * (count * presses)
            found = events(world, seen, len(wanted))
            seen += len(found)
            shares[f"{name}_seen_percent"] = (
                100.0 * sum(a == b for a, b in zip(found, wanted, strict=False)) / len(wanted)
            )
            shares[f"{name}_too_many"] = max(0, len(found) - len(wanted))
    return shares


def events(world: QemuNativeRunner, before: int, wanted: int) -> list[str]:
    def seen() -> list[str]:
        return world.exec_capture("cat /tmp/seen").split()[before:]

    try:
        wait_until(lambda: len(seen()) >= wanted, deadline=Deadline.after(_ARRIVES_S), awaited="the events")
    except DeadlineExceeded:
        pass  # the share says how many are missing
    return seen()


def main() -> None:
    names = ("text_500_ms", "text_500_loaded_ms", "click_ms", "double_click_ms", "drag_ms", "move_ms", "key_ms")
    series: dict[str, list[float]] = {name: [] for name in names}
    world = QemuNativeRunner(EnvSpec.from_dict(SPEC))
    world.set_fast_io(True)
    try:
        world.start()
        exact = texts(world, TRIALS, series["text_500_ms"])
        with busy_host(BUSY):
            loaded = texts(world, LOADED_TRIALS, series["text_500_loaded_ms"])
        shares = buttons(world, series)
        series["move_ms"] = [timed_ms(world, {"mouse": {"move": [100 + n, 600]}}) for n in range(200)]
        series["key_ms"] = [timed_ms(world, {"keyboard": {"keys": ["Escape"]}}) for _ in range(100)]
    finally:
        world.stop()
    summary: dict[str, float] = {
        "texts_exact": exact,
        "texts": TRIALS,
        "loaded_texts_exact": loaded,
        "loaded_texts": LOADED_TRIALS,
        **shares,
    }
    summary |= {f"{key}_p50": round(statistics.median(values), 3) for key, values in series.items()}
    conditions = (
        "debian-desktop-vm, 2 processors, 1 GiB, accelerator "
        f"{choose_accelerator().accelerator}, fast mode: USB tablet by QMP, {CHARACTERS} characters by the fast keyboard; "
        f"loaded: beside {BUSY} programs that never rest"
    )
    print(json.dumps({"summary": summary, "series": series, "conditions": conditions}))


if __name__ == "__main__":
    main()
