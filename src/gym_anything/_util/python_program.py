"""Running a module of ours in a process of its own, with as little of Python as can be."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

_PACKAGE_ROOT = Path(__file__).resolve().parents[2]
_CODE = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "sys.exit(__import__(sys.argv[2], fromlist=['main']).main(sys.argv[3:]))"
)


def python_argv(module: str, words: Sequence[str]) -> list[str]:
    """Return the command line that calls ``module.main(words)``: isolated, without site packages: quick."""
    return [sys.executable, "-I", "-S", "-c", _CODE, str(_PACKAGE_ROOT), module, *words]
