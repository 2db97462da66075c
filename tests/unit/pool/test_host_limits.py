"""Kernel limits: read, raised, put back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gym_anything.errors import HostError
from gym_anything.pool.host_limits import LIMITS, LimitChange, raise_limits, read_limits, restore_limits, undo_limits

pytestmark = pytest.mark.unit

AIO, INOTIFY = "fs.aio-max-nr", "fs.inotify.max_user_instances"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A host on which two limits are low, one is higher than needed, and the others do not exist."""
    root = tmp_path / "sys"
    for name, value in {AIO: "65536", INOTIFY: "128", "fs.file-max": "9223372036854775807"}.items():
        path = root.joinpath(*name.split("."))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{value}\n")
    return root


@pytest.fixture
def state(tmp_path: Path) -> Path:
    folder = tmp_path / "state"
    folder.mkdir()
    return folder


def value(root: Path, name: str) -> int:
    return int(root.joinpath(*name.split(".")).read_text())


def test_the_papers_limits_are_among_them() -> None:
    enough = {limit.name: limit.enough for limit in LIMITS}
    assert enough[AIO] == 1_048_576 and enough[INOTIFY] == 8192


def test_read(root: Path) -> None:
    states = {one.limit.name: one for one in read_limits(root)}
    assert (states[AIO].value, states[AIO].enough) == (65536, False)
    assert states["fs.file-max"].enough and states["vm.max_map_count"].value is None
    assert states["vm.max_map_count"].enough, "what this kernel does not have bounds nothing"


def test_raised_and_put_back(root: Path, state: Path) -> None:
    assert raise_limits(state, root=root) == [LimitChange(AIO, 65536, 1_048_576), LimitChange(INOTIFY, 128, 8192)]
    assert (value(root, AIO), value(root, INOTIFY)) == (1_048_576, 8192)
    assert value(root, "fs.file-max") == 9223372036854775807, "nothing is lowered"
    assert raise_limits(state, root=root) == []
    assert [(one.name, one.after, one.problem) for one in undo_limits(state, root=root)] == [
        (AIO, 65536, ""),
        (INOTIFY, 128, ""),
    ]
    assert (value(root, AIO), value(root, INOTIFY)) == (65536, 128)
    assert undo_limits(state, root=root) == []


def test_a_dry_run_changes_nothing(root: Path, state: Path) -> None:
    assert len(raise_limits(state, dry_run=True, root=root)) == 2
    assert (value(root, AIO), list(state.glob("*.json"))) == (65536, [])
    raise_limits(state, root=root)
    assert len(undo_limits(state, dry_run=True, root=root)) == 2 and value(root, AIO) == 1_048_576


def test_what_it_was_is_on_disk_before_it_is_changed(root: Path, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object, **__: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_text", killed)
    with pytest.raises(KeyboardInterrupt):
        raise_limits(state, root=root)
    assert json.loads((state / "host-limits.json").read_bytes()) == {AIO: [65536, 1_048_576]}


def test_what_somebody_else_has_changed_since_is_left_and_said(root: Path, state: Path) -> None:
    raise_limits(state, root=root)
    root.joinpath(*AIO.split(".")).write_text("2000000\n")
    left, back = undo_limits(state, root=root)
    assert (left.name, value(root, AIO)) == (
        AIO,
        2_000_000,
    ) and "2000000, which is not what was set here" in left.problem
    assert (back.problem, value(root, INOTIFY)) == ("", 128)
    assert undo_limits(state, root=root) == []


def test_raised_again_after_a_boot_the_first_value_is_kept(root: Path, state: Path) -> None:
    raise_limits(state, root=root)
    root.joinpath(*AIO.split(".")).write_text("70000\n")
    raise_limits(state, root=root)
    undo_limits(state, root=root)
    assert value(root, AIO) == 65536


def test_after_a_boot_what_was_raised_is_raised_again_and_nothing_else(root: Path, state: Path) -> None:
    assert restore_limits(state, root=root) == [], "nobody has asked for it"
    raise_limits(state, root=root)
    assert restore_limits(state, root=root) == [], "no boot was between"
    root.joinpath(*AIO.split(".")).write_text("65536\n")
    root.joinpath(*INOTIFY.split(".")).write_text("9000\n")
    root.joinpath("fs", "file-max").write_text("100\n")
    assert restore_limits(state, root=root) == [LimitChange(AIO, 65536, 1_048_576)]
    assert (value(root, AIO), value(root, INOTIFY), value(root, "fs.file-max")) == (1_048_576, 9000, 100)
    undo_limits(state, root=root)
    assert value(root, AIO) == 65536, "what it was at first is still known"
    assert restore_limits(state, root=root) == []


def test_who_may_not_is_told_and_nothing_is_recorded(root: Path, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "write_text", refuse)
    assert [one.problem for one in raise_limits(state, root=root)] == ["not changed: Permission denied"] * 2
    assert not (state / "host-limits.json").exists()


def test_a_record_that_cannot_be_read_is_not_overwritten(root: Path, state: Path) -> None:
    (state / "host-limits.json").write_text("{")
    with pytest.raises(HostError, match=r"does not say what the limits were.*by hand"):
        raise_limits(state, root=root)
    assert (state / "host-limits.json").read_text() == "{" and value(root, AIO) == 65536
