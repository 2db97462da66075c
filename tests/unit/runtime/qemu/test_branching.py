"""Branch points: there while somebody needs them; disk layers copied while small, frozen when they are big."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything._util.state_dir import Run
from gym_anything.errors import StateError
from gym_anything.runtime.qemu import branching
from gym_anything.runtime.qemu.branching import DiskChain, QemuBranch
from gym_anything.runtime.qemu.machine_process import MachineProcess
from gym_anything.runtime.qemu.machine_spec import DiskLayer
from gym_anything.runtime.qemu.templates import DISK, SavedFiles

pytestmark = pytest.mark.unit


class Below:
    """What a branch point lies on."""

    released = 0

    def release(self) -> None:
        self.released += 1


class Monitor:
    """Takes commands down."""

    def __init__(self) -> None:
        self.commands: list[tuple[str, Mapping[str, Any]]] = []

    @property
    def qmp(self) -> Monitor:
        return self

    def execute(self, command: str, arguments: Mapping[str, Any], *, deadline: Deadline) -> None:
        self.commands.append((command, arguments))


@pytest.fixture
def branch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[QemuBranch, Path, Below]:
    run = Run(tmp_path)
    below, place = Below(), run.new_world("qemu-branch")
    return QemuBranch(place, cast(Any, None), SavedFiles(place.path, ()), below), place.path, below


def test_a_branch_point_goes_with_its_last_user_and_then_what_it_lies_on(
    branch: tuple[QemuBranch, Path, Below],
) -> None:
    point, folder, below = branch
    first, second = point.hold(), point.hold()
    point.release()
    point.release()
    first.release()
    first.release()
    assert (folder.is_dir(), below.released) == (True, 0)
    second.release()
    assert (folder.exists(), below.released) == (False, 1)


def test_nobody_can_begin_to_use_what_is_gone(branch: tuple[QemuBranch, Path, Below]) -> None:
    branch[0].release()
    with pytest.raises(StateError, match="released"):
        branch[0].hold()


def test_a_small_layer_is_copied_and_a_big_one_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(branching, "clone_file", lambda *_: False)
    (tmp_path / DISK).write_bytes(b"x" * 10_000)
    chain = DiskChain(tmp_path)
    assert chain.copy_to(tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == b"x" * 10_000
    monkeypatch.setattr(branching, "COPIED_BYTES", 4096)
    assert not chain.copy_to(tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_a_frozen_layer_lies_below_the_next_one(tmp_path: Path) -> None:
    empty = tmp_path / "empty.qcow2"
    empty.write_bytes(b"empty")
    (tmp_path / DISK).write_bytes(b"written")
    chain, monitor = DiskChain(tmp_path), Monitor()
    for _ in range(2):
        chain.freeze(cast(MachineProcess, monitor), empty, Deadline.after(1))
    assert chain.frozen == [DiskLayer(tmp_path / DISK), DiskLayer(tmp_path / "disk-1.qcow2")]
    assert (chain.top, chain.top.read_bytes()) == (tmp_path / "disk-2.qcow2", b"empty")
    snapshots = [arguments for command, arguments in monitor.commands if command == "blockdev-snapshot"]
    assert snapshots == [{"node": "disk", "overlay": "disk-1"}, {"node": "disk-1", "overlay": "disk-2"}]
    added = [arguments for command, arguments in monitor.commands if command == "blockdev-add"]
    assert [(layer["node-name"], layer["backing"]) for layer in added] == [("disk-1", None), ("disk-2", None)]
