"""A served experiment, and a browser for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gym_anything.dashboard.server import ViewServer
from tests.conftest import RequireBackend
from tests.viewed_runs import pilot
from tests.viewer_browser import CHROMIUM, browser


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ViewServer, Path]]:
    """Serve a small experiment; returns the server and the experiment's folder."""
    exp = pilot(tmp_path_factory.mktemp("results"))
    (exp.parent / "secret.txt").write_text("not yours")
    with ViewServer({"pilot": exp}) as server:
        yield server, exp


@pytest.fixture(scope="module")
def chromium(require_backend: RequireBackend) -> Iterator[Any]:
    """Return a running Chromium. For one file: as long as it runs, this thread has an event loop that others trip over."""
    require_backend("chromium", CHROMIUM is not None, "no chromium is installed")
    with browser() as running:
        yield running
