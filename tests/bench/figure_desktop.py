"""The desktop service by itself: frames, input and typing at 1920x1080, on Xvfb and on Xvnc."""

from __future__ import annotations

import json
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from gym_anything._util.waiting import wait_until
from gym_anything.actions.model import Click, Scroll, TypeText
from gym_anything.measure.desktop_series import timed_ms
from gym_anything.runtime.desktop.client import DesktopClient
from gym_anything.runtime.native.locate import native_program
from tests.integration.desktop.screen import XVFB, XVNC, Probe, Screen, soon
from tests.integration.desktop.test_typing import SCRIPTS, Terminal, cjk

SIZE = (1920, 1080)
Series = dict[str, list[float]]


def frames(client: DesktopClient, probe: Probe) -> Series:
    """Frames by barrier: unchanged, after changes; and without."""
    changes = {
        "barrier_unchanged_ms": lambda n: "sync",
        "barrier_full_change_ms": lambda n: f"fill {n % 251 + 1:06x} 0 0 1920 1080",
        "barrier_400x300_change_ms": lambda n: f"fill {n % 251 + 1:06x} {n} {n} 400 300",
        "barrier_changes_by_turns_ms": lambda n: f"fill {n:06x} 0 0 " + ("1920 1080" if n % 2 else "400 300"),
    }
    series: Series = {}
    for name, change in changes.items():
        times = series[name] = []
        for n in range(300):
            probe.tell(change(n))
            times.append(timed_ms(client.frame))
    series["newest_ms"] = [timed_ms(client.newest) for _ in range(300)]
    series["pil_image_ms"] = [timed_ms(lambda: _image(client)) for _ in range(60)]
    return series


def _image(client: DesktopClient) -> object:
    from PIL import Image

    return Image.fromarray(client.frame().array.copy(), mode="RGB")


def hands(client: DesktopClient, probe: Probe, screen: Screen) -> Series:
    """Input acknowledged, and seen as pixels."""
    series: Series = {"click_ack_ms": [], "scroll_ack_ms": [], "click_to_pixel_ms": [], "xdotool_click_ms": []}
    for n in range(1000):
        click = Click("left", 100 + n % 900, 100 + n % 700)
        series["click_ack_ms"].append(timed_ms(lambda click=click: client.send([click])))
    for _ in range(200):
        series["scroll_ack_ms"].append(timed_ms(lambda: client.send([Scroll(0, 3)])))
    for n in range(100):
        red = n % 250 + 1
        probe.tell(f"react {red:02x}0000")
        series["click_to_pixel_ms"].append(timed_ms(lambda red=red: _click_until(client, red)))
    for n in range(15):
        argv = ["xdotool", "mousemove", str(n), "5", "click", "1"]
        series["xdotool_click_ms"].append(timed_ms(lambda argv=argv: screen.run(*argv)))
    return series


def _click_until(client: DesktopClient, red: int) -> None:
    client.send([Click("left", 500, 500)])
    while client.frame().array[900, 900, 0] != red:
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


def processor(client: DesktopClient, screen: Screen, probe: Probe) -> Series:
    """Processor time of the service in per cent of one core: at rest, and at 60 full changes a second."""

    def used() -> float:
        fields = Path(f"/proc/{screen.service.pid}/schedstat").read_text().split()
        others = Path(f"/proc/{screen.service.pid}/task").glob("*/schedstat")
        return max(int(fields[0]), sum(int(path.read_text().split()[0]) for path in others)) / 1e9

    def share(seconds: float, act: Callable[[], object]) -> float:
        before, began = used(), time.monotonic()
        act()
        wait_until(lambda: time.monotonic() >= began + seconds, deadline=soon(60), awaited="the time")
        return (used() - before) / (time.monotonic() - began) * 100

    idle = share(5, lambda: None)  # nobody has asked for seconds: memory was measured before

    def watch_flips() -> None:
        probe.tell_only("flip 300 16667")
        for _ in range(10):
            client.newest()
            client.settle(500, 500)
        probe.await_done()

    busy = share(5, watch_flips)
    return {"cpu_idle_percent": [idle], "cpu_60_changes_percent": [busy]}


def memory(client: DesktopClient, screen: Screen) -> Series:
    """Proportional memory of the service, in use and at rest."""

    def pss_mib() -> float:
        lines = Path(f"/proc/{screen.service.pid}/smaps_rollup").read_text().splitlines()
        return int(next(line.split()[1] for line in lines if line.startswith("Pss:"))) / 1024

    client.frame()
    in_use = pss_mib()
    wait_until(lambda: pss_mib() < 9, deadline=soon(10), awaited="rest")
    return {"pss_in_use_mib": [in_use], "pss_at_rest_mib": [pss_mib()]}


def measure(server: str, folder: Path) -> Series:
    """Measure everything on one kind of X server."""
    program = folder / "x_probe"
    source = Path(__file__).parents[1] / "integration" / "desktop" / "x_probe.c"
    subprocess.run(["cc", "-O1", "-o", program, source, "-lxcb"], check=True)
    screen = Screen(native_program("ga-desktop"), folder, server=server, size=SIZE)
    try:
        client = screen.client()
        probe = Probe(screen, program, (0, 0, *SIZE))
        series = {**frames(client, probe), **hands(client, probe, screen), **memory(client, screen)}
        series |= processor(client, screen, probe)
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
    conditions = f"{SIZE[0]}x{SIZE[1]}, one client in Python, no window manager"
    print(json.dumps({"summary": summary, "series": series, "conditions": conditions}))


if __name__ == "__main__":
    main()
