"""Choosing a runner stays cheap."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.real


def test_nothing_heavy_is_imported_to_choose_a_runner():
    code = "import gym_anything.runtime.runners.select, sys; print([m for m in ('numpy', 'PIL', 'av') if m in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout.strip() == "[]"
