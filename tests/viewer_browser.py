"""The system's Chromium, driven through Playwright, for pages on loopback."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_FLAGS = ["--disable-gpu", "--no-first-run", "--disable-background-networking"]


@contextlib.contextmanager
def browser() -> Iterator[Any]:
    """Start a Chromium without a window; it has ended when the block ends."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # root has no sandbox of Chromium's; the pages are ours
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=_FLAGS, chromium_sandbox=False)
        try:
            yield running
        finally:
            running.close()


def wait_shown(page: Any, what: str) -> None:
    """Wait until the page says that something can be seen: ``list``, ``run ID``, ``compare ID ID``."""
    page.wait_for_function("what => document.documentElement.dataset.shown === what", arg=what)
