"""The desktop service by itself: frames, input and typing at 1920x1080, on Xvfb and on Xvnc; beside the bare mechanism."""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from gym_anything._util.waiting import wait_until
from gym_anything.actions.model import Click, Scroll, TypeText
from gym_anything.measure.turns import timed_ms
from gym_anything.runtime.desktop.client import DesktopClient
from gym_anything.runtime.native.locate import native_program
from tests.bench.bare_desktop import BareDesktop
from tests.integration.desktop.screen import XVFB, XVNC, Probe, Screen, soon
from tests.integration.desktop.test_typing import SCRIPTS, Terminal, cjk

SIZE = (1920, 1080)
Series = dict[str, list[float]]


def frames(client: DesktopClient, probe: Probe, bare: BareDesktop) -> Series:
    """Frames by barrier: unchanged, after changes; and without. By turns with the bare mechanism where it says so."""
    changes = {
        "barrier_unchanged_ms": (lambda n: "sync", lambda n: bare.ask("u")),
        "barrier_full_change_ms": (lambda n: f"fill {n % 251 + 1:06x} 0 0 1920 1080", lambda n: bare.ask("f")),
        "barrier_400x300_change_ms": (
            lambda n: f"fill {n % 251 + 1:06x} {n} {n} 400 300",
            lambda n: bare.ask("p", n, n),
        ),
        "barrier_changes_by_turns_ms": (lambda n: f"fill {n:06x} 0 0 " + ("1920 1080" if n % 2 else "400 300"), None),
    }
    series: Series = {}
    for name, (change, barely) in changes.items():
        for n in range(1000 if name == "barrier_unchanged_ms" else 300):
            probe.tell(change(n))
            series.setdefault(name, []).append(timed_ms(client.frame))
            if barely:
                probe.tell(change(n + 1))
                series.setdefault(f"{name}_bare", []).append(timed_ms(partial(barely, n)))
    series["newest_ms"] = [timed_ms(client.newest) for _ in range(300)]
    series["pil_image_ms"] = [timed_ms(lambda: _image(client)) for _ in range(60)]
    return series


def _image(client: DesktopClient) -> object:
    from PIL import Image

    return Image.fromarray(client.frame().array.copy(), mode="RGB")


def hands(client: DesktopClient, probe: Probe, screen: Screen, bare: BareDesktop) -> Series:
    """Input acknowledged, and seen as pixels; by turns with the bare mechanism."""
    series: Series = {}

    def timed(name: str, act: Callable[[], object]) -> None:
        series.setdefault(name, []).append(timed_ms(act))

    for n in range(1000):
        x, y = 100 + n % 900, 100 + n % 700
        timed("click_ack_ms", partial(client.send, [Click("left", x, y)]))
        timed("click_ack_ms_bare", partial(bare.ask, "c", x + 1, y))
    for _ in range(200):
        timed("scroll_ack_ms", partial(client.send, [Scroll(0, 3)]))
    for n in range(200):
        red = n % 250 + 1
        probe.tell(f"react {red:02x}0000")
        if n % 2:
            timed("click_to_pixel_ms", partial(_click_until, client, red))
        else:
            timed("click_to_pixel_ms_bare", partial(_click_barely_until, bare, red))
    for n in range(15):
        argv = ["xdotool", "mousemove", str(n), "5", "click", "1"]
        timed("xdotool_click_ms", partial(screen.run, *argv))
    return series


def _click_until(client: DesktopClient, red: int) -> None:
    client.send([Click("left", 500, 500)])
    while client.frame().array[900, 900, 0] != red:
        pass


def _click_barely_until(bare: BareDesktop, red: int) -> None:
    bare.ask("c", 500, 500)
    while bare.ask("f") != red:
        pass


def typing(client: DesktopClient, screen: Screen) -> Series:
    """Text acknowledged, and arrived in a terminal."""
    terminal = Terminal(screen, client)
    series: Series = {}
    texts = {
        "ascii_1000": (SCRIPTS["ascii"] * 11)[:1000],
        "cyrillic_120": (SCRIPTS["cyrillic"] * 2)[:120],
        "emoji_120": (SCRIPTS["emoji"] * 5)[:120],
    }
    for n in range(20):
        for name, text in {**texts, "cjk_120": cjk(120, n)}.items():
            began = time.perf_counter()
            acknowledged = timed_ms(lambda text=text: client.send([TypeText(text)]))
            terminal.await_text(text)
            series.setdefault(f"{name}_ack_ms", []).append(acknowledged)
            series.setdefault(f"{name}_arrived_ms", []).append((time.perf_counter() - began) * 1000)
    return series


