"""Many forks of one world: all distinct, none corrupt."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.fork_soak import CLOCK_S, soak

pytestmark = [pytest.mark.real, pytest.mark.soak]


@pytest.mark.parametrize("count", [3, 200])
def test_forks_are_all_distinct_and_none_is_corrupt(
    qemu_backend: None, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GYM_ANYTHING_QEMU_WAITING", "1")  # every other way in is covered: the first fork spawns
    found = soak(count, str(tmp_path))
    assert found.forks == count
    assert found.broken == []
    assert set(found.repeated.values()) == {0}, found.repeated
    assert max(found.clock_off_s) < CLOCK_S
