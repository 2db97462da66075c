"""Shared by all tests: backends that may be missing, and where the corpus lies."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from gym_anything._util.supervisor import Supervisor

pytest_plugins = [
    "gym_anything.testing.pytest_leaks",
    "tests.failed_list",
    "tests.turns",
    "tests.docker_engine",
    "tests.apptainer_backend",
]

RequireBackend = Callable[[str, bool, str], None]


def pytest_configure() -> None:
    """Hear Ctrl-C also where a script has started the tests in the background; what they start inherits that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # A machine in waiting outlives the world that it was started beside: to a test that looks for leaks it is one.
    os.environ.setdefault("GYM_ANYTHING_QEMU_WAITING", "0")
    os.environ.setdefault("GYM_ANYTHING_QEMU_TEMPLATE_REST_S", "0")  # each of many templates would wait that long


@pytest.fixture(autouse=True)
def one_supervisor(request: pytest.FixtureRequest) -> None:
    """Have this process's supervisor up before a test of real worlds looks for leaks: it stays, so it is none."""
    if request.node.get_closest_marker("real"):
        Supervisor.shared()


def is_required(name: str) -> bool:
    """Tell whether a missing backend is a failure: ``GYM_ANYTHING_TEST_REQUIRE=all,-corpus`` or ``xvnc,docker``."""
    words = [w.strip() for w in os.environ.get("GYM_ANYTHING_TEST_REQUIRE", "").split(",") if w.strip()]
    if f"-{name}" in words:
        return False
    return "all" in words or name in words


@pytest.fixture(scope="session")
def require_backend() -> RequireBackend:
    """Return ``check(name, ok, reason)``: skips with the reason, or fails where the backend is required."""

    def check(name: str, ok: bool, reason: str) -> None:
        if ok:
            return
        if is_required(name):
            pytest.fail(f"required backend {name!r} is missing: {reason}", pytrace=False)
        pytest.skip(f"{name}: {reason}")

    return check


@pytest.fixture(scope="session")
def corpus_dir(require_backend: RequireBackend) -> Path:
    """Return the folder that holds ``corpus`` and ``corpus_invalid`` (``CORPUS=``, default ``../shared``)."""
    folder = Path(os.environ.get("CORPUS") or Path(__file__).parents[2] / "shared")
    require_backend("corpus", (folder / "corpus").is_dir(), f"no folder {folder / 'corpus'}; set CORPUS=")
    return folder
