from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything._util.locks import FileLock
from gym_anything.runtime.desktop.client import DesktopClient
from gym_anything.runtime.desktop.far_gate import Certificate
from gym_anything.runtime.native.locate import native_program
from tests.conftest import RequireBackend
from tests.integration.desktop.far_screen import FarScreen, make_certificate
from tests.integration.desktop.screen import XORG, XVFB, XVNC, Probe, Screen
from tests.integration.desktop.servers import XORG_DRIVER

NATIVE = Path(__file__).parents[3] / "native"
StartScreen = Callable[..., Screen]
OpenProbe = Callable[..., Probe]
on_xorg_too = pytest.mark.parametrize("server", [XVFB, XVNC, XORG], indirect=True)


@pytest.fixture(scope="session")
def desktop_program(require_backend: RequireBackend) -> Path:
    """The ga-desktop of these sources."""
    require_backend("compiler", shutil.which("cc") is not None, "no C compiler")
    for server in (XVFB, XVNC):
        require_backend(server.lower(), shutil.which(server) is not None, f"{server} is not installed")
    return native_program("ga-desktop")


@pytest.fixture(scope="session")
def sanitized_program(require_backend: RequireBackend) -> Path:
    """The same built with the address and undefined behaviour sanitizers."""
    require_backend("compiler", shutil.which("cc") is not None, "no C compiler")
    lock = FileLock.acquire(Path(tempfile.gettempdir()) / "ga-sanitize.lock", deadline=Deadline.after(300))
    try:
        subprocess.run(["make", "-s", "-C", NATIVE, "SANITIZE=1", "ga-desktop"], check=True)
    finally:
        lock.release()
    return NATIVE / "build" / "sanitize" / "ga-desktop"


@pytest.fixture(scope="session")
def probe_program(require_backend: RequireBackend, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The probe, built from x_probe.c."""
    require_backend("compiler", shutil.which("cc") is not None, "no C compiler")
    program = tmp_path_factory.mktemp("probe") / "x_probe"
    source = Path(__file__).with_name("x_probe.c")
    subprocess.run(["cc", "-O1", "-Wall", "-Werror", "-o", program, source, "-lxcb"], check=True)
    return program


@pytest.fixture
def start_screen(desktop_program: Path) -> Iterator[StartScreen]:
    """Start screens that the test's end stops."""
    started: list[Screen] = []
    # A socket's path has at most 107 bytes, which pytest's own folders can exceed.
    with tempfile.TemporaryDirectory(prefix="ga-screen-") as base:

        def start(**options: Any) -> Screen:
            folder = Path(base) / str(len(started))
            folder.mkdir()
            program = options.pop("program", desktop_program)
            started.append(Screen(program, folder, **options))
            return started[-1]

        try:
            yield start
        finally:
            for screen in started:
                screen.stop()


@pytest.fixture(params=[XVFB, XVNC])
def server(request: pytest.FixtureRequest, require_backend: RequireBackend) -> str:
    """Each kind of X server that worlds run on; with ``on_xorg_too`` also the one of real machines."""
    kind: str = request.param
    if kind == XORG:
        require_backend(
            "xorg",
            shutil.which(XORG) is not None and XORG_DRIVER.exists(),
            "Xorg, or its dummy driver, is not installed",
        )
    return kind


@pytest.fixture
def screen(server: str, start_screen: StartScreen) -> Screen:
    """A screen on each kind of X server."""
    return start_screen(server=server)


@pytest.fixture
def client(screen: Screen) -> DesktopClient:
    """A client of the screen."""
    return screen.client()


@pytest.fixture
def open_probe(screen: Screen, probe_program: Path) -> OpenProbe:
    """Open probes on the screen."""

    def open_one(box: tuple[int, int, int, int] = (0, 0, 1280, 800)) -> Probe:
        return Probe(screen, probe_program, box)

    return open_one


@pytest.fixture(params=["plain", "tls"])
def far_screen(
    request: pytest.FixtureRequest, start_screen: StartScreen, gate_certificate: Certificate, gate_program: Path
) -> Iterator[FarScreen]:
    """A screen with a gate, once over TCP as it is and once over TLS."""
    far = FarScreen(start_screen(server=XVFB), gate_certificate if request.param == "tls" else None)
    try:
        yield far
    finally:
        far.stop()


@pytest.fixture
def stop_far() -> Iterator[list[FarScreen]]:
    """A list for what the test's end stops."""
    started: list[FarScreen] = []
    try:
        yield started
    finally:
        for far in started:
            far.stop()


@pytest.fixture(scope="session")
def gate_program(require_backend: RequireBackend) -> Path:
    """The ga-gate of these sources."""
    require_backend("compiler", shutil.which("cc") is not None, "no C compiler")
    return native_program("ga-gate")


@pytest.fixture(scope="session")
def gate_certificate(require_backend: RequireBackend, tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """A certificate that signs itself."""
    require_backend("openssl", shutil.which("openssl") is not None, "no openssl program")
    return make_certificate(tmp_path_factory.mktemp("certificate"))
