"""Frames of a desktop over TCP on loopback, as it is and with TLS, at 1920x1080 on Xvfb: time and bytes of each."""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageFilter

from gym_anything._util.waiting import wait_until
from gym_anything.measure.turns import timed_ms
from gym_anything.runtime.desktop.client import DesktopClient
from gym_anything.runtime.desktop.far_client import FarDesktop
from gym_anything.runtime.native.locate import native_program
from tests.integration.desktop.far_screen import FarScreen, make_certificate
from tests.integration.desktop.screen import Probe, Screen, soon

SIZE = (1920, 1080)
ROOT = Path(__file__).parents[2]
ROUNDS = {"unchanged": 400, "pixel": 100, "window": 100, "full": 60, "photo_noise": 40}
FULL_QUALITY = 80
_LINES = 29
Series = dict[str, list[float]]


@dataclass(frozen=True)
class Rig:
    """One desktop, seen from beside it and from afar in both ways."""

    screen: Screen
    near: DesktopClient
    far: dict[str, FarDesktop]

    def await_change(self, picture: int) -> int:
        """Wait until the screen shows another picture and is still; return its number."""
        wait_until(lambda: self.near.frame().picture != picture, deadline=soon(), awaited="a change", poll_s=0.002)
        self.near.settle(20, 3000, learn=False)
        return self.near.frame().picture

    def look(self, series: Series, name: str, quality: int | None = None) -> None:
        """Take a frame in each way and note its time and its bytes; it must be the picture that is there."""
        for way, far in self.far.items():
            before = _received(far)
            series.setdefault(f"{way}_{name}_ms", []).append(timed_ms(lambda far=far: far.frame(quality=quality)))
            if way == "tcp":
                series.setdefault(f"{name}_bytes", []).append(_received(far) - before)
            assert quality is not None or (far.frame().array == self.near.frame().array).all()


def _received(far: FarDesktop) -> int:
    link = far._frames._link
    assert link is not None
    return link._inbox.received


@contextmanager
def rig(folder: Path) -> Iterator[Rig]:
    """Start everything; the end of the context ends it."""
    with ExitStack() as stack:
        screen = Screen(native_program("ga-desktop"), folder, size=SIZE)
        stack.callback(screen.stop)
        far = {}
        for way, certificate in {"tcp": None, "tls": make_certificate(folder)}.items():
            gate = FarScreen(screen, certificate)
            stack.callback(gate.stop)
            far[way] = gate.client()
        yield Rig(screen, screen.client(), far)


def unchanged(rig: Rig, series: Series) -> None:
    """Nothing has happened since the last frame."""
    for _ in range(ROUNDS["unchanged"]):
        rig.look(series, "unchanged")


def pixels(rig: Rig, series: Series, program: Path) -> None:
    """A button's worth of pixels."""
    probe = Probe(rig.screen, program, (0, 0, *SIZE))
    for n in range(ROUNDS["pixel"]):
        probe.tell(f"fill {n * 7919 % (1 << 24):06x} 700 500 80 24")
        rig.look(series, "button_80x24")
    probe.process.terminate()


def text_pages(rig: Rig, series: Series) -> None:
    """A terminal of about 600x400 pixels that shows another page of text."""
    door = rig.screen.folder / "pages"
    subprocess.run(["mkfifo", str(door)], check=True)
    picture = rig.near.frame().picture
    options = ["-geometry", "98x30+300+200", "-bg", "white", "-fg", "black"]
    rig.screen.start(["xterm", *options, "-e", "sh", "-c", f"cat {door}"])
    lines = [line[:96] for path in sorted(ROOT.glob("docs/**/*.md")) for line in path.read_text("utf-8").splitlines()]
    with door.open("w", encoding="utf-8") as pages:
        picture = rig.await_change(picture)
        for n in range(ROUNDS["window"]):
            first = random.Random(n).randrange(len(lines) - _LINES)
            pages.write("\033[H\033[2J" + "\r\n".join(lines[first : first + _LINES]))
            pages.flush()
            picture = rig.await_change(picture)
            rig.look(series, "window_600x400")


