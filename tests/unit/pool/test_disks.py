"""Disks for replicas: the best way there is, and which it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from gym_anything.pool import disks
from gym_anything.pool.disks import provision_disk

pytestmark = pytest.mark.unit


@pytest.fixture
def base(tmp_path: Path) -> Path:
    path = tmp_path / "base.raw"
    with path.open("wb") as file:
        file.write(b"boot")
        file.truncate(8 << 20)
    return path


@pytest.fixture
def no_reflink(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disks, "clone_file", lambda source, target: False)


def test_a_copy_where_there_is_nothing_better_says_why(
    base: Path, tmp_path: Path, no_reflink: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    made = provision_disk(base, tmp_path / "one.raw")
    assert (made.way, made.needs_base) == ("copy", False)
    assert made.path.read_bytes() == base.read_bytes()
    assert disks.own_bytes(made.path) < 1 << 20, "holes stay holes"
    assert [reason.partition(":")[0] for reason in made.passed_over] == ["reflink", "overlay"]


def test_no_base_and_no_room_for_a_second_disk(base: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no disk at"):
        provision_disk(tmp_path / "none", tmp_path / "one")
    with pytest.raises(FileExistsError, match="is there already"):
        provision_disk(base, base)
    assert base.read_bytes()[:4] == b"boot"
