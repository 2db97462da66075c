"""The page of what is tested how: no piece without tests, no tests without a piece, no runner left out."""

from __future__ import annotations

import pytest
from tools.reference_tested import NOT_HERE, PIECES, REAL, STANDIN

from gym_anything.runtime.runners.registry import RESERVED
from tests.architecture.source_tree import ROOT

pytestmark = pytest.mark.unit


def test_every_path_exists_and_what_is_tested_has_one() -> None:
    for piece in PIECES:
        assert piece.how in (REAL, STANDIN, NOT_HERE), piece
        assert piece.tests or piece.how == NOT_HERE, piece
        for path in piece.tests:
            assert (ROOT / path).exists(), f"{piece.what}: {path} does not exist"


def test_every_runner_is_on_the_page() -> None:
    text = " ".join(piece.what for piece in PIECES)
    missing = [key for key in RESERVED if f"`{key}`" not in text]
    assert missing == []


def test_every_kind_of_real_test_is_on_the_page() -> None:
    named = {path for piece in PIECES for path in piece.tests}
    folders = [p for p in (ROOT / "tests" / "integration").iterdir() if p.is_dir() and any(p.glob("test_*.py"))]
    missing = [f.name for f in folders if not any(path.startswith(f"tests/integration/{f.name}") for path in named)]
    assert missing == [], "a row in tools/reference_tested.py is missing"
    conformance = {f"tests/conformance/{p.name}" for p in (ROOT / "tests" / "conformance").glob("test_*_runner.py")}
    assert conformance <= named