def mixed_screen(rig: Rig) -> Image.Image:
    """Return a real screen: wallpaper, a terminal full of text, an editor, a file manager."""
    rig.screen.run("hsetroot", "-fill", str(photo(rig.screen.folder / "wallpaper.png", 0)))
    screen, before = rig.screen, len(rig.screen.processes)
    screen.start(["openbox"])
    wait_until(lambda: "= _NET" in screen.run("xprop", "-root", "_NET_SUPPORTED"), deadline=soon(), awaited="openbox")
    shown = "ls -lR --color=always /usr/share/doc | head -2000; sleep 1000"
    screen.start(["xterm", "-geometry", "120x50+0+0", "-e", "sh", "-c", shown])
    screen.start(["mousepad", "--disable-server", str(ROOT / "CONTRIBUTING.md")])
    screen.start(["pcmanfm", "--no-desktop", "/usr/share"])
    wait_until(
        lambda: screen.run("xprop", "-root", "_NET_CLIENT_LIST").count("0x") >= 3, deadline=soon(), awaited="windows"
    )
    rig.near.settle(500, 8000)
    image = Image.fromarray(rig.near.frame().array.copy())
    for process in screen.processes[before:]:
        process.terminate()
        process.wait(10)
    return image


def photo(path: Path, seed: int, grain: float = 6.0) -> Path:
    """Write what a camera might have seen: soft shapes and grain."""
    noise = np.random.default_rng(seed)
    soft = Image.fromarray(noise.integers(0, 256, (SIZE[1] // 8, SIZE[0] // 8, 3), dtype=np.uint8))
    shapes = np.asarray(
        soft.filter(ImageFilter.GaussianBlur(6)).resize(SIZE, Image.Resampling.BICUBIC), dtype=np.float32
    )
    shapes = (shapes - 127) * 4 + 127 + noise.normal(0, grain, (SIZE[1], SIZE[0], 1))
    Image.fromarray(np.clip(shapes, 0, 255).astype(np.uint8)).save(path, compress_level=1)
    return path


def full(rig: Rig, series: Series, name: str, pictures: list[Path], rounds: int, quality: int | None = None) -> None:
    """Every pixel of the screen changes from one picture to the next."""
    picture = rig.near.frame().picture
    for n in range(rounds):
        rig.screen.run("hsetroot", "-fill", str(pictures[n % len(pictures)]))
        picture = rig.await_change(picture)
        rig.look(series, name, quality)


def measure(folder: Path) -> Series:
    """Measure everything."""
    program = folder / "x_probe"
    source = ROOT / "tests" / "integration" / "desktop" / "x_probe.c"
    subprocess.run(["cc", "-O1", "-o", program, source, "-lxcb"], check=True)
    series: Series = {}
    with rig(folder) as one:
        light = mixed_screen(one)
        dark = Image.fromarray(255 - np.asarray(light)[:, ::-1])
        mixed = [folder / "light.png", folder / "dark.png"]
        for image, path in zip((light, dark), mixed, strict=True):
            image.save(path, compress_level=1)
        noise = [photo(folder / f"photo{n}.png", n + 1, grain=40) for n in range(2)]
        full(one, series, "full_mixed", mixed, ROUNDS["full"])
        full(one, series, f"full_mixed_jpeg{FULL_QUALITY}", mixed, ROUNDS["full"], FULL_QUALITY)
        full(one, series, "full_photo_noise", noise, ROUNDS["photo_noise"])
        unchanged(one, series)
        pixels(one, series, program)
        text_pages(one, series)
    return series


def summary_of(series: Series) -> dict[str, float]:
    """Return p50 and p95 of each series."""
    summary: dict[str, float] = {}
    for key, values in series.items():
        cuts = statistics.quantiles(values, n=20)
        digits = 0 if key.endswith("bytes") else 3
        summary[f"{key}_p50"] = round(statistics.median(values), digits)
        if not key.endswith("bytes"):
            summary[f"{key}_p95"] = round(cuts[18], digits)
    return summary


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="ga-bench-") as folder:
        series = {key: [round(value, 4) for value in values] for key, values in measure(Path(folder)).items()}
    conditions = (
        f"{SIZE[0]}x{SIZE[1]} on Xvfb, loopback, client and gate share two cores; each frame by barrier, exact pixels "
        "unless the name says JPEG; a window is an xterm's page of text, full_mixed a real screen and its dark mirror"
    )
    print(json.dumps({"summary": summary_of(series), "series": series, "conditions": conditions}))


if __name__ == "__main__":
    main()
