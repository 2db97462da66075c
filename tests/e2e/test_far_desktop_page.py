"""What the page on desktops of other hosts shows is run as written, but for the port."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from gym_anything._util import ports
from gym_anything._util.waiting import wait_until
from gym_anything.runtime.desktop.client import DesktopClient
from gym_anything.runtime.native.locate import native_program
from tests.conftest import RequireBackend
from tests.integration.desktop.screen import XVFB, Screen, soon, stop
from tests.unit.docs.doc_snippets import python_snippets, run_python, snippets

pytestmark = pytest.mark.real

PAGE, PORT = "docs/how-to/far-desktop.md", "7700"


def test_the_page_leads_to_the_same_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, require_backend: RequireBackend
) -> None:
    for program in ("cc", "openssl", XVFB):
        require_backend(program.lower(), shutil.which(program) is not None, f"{program} is not installed")
    monkeypatch.chdir(tmp_path)
    with ports.bind_loopback() as sock:
        port = str(ports.port_of(sock))
    prepare, start = (s.text for s in snippets(PAGE) if s.language == "sh")
    made = subprocess.run(["sh", "-euc", prepare], check=True, capture_output=True, text=True, timeout=30)
    assert "Fingerprint=" in made.stdout
    folder = native_program("ga-gate").parent
    screen = Screen(native_program("ga-desktop"), tmp_path, start_service=False)
    gate = None
    try:
        screen.start([screen.program, "--display", screen.display, "--socket", "desktop.sock"])
        wait_until(Path("desktop.sock").exists, deadline=soon(), awaited="the desktop service")
        env = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
        gate = subprocess.Popen(
            ["sh", "-euc", f"exec {start.replace(PORT, port)}"],
            env=env,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        (example,) = python_snippets(PAGE)
        namespace: dict[str, object] = {}
        run_python(type(example)(PAGE, example.line, "python", example.text.replace(PORT, port), None), namespace)
        with DesktopClient.connect(Path("desktop.sock"), deadline=soon()) as near:
            np.testing.assert_array_equal(namespace["exact"], near.frame().array)
            assert near.pointer() == (200, 100)
    finally:
        if gate is not None:
            stop(gate)
        screen.stop()
