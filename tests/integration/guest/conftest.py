from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything._util.locks import FileLock
from gym_anything.runtime.guest.channel import GuestChannel
from gym_anything.runtime.native.locate import native_program
from gym_anything.testing.leaks import LeakCheck
from tests.conftest import RequireBackend
from tests.integration.guest.world import World

NATIVE = Path(__file__).parents[3] / "native"
StartWorld = Callable[..., World]


@pytest.fixture(scope="session")
def program(require_backend: RequireBackend, request: pytest.FixtureRequest) -> Path:
    """The ga-guest of these sources; with ``SANITIZE=1`` in the environment the one with the sanitizers."""
    namespaces = subprocess.run(["unshare", "-Urpf", "--mount-proc", "true"], capture_output=True, text=True)
    require_backend("namespaces", namespaces.returncode == 0, namespaces.stderr.strip())
    require_backend("compiler", shutil.which("cc") is not None, "no C compiler")
    if os.environ.get("SANITIZE"):
        return Path(request.getfixturevalue("sanitized_program"))
    return native_program("ga-guest")


@pytest.fixture(scope="session")
def sanitized_program(require_backend: RequireBackend) -> Path:
    """The same built with the address and undefined behaviour sanitizers."""
    require_backend("compiler", shutil.which("cc") is not None, "no C compiler")
    lock = FileLock.acquire(Path(tempfile.gettempdir()) / "ga-sanitize.lock", deadline=Deadline.after(300))
    try:
        subprocess.run(["make", "-s", "-C", NATIVE, "SANITIZE=1", "ga-guest"], check=True)
    finally:
        lock.release()
    return NATIVE / "build" / "sanitize" / "ga-guest"


@pytest.fixture
def nothing_left(program: Path) -> Iterator[None]:
    """Fail a test that leaves processes, descriptors, threads or mounts (its temporary folder is pytest's matter)."""
    with LeakCheck(own_temp=False):
        yield


@pytest.fixture
def start_world(program: Path) -> Iterator[StartWorld]:
    """Start worlds that the test's end stops."""
    started: list[World] = []
    # A socket's path has at most 107 bytes, which pytest's own folders can exceed.
    with tempfile.TemporaryDirectory(prefix="ga-world-") as base:

        def start(*, executable: Path | None = None, **options: Any) -> World:
            folder = Path(base) / str(len(started))
            folder.mkdir()
            started.append(World(executable or program, folder, **options))
            return started[-1]

        try:
            yield start
        finally:
            for world in started:
                world.stop()
                report = world.log.read_text(errors="replace")
                assert "Sanitizer" not in report and "runtime error" not in report, report


@pytest.fixture
def world(start_world: StartWorld) -> World:
    return start_world()


@pytest.fixture
def channel(world: World) -> Iterator[GuestChannel]:
    with world.connect() as channel:
        yield channel


@pytest.fixture
def as_root(require_backend: RequireBackend) -> None:
    """For tests that switch users, which needs a range of user ids."""
    require_backend("root", os.getuid() == 0, "changing users needs root here")
