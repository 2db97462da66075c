"""The ids of a world: which a user is granted, which root reserves."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from gym_anything.runtime.runners.local.sandbox import identity

pytestmark = pytest.mark.unit


def granted(tmp_path: Path, text: str) -> int | None:
    path = tmp_path / "subuid"
    path.write_text(text)
    return identity.subordinate_base(str(path), os.geteuid())


def test_a_range_by_name_or_number_is_found(tmp_path: Path) -> None:
    name = pwd.getpwuid(os.geteuid()).pw_name
    assert granted(tmp_path, f"other:1:65536\n{name}:100000:65536\n") == 100000
    assert granted(tmp_path, f"{os.geteuid()}:200000:65536\n") == 200000


@pytest.mark.parametrize("text", ["", "other:100000:65536\n", "{me}:100000:1000\n", "{me}:x:65536\n", "{me}\n"])
def test_without_a_whole_range_there_is_none(tmp_path: Path, text: str) -> None:
    assert granted(tmp_path, text.format(me=os.geteuid())) is None


def test_no_file_is_no_range(tmp_path: Path) -> None:
    assert identity.subordinate_base(str(tmp_path / "none"), os.geteuid()) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root reserves private ranges")
def test_two_worlds_never_share_a_private_range() -> None:
    """L4: reserved and kept, no race."""
    first, second = identity.choose_range(), identity.choose_range()
    try:
        assert abs(first.base_uid - second.base_uid) >= identity.STRIDE
        assert first.base_uid > 0x70000000 - 1
    finally:
        for ids in (first, second):
            assert ids.lock is not None
            ids.lock.close()