def processor(client: DesktopClient, screen: Screen, probe: Probe, bare: BareDesktop) -> Series:
    """Processor time of the service in per cent of one core: at rest, and at 60 full changes a second."""

    def used(process: subprocess.Popen[bytes]) -> float:
        threads = Path(f"/proc/{process.pid}/task").glob("*/schedstat")
        return sum(int(path.read_text().split()[0]) for path in threads) / 1e9

    def share(seconds: float, act: Callable[[], object], process: subprocess.Popen[bytes] = screen.service) -> float:
        before, began = used(process), time.monotonic()
        act()
        wait_until(lambda: time.monotonic() >= began + seconds, deadline=soon(60), awaited="the time")
        return (used(process) - before) / (time.monotonic() - began) * 100

    def watch_flips(look: Callable[[], object]) -> Callable[[], None]:
        def act() -> None:
            until = time.monotonic() + 5
            probe.tell_only("flip 300 16667")
            while time.monotonic() < until:
                look()
            probe.await_done()

        return act

    def look_every(seconds: float) -> None:
        client.newest()
        due = time.monotonic() + seconds
        wait_until(lambda: time.monotonic() >= due, deadline=soon(60), awaited="the time", poll_s=seconds / 4)

    def follow_barely() -> None:
        bare.ask("w")
        probe.tell_only("flip 300 16667")
        probe.await_done()
        bare.ask("u")

    return {
        "cpu_60_changes_percent_bare": [share(5, follow_barely, bare.process)],
        "cpu_idle_percent": [share(5, lambda: None)],  # nobody has asked for seconds: memory was measured before
        "cpu_60_changes_percent": [share(5, watch_flips(lambda: look_every(0.5)))],
        "cpu_60_changes_and_60_looks_percent": [share(5, watch_flips(lambda: look_every(1 / 60)))],
        "cpu_60_changes_and_settle_percent": [share(5, watch_flips(lambda: client.settle(500, 500)))],
    }


def memory(client: DesktopClient, screen: Screen) -> Series:
    """Proportional memory of the service, in use and at rest; ``own`` is all but the frames and what grabs go through."""

    def pss_mib(*, own: bool = False) -> float:
        total, counts = 0, True
        for line in Path(f"/proc/{screen.service.pid}/smaps").read_text().splitlines():
            if not line.split()[0].endswith(":"):  # the head of a mapping
                counts = not (own and re.search("memfd:ga-desktop-(frames|grab)", line))
            elif line.startswith("Pss:") and counts:
                total += int(line.split()[1])
        return total / 1024

    client.frame()
    in_use, own = pss_mib(), pss_mib(own=True)
    wait_until(lambda: pss_mib() < 9, deadline=soon(10), awaited="rest")
    return {"pss_in_use_mib": [in_use], "pss_own_mib": [own], "pss_at_rest_mib": [pss_mib()]}


def measure(server: str, folder: Path) -> Series:
    """Measure everything on one kind of X server."""
    program = folder / "x_probe"
    source = Path(__file__).parents[1] / "integration" / "desktop" / "x_probe.c"
    subprocess.run(["cc", "-O1", "-o", program, source, "-lxcb"], check=True)
    screen = Screen(native_program("ga-desktop"), folder, server=server, size=SIZE)
    try:
        client = screen.client()
        probe, bare = Probe(screen, program, (0, 0, *SIZE)), BareDesktop(screen, folder)
        series = {**frames(client, probe, bare), **hands(client, probe, screen, bare), **memory(client, screen)}
        series |= processor(client, screen, probe, bare)
        probe.process.terminate()
        return {**series, **typing(client, screen)}
    finally:
        screen.stop()


def main() -> None:
    series: Series = {}
    for server in (XVFB, XVNC):
        with tempfile.TemporaryDirectory(prefix="ga-bench-") as folder:
            for key, values in measure(server, Path(folder)).items():
                series[f"{server.lower()}_{key}"] = [round(value, 4) for value in values]
    summary = {}
    for key, values in series.items():
        name = f"{key}_p50" if len(values) > 1 else key
        summary[name] = round(statistics.median(values), 3)
        if len(values) >= 100:
            summary[f"{key}_p95"] = round(statistics.quantiles(values, n=100)[94], 3)
        if f"{key}_bare" in series:
            summary[f"{key}_times_bare"] = round(
                statistics.median(values) / statistics.median(series[f"{key}_bare"]), 3
            )
    for server in (XVFB.lower(), XVNC.lower()):
        times = summary[f"{server}_xdotool_click_ms_p50"] / summary[f"{server}_click_ack_ms_p50"]
        summary[f"{server}_xdotool_times_click"] = round(times, 1)
        summary[f"{server}_xdotool_times_click_times_bare"] = summary[f"{server}_click_ack_ms_times_bare"]
    conditions = f"{SIZE[0]}x{SIZE[1]}, one client in Python, no window manager"
    print(json.dumps({"summary": summary, "series": series, "conditions": conditions}))


if __name__ == "__main__":
    main()
