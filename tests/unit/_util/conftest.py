from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gym_anything._util.state_dir import Run


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A state folder of this test's own; the process's run is put aside meanwhile."""
    monkeypatch.setenv("GYM_ANYTHING_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setattr(Run, "_current", None)
    yield tmp_path / "state"
    if Run._current is not None:
        Run._current.close()
