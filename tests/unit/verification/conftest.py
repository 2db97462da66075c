"""Pictures to compare."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    rng = np.random.default_rng(3)
    screen = rng.integers(0, 256, (48, 64, 3), dtype=np.uint8)
    other = screen.copy()
    other[:24] = 255 - other[:24]
    Image.fromarray(screen).save(tmp_path / "final.png")
    Image.fromarray(screen).save(tmp_path / "same.png")
    Image.fromarray(other).save(tmp_path / "other.png")
    Image.fromarray(screen).resize((32, 24)).save(tmp_path / "half.png")
    (tmp_path / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n then nothing")
    return tmp_path
