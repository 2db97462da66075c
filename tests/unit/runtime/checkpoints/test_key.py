"""Keys: what they cover and what they must not depend on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from gym_anything.runtime.checkpoints.key import KeyMaterial, key_material, without_paths
from gym_anything.runtime.checkpoints.levels import CheckpointName
from gym_anything.specs.env_spec import EnvSpec

pytestmark = pytest.mark.unit

PRE = CheckpointName("pre_start")
POST = CheckpointName("post_start")


def spec_of(**fields: Any) -> EnvSpec:
    return EnvSpec.from_dict({"id": "e@1", "base": "debian-desktop", **fields})


def key_of(spec: EnvSpec, name: CheckpointName = POST, **more: Any) -> str:
    return key_material(spec, name, kind="test", **more).key


def mounted(folder: Path, **fields: Any) -> EnvSpec:
    return spec_of(mounts=[{"source": str(folder), "target": "/workspace/x", **fields}])


def changed(path: Path, text: str) -> None:
    path.write_text(text)
    os.utime(path, (1, 1))


def test_the_content_of_a_mount_counts_and_its_place_does_not(tmp_path: Path) -> None:
    """K5: keys cover the content of mounted files and do not depend on absolute paths."""
    one, other = tmp_path / "one", tmp_path / "deep" / "other"
    for folder in (one, other):
        (folder / "sub").mkdir(parents=True)
        (folder / "sub" / "setup.sh").write_text("echo 1")
    assert key_of(mounted(one)) == key_of(mounted(other))
    changed(other / "sub" / "setup.sh", "echo 2")
    assert key_of(mounted(one)) != key_of(mounted(other))
    changed(other / "sub" / "setup.sh", "echo 1")
    (other / "sub" / "setup.sh").rename(other / "sub" / "renamed.sh")
    assert key_of(mounted(one)) != key_of(mounted(other))


def test_a_read_write_mount_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    before = key_of(mounted(tmp_path, mode="rw"))
    changed(tmp_path / "a", "2")
    assert key_of(mounted(tmp_path, mode="rw")) == before


def test_no_absolute_path_is_part_of_the_material(tmp_path: Path) -> None:
    """K5."""
    (tmp_path / "a").write_text("1")
    assert str(tmp_path) not in repr(key_material(mounted(tmp_path), POST, kind="test").parts)


def test_a_hook_counts_from_its_own_level_on() -> None:
    """K5: keys cover the content of hooks."""
    plain, hooked = spec_of(), spec_of(hooks={"post_start": "echo hi"})
    assert key_of(plain, PRE) == key_of(hooked, PRE)
    assert key_of(plain, POST) != key_of(hooked, POST)


@pytest.mark.parametrize(
    "field",
    [
        {"description": "words"},
        {"tags": ["a"]},
        {"recording": {"enable": False}},
        {"vnc": {"enable": True, "host_port": 5999, "password": "secret"}},
        {"step_cycle_ms": 7},
    ],
)
def test_what_shapes_no_disk_does_not_count(field: dict[str, Any]) -> None:
    assert key_of(spec_of()) == key_of(spec_of(**field))


@pytest.mark.parametrize(
    "field",
    [
        {"id": "other@1"},
        {"version": "2"},
        {"resources": {"net": True}},
        {"user_accounts": [{"name": "bob", "password": "x"}]},
        {"observation": [{"type": "rgb_screen", "resolution": [800, 600]}]},
        {"runner_options": {"panel": "none"}},
    ],
)
def test_what_shapes_the_world_counts(field: dict[str, Any]) -> None:
    assert key_of(spec_of()) != key_of(spec_of(**field))


def test_tasks_are_told_apart_only_at_their_own_level() -> None:
    """K3: another task's content is another checkpoint."""
    one, two = CheckpointName("post_task", "a"), CheckpointName("post_task", "b")
    assert key_of(spec_of(), one) != key_of(spec_of(), two)
    assert key_of(spec_of(), one, task_digest="1") != key_of(spec_of(), one, task_digest="2")
    assert key_of(spec_of(), POST, task_digest="1") == key_of(spec_of(), POST, task_digest="2")


def test_options_of_one_episode_do_not_count() -> None:
    def spec(network: str) -> EnvSpec:
        return spec_of(runner_options={"net": {"id": network, "kind": "x"}})

    volatile = {"volatile_options": ["net.id"]}
    assert key_of(spec("1"), **volatile) == key_of(spec("2"), **volatile)
    assert key_of(spec("1")) != key_of(spec("2"))


def test_taking_paths_out_leaves_the_given_options_alone() -> None:
    options = {"a": {"b": 1, "c": 2}, "d": 3}
    assert without_paths(options, ["a.b", "d", "no.such"]) == {"a": {"c": 2}}
    assert options == {"a": {"b": 1, "c": 2}, "d": 3}


def test_a_difference_is_named() -> None:
    """K3: what was made by another version is refused with the difference named."""
    mine = key_material(spec_of(), POST, kind="test", facts={"software": "1", "format": 1})
    other = key_material(spec_of(), POST, kind="test", facts={"software": "2", "format": 1})
    assert mine.differences(other.parts) == ["facts.software"]
    assert KeyMaterial(mine.parts).key == mine.key
