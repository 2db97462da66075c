"""Put the stranger's project on ``sys.path``, as an installed package would be, for one test."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PACKAGES = ("stranger_party", "robobench", "robotics_world")
STRANGERS = Path(__file__).with_name("strangers")
ROVER = "stranger_party.world:RoverRunner"
BENCHMARK = STRANGERS / "stranger_party"
ENVIRONMENT = BENCHMARK / "environments" / "crater"


@contextmanager
def strangers_on_path() -> Iterator[Path]:
    """Make ``stranger_party`` importable meanwhile, and forget it afterwards."""
    sys.path.insert(0, str(STRANGERS))
    try:
        yield STRANGERS
    finally:
        sys.path.remove(str(STRANGERS))
        for name in [n for n in sys.modules if n.split(".")[0] in PACKAGES]:
            del sys.modules[name]
