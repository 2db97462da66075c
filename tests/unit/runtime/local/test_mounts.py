"""Mounts: shown, copied or shared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gym_anything.errors import SpecInvalid, SpecNotFound
from gym_anything.runtime.runners.local.mounts import MountSet, decide_mounts, readable_by_all
from gym_anything.specs.env_spec import EnvSpec

pytestmark = pytest.mark.unit


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir(mode=0o755)
    (folder / "a.txt").write_text("a")
    (folder / "a.txt").chmod(0o644)
    folder.chmod(0o755)
    return folder


def decided(source: Path, *, mapped: bool = False, **fields: Any) -> MountSet:
    mount = {"source": str(source), "target": "/workspace//x/", **fields}
    spec = EnvSpec.from_dict({"id": "e", "base": "debian-desktop", "mounts": [mount]})
    return decide_mounts(spec, ids_are_mapped=mapped)


def test_what_everybody_may_read_is_shown(source: Path) -> None:
    mounts = decided(source)
    assert [bind["target"] for bind in mounts.shown] == ["/workspace/x"]
    assert not mounts.copied and not mounts.shared


@pytest.mark.parametrize("place", ["a.txt", "."])
def test_what_not_everybody_may_read_is_copied(source: Path, place: str) -> None:
    (source / place).chmod(0o600 if place != "." else 0o700)
    assert not readable_by_all(source)
    assert [target for _, target in decided(source).copied] == ["/workspace//x/"]


def test_with_mapped_ids_all_is_shown(source: Path) -> None:
    (source / "a.txt").chmod(0o600)
    assert len(decided(source, mapped=True).shown) == 1


def test_read_write_is_shared(source: Path) -> None:
    assert [target for _, target in decided(source, mapped=True, mode="rw").shared] == ["/workspace//x/"]


def test_a_missing_source_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpecNotFound, match="no-such"):
        decided(tmp_path / "no-such")


def test_a_dangling_link_in_a_mount_does_not_matter(source: Path) -> None:
    (source / "link").symlink_to("/nowhere")
    assert readable_by_all(source)


def test_a_single_file_may_be_mounted(source: Path) -> None:
    assert len(decided(source / "a.txt").shown) == 1


@pytest.mark.parametrize("target", ["/", "/proc/x", "/dev", "/run/user", "/sys/../sys"])
def test_places_a_world_keeps_for_itself_are_refused(source: Path, target: str) -> None:
    with pytest.raises(SpecInvalid, match="keeps it for itself"):
        decided(source, target=target)


def test_a_host_path_is_found_through_its_mount(source: Path) -> None:
    from gym_anything.runtime.runners.local.runner import LocalRunner

    mount = {"source": str(source), "target": "/workspace/x"}
    runner = LocalRunner(EnvSpec.from_dict({"id": "e", "base": "debian-desktop", "mounts": [mount]}))
    assert runner.to_container_path(source / "a.txt") == "/workspace/x/a.txt"
    assert runner.to_container_path(source) == "/workspace/x"
    assert runner.to_container_path("/elsewhere/a.txt") == "/elsewhere/a.txt"
