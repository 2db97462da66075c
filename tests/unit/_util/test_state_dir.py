"""The state folder: runs, worlds, and what is orphaned."""

from __future__ import annotations

import json
import os
import socket
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from gym_anything._util import atomic_write, orphans
from gym_anything._util.labels import Label, Owner
from gym_anything._util.locks import FileLock
from gym_anything._util.orphans import Orphan, collect, find_orphans
from gym_anything._util.state_dir import LOCK, MANIFEST, Run, state_root
from gym_anything.errors import HostError, SettingInvalid, StateError

pytestmark = pytest.mark.unit


def test_the_state_folder_is_private_and_chosen_by_variable_then_xdg_then_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.delenv("GYM_ANYTHING_STATE_DIR", raising=False)
    assert state_root() == tmp_path / "home/.local/state/gym-anything"
    monkeypatch.setenv("XDG_STATE_HOME", "relative/is/ignored/by/the/standard")
    assert state_root() == tmp_path / "home/.local/state/gym-anything"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    assert state_root() == tmp_path / "xdg/gym-anything"
    monkeypatch.setenv("GYM_ANYTHING_STATE_DIR", str(tmp_path / "mine"))
    assert state_root() == tmp_path / "mine"
    assert stat.S_IMODE((tmp_path / "mine").stat().st_mode) == 0o700


def test_a_state_folder_that_cannot_be_is_refused_with_the_variable_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GYM_ANYTHING_STATE_DIR", "relative")
    with pytest.raises(SettingInvalid, match="GYM_ANYTHING_STATE_DIR"):
        state_root()
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GYM_ANYTHING_STATE_DIR", str(tmp_path / "file" / "below"))
    with pytest.raises(HostError, match="GYM_ANYTHING_STATE_DIR"):
        state_root()


def test_a_run_is_made_once_says_its_owner_and_holds_its_lock(state: Path) -> None:
    run = Run.current()
    assert Run.current() is run
    manifest = json.loads((run.path / MANIFEST).read_text())
    assert Owner.parse(manifest["owner"]) == Owner.current()
    assert FileLock.try_acquire(run.path / LOCK) is None
    run.close()
    run.close()
    assert not run.path.exists()
    with pytest.raises(StateError):
        run.new_world("local")
    assert Run.current() is not run


def test_worlds_have_ids_folders_labels_and_manifests_of_their_own(state: Path) -> None:
    run = Run.current()
    worlds = [run.new_world("local", image="debian") for _ in range(50)]
    assert len({world.id for world in worlds}) == 50
    world = worlds[0]
    assert stat.S_IMODE(world.path.stat().st_mode) == 0o700
    world.update_manifest(display=":1")
    manifest = json.loads((world.path / MANIFEST).read_text())
    assert (manifest["runner"], manifest["image"], manifest["display"]) == ("local", "debian", ":1")
    assert Label.from_dict(world.labels) == world.label == Label.parse(world.env["GYM_ANYTHING_WORLD_LABEL"])
    world.remove()
    world.remove()
    assert not world.path.exists()
    assert len(run.worlds) == 49


@pytest.mark.parametrize("depth", [1, 80])
def test_a_socket_path_fits_whatever_the_depth_of_the_state_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, depth: int
) -> None:
    """N12."""
    root = tmp_path / ("ü" * depth)
    root.mkdir()
    run = Run(root)
    try:
        world = run.new_world("local")
        path = world.socket_path("desktop.sock")
        assert len(os.fsencode(path)) <= 107
        with socket.socket(socket.AF_UNIX) as sock:
            sock.bind(str(path))
        assert (world.path / "desktop.sock").is_socket()
        assert world.socket_path("desktop.sock") == path
        world.remove()
        assert not path.parent.is_symlink()
    finally:
        run.close()


# --- orphans -----------------------------------------------------------------------------------------------------


def _kill_owner(run: Run, **changes: int) -> None:
    """Make the run look like one whose owner was killed: another start time, the lock free."""
    owner = replace(run.owner, **{"start_ticks": run.owner.start_ticks - 1, **changes})
    atomic_write.write_json(run.path / MANIFEST, {"run": run.id, "owner": str(owner)})
    run._lock.release()


def test_a_live_run_is_never_an_orphan(state: Path) -> None:
    Run.current().new_world("local")
    assert find_orphans(state) == [] == collect(state)


def test_a_dead_run_is_found_then_removed_with_its_links(state: Path, tmp_path: Path) -> None:
    """L3."""
    run = Run(state_root())
    world = run.new_world("local")
    link = tmp_path / "link"
    link.symlink_to(world.path)
    world.update_manifest(short_link=str(link))
    _kill_owner(run)
    found = find_orphans(state)
    assert {(orphan.kind, orphan.removed) for orphan in found} == {("link", False), ("folder", False)}
    assert link.is_symlink() and world.path.exists()
    assert all(orphan.removed for orphan in collect(state))
    assert not link.is_symlink() and not run.path.exists()
    assert collect(state) == []


def test_a_link_that_leads_elsewhere_is_left_alone(state: Path, tmp_path: Path) -> None:
    """L3: a manifest is a claim; the link itself must agree."""
    run = Run(state_root())
    world = run.new_world("local")
    (tmp_path / "foreign").symlink_to(tmp_path)
    world.update_manifest(short_link=str(tmp_path / "foreign"))
    _kill_owner(run)
    collect(state)
    assert (tmp_path / "foreign").is_symlink()


def test_a_run_whose_lock_is_held_or_whose_owner_is_elsewhere_is_left_alone(state: Path) -> None:
    """L3: of a run in another container (process namespace) nothing is known; a held lock means somebody lives."""
    locked, elsewhere = Run(state_root()), Run(state_root())
    _kill_owner(locked)
    _kill_owner(elsewhere, pid_namespace=1)
    with FileLock.acquire(locked.path / LOCK, deadline=orphans.Deadline.after(1)):
        assert collect(state) == []
    assert elsewhere.path.exists()
    elsewhere.close()
    locked.close()


def test_foreign_folders_and_a_run_that_is_just_being_made_are_left_alone(state: Path) -> None:
    """L3."""
    for name in ("r-foreign", "notes", "rabcdef"):
        (state_root() / name).mkdir()
    (state / "rlink").symlink_to(state / "notes")
    assert collect(state) == []
    os.utime(state / "rabcdef", (0, 0))  # older than any making takes: killed before it had a manifest
    assert [orphan.what for orphan in collect(state)] == [str(state / "rabcdef")]
    assert sorted(path.name for path in state.iterdir()) == ["notes", "r-foreign", "rlink"]


def test_a_runners_own_collector_gets_the_judge_of_labels_and_the_dry_run(state: Path) -> None:
    dead = Label("rold", "w1", Owner(1, 2, "otherboot", 3))

    def containers(is_orphan: orphans.IsOrphan, dry_run: bool) -> list[Orphan]:
        assert is_orphan(dead) and not is_orphan(Label("rnew", "w1", Owner.current()))
        return [Orphan("container", "c1", dead.run, dead.world, removed=not dry_run)]

    assert [o.removed for o in find_orphans(state, collectors=[containers])] == [False]
    assert [o.removed for o in collect(state, collectors=[containers])] == [True]
