"""Checkpoints of Docker worlds: images by content, made whole or not at all, removed with their last user."""

from __future__ import annotations

from pathlib import Path

import pytest

from gym_anything._util.labels import Label
from gym_anything.doctor.caches import Component
from gym_anything.errors import CheckpointError
from gym_anything.runtime.runners.docker import checkpoint
from gym_anything.runtime.runners.docker.checkpoint import REPOSITORY
from gym_anything.runtime.runners.docker.runner import DockerRunner
from gym_anything.runtime.runners.docker.vendor import Engine, EngineRefused
from tests.integration.docker.conftest import MakeRunner

pytestmark = pytest.mark.real

LEVEL = "post_start"


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GYM_ANYTHING_DOCKER_CHECKPOINT_DIR", str(tmp_path / "checkpoints"))
    return tmp_path / "checkpoints"


@pytest.fixture
def saved(make_shell: MakeRunner, own_store: Path) -> DockerRunner:
    """A world that has saved a file of its own; what is saved goes with the test."""
    runner = make_shell()
    runner.exec("echo kept > /root/kept")
    runner.set_checkpoint_key(LEVEL)
    runner.create_checkpoint()
    return runner


def reference_of(store: Path) -> str:
    (folder,) = [path for path in store.iterdir() if path.name != "locks"]
    return f"{REPOSITORY}:{folder.name}"


def test_the_world_goes_on_with_what_was_saved_and_without_its_programs(make_shell: MakeRunner) -> None:
    runner = make_shell()
    runner.exec_async("sleep 1000")
    runner.exec("echo kept > /root/kept")
    before = runner.get_runtime_info().container_name
    runner.set_checkpoint_key(LEVEL)
    try:
        runner.create_checkpoint()
        assert runner.exec_capture("cat /root/kept") == "kept\n"
        assert runner.exec("pgrep sleep", use_pty=False) == 1
        assert runner.get_runtime_info().container_name != before
    finally:
        runner.stop()
        runner.delete_checkpoint()


def test_a_failed_save_leaves_the_world_usable_and_nothing_under_the_key(
    make_shell: MakeRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """K1"""

    def refuse(*_: object) -> str:
        raise EngineRefused("docker: commit a container: no space left on device")

    runner = make_shell()
    runner.exec("echo mine > /root/mine")
    runner.set_checkpoint_key(LEVEL)
    with monkeypatch.context() as patch:
        patch.setattr(Engine, "commit", refuse)
        with pytest.raises(CheckpointError, match="no space left"):
            runner.create_checkpoint()
    assert runner.exec_capture("cat /root/mine") == "mine\n"
    assert runner.exec("sudo -n true", user="ga") == 0
    assert not runner.checkpoint_exists()


def test_the_image_of_a_removed_checkpoint_stays_until_the_last_world_made_from_it_is_gone(
    saved: DockerRunner, engine: Engine, own_store: Path
) -> None:
    """K4"""
    reference = reference_of(own_store)
    assert saved.delete_checkpoint() is True
    assert not saved.checkpoint_exists() and engine.image(reference) is not None
    assert saved.exec_capture("cat /root/kept") == "kept\n"
    saved.stop()
    assert engine.image(reference) is None


def test_purging_the_cache_removes_the_image(saved: DockerRunner, engine: Engine, own_store: Path) -> None:
    from gym_anything.doctor import caches

    reference = reference_of(own_store)
    saved.stop()
    (row,) = DockerRunner.cache_components()
    component: Component = caches._component("docker", row)
    result = caches.purge([component])
    assert len(result.removed) == 1 and not result.kept
    assert engine.image(reference) is None


def test_an_image_taken_out_of_the_engine_is_a_missing_checkpoint_and_is_made_again(
    saved: DockerRunner, make_shell: MakeRunner, engine: Engine, own_store: Path
) -> None:
    reference = reference_of(own_store)
    saved.stop()
    assert engine.remove_image(reference)
    assert not saved.checkpoint_exists()
    again = make_shell()
    again.set_checkpoint_key(LEVEL)
    again.create_checkpoint()
    assert again.checkpoint_exists()
    again.stop()
    again.delete_checkpoint()


def test_keys_follow_content_and_not_paths(
    make_shell: MakeRunner, make_runner: MakeRunner, tmp_path: Path, minimal_image: str
) -> None:
    """K5"""
    nothing = {"image": minimal_image, "observation": [{"type": "numbers"}], "action": [{"type": "api_call"}]}

    def spec_in(folder: str, text: str, hook: str = "true") -> dict[str, object]:
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "setup.sh").write_text(text)
        mounts = [{"source": str(tmp_path / folder), "target": "/workspace"}]
        return {**nothing, "mounts": mounts, "hooks": {"pre_start": hook}}

    first = make_shell(**spec_in("one", "echo 1"))
    first.set_checkpoint_key(LEVEL)
    first.create_checkpoint()
    first.stop()
    found = []
    for fields in (spec_in("two", "echo 1"), spec_in("three", "echo 2"), spec_in("four", "echo 1", hook="false")):
        other = make_runner(**fields)
        other.set_checkpoint_key(LEVEL)
        found.append(other.checkpoint_exists())
    assert found == [True, False, False]
    first.delete_checkpoint()


def test_an_image_that_a_killed_process_never_told_its_store_of_is_collected_and_no_other(
    saved: DockerRunner, engine: Engine, own_store: Path
) -> None:
    """L3"""
    kept = reference_of(own_store)
    name = saved.get_runtime_info().container_name
    assert name is not None and saved._world is not None
    labels = checkpoint._labels(saved._world.place.label)
    assert Label.from_dict(labels) is None  # what is made from it goes with nobody's world
    engine.commit(name, checkpoint.REPOSITORY, "half-made", {"Labels": labels})
    elsewhere = {**labels, checkpoint.STORE: "/another/store"}
    engine.commit(name, checkpoint.REPOSITORY, "of-others", {"Labels": elsewhere})
    try:
        assert checkpoint.orphaned_images(engine, lambda label: False, False) == []
        found = checkpoint.orphaned_images(engine, lambda label: True, False)
        assert [orphan.removed for orphan in found] == [True] and "half-made" in found[0].what
        assert engine.image(kept) is not None
    finally:
        assert engine.remove_image(f"{checkpoint.REPOSITORY}:of-others")
