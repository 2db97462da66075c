"""Saving and loading as QEMU is asked to: every answer checked, a failure named, nothing half-saved left."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything.errors import CheckpointError, CheckpointStale, DeadlineExceeded, WorldLost
from gym_anything.runtime.qemu.machine_process import MachineProcess
from gym_anything.runtime.qemu.saved_machine import load, save

pytestmark = pytest.mark.unit


class FakeMachine:
    """A machine whose monitor answers ``query-migrate`` by what the test lists."""

    def __init__(self, version: tuple[int, int, int], *states: dict[str, Any]) -> None:
        self.version = version
        self.states = list(states)
        self.asked: list[tuple[str, Any]] = []
        self.qmp = self

    def execute(self, command: str, arguments: Any = None, *, deadline: Deadline, fds: list[int] | None = None) -> Any:
        self.asked.append((command, arguments))
        if command != "query-migrate":
            return {}
        state = self.states[0] if len(self.states) == 1 else self.states.pop(0)
        if state.get("status") == "died":
            raise WorldLost("QEMU closed its monitor")
        return state

    def await_event(self, names: tuple[str, ...], *, deadline: Deadline) -> None:
        assert names == ("MIGRATION",)
        if self.states == [{"status": "active"}]:  # it stays as it is
            raise DeadlineExceeded("QEMU's event")

    def log_tail(self) -> str:
        return "[qemu] Unknown savevm section 'ga'"

    def uri(self) -> str:
        return next(str(a["uri"]) for c, a in self.asked if c in ("migrate", "migrate-incoming"))


def soon() -> Deadline:
    return Deadline.after(5)


def fake(*states: dict[str, Any], version: tuple[int, int, int] = (7, 2, 22)) -> Any:
    return FakeMachine(version, *states)


@pytest.mark.parametrize("memory_in_file", [True, False])
def test_a_machine_is_saved_when_qemu_says_completed(tmp_path: Path, memory_in_file: bool) -> None:
    machine = fake({"status": "setup"}, {"status": "active"}, {"status": "completed"})
    save(cast(MachineProcess, machine), tmp_path / "state", soon(), memory_in_file=memory_in_file)
    assert machine.asked[0][0] == "migrate-set-capabilities"
    asked = {one["capability"]: one["state"] for one in machine.asked[0][1]["capabilities"]}
    assert asked == {"x-ignore-shared": memory_in_file, "events": True}
    assert [command for command, _ in machine.asked].count("query-migrate") == 3


def test_a_failed_save_is_an_error_with_the_reason_and_leaves_nothing(tmp_path: Path) -> None:
    """K1: every QMP reply is checked."""
    machine = fake({"status": "failed", "error-desc": "No space left on device"})
    with pytest.raises(CheckpointError, match="No space left"):
        save(cast(MachineProcess, machine), tmp_path / "state", soon(), memory_in_file=True)
    assert not (tmp_path / "state").exists()


def test_a_save_that_never_ends_is_given_up_with_its_last_status(tmp_path: Path) -> None:
    with pytest.raises(DeadlineExceeded, match="active"):
        save(
            cast(MachineProcess, fake({"status": "active"})), tmp_path / "s", Deadline.after(0.05), memory_in_file=True
        )
    assert not (tmp_path / "s").exists()


def test_a_state_that_does_not_fit_is_stale_and_qemus_own_words_say_why(tmp_path: Path) -> None:
    (tmp_path / "state").touch()
    with pytest.raises(CheckpointStale, match="Unknown savevm section"):
        load(cast(MachineProcess, fake({"status": "died"})), tmp_path / "state", soon(), memory_in_file=True)


def test_what_was_prepared_before_is_not_asked_again(tmp_path: Path) -> None:
    (tmp_path / "state").touch()
    machine = fake({"status": "completed"})
    load(cast(MachineProcess, machine), tmp_path / "state", soon(), memory_in_file=True, prepared=True)
    assert [command for command, _ in machine.asked] == ["getfd", "migrate-incoming", "query-migrate"]


@pytest.mark.parametrize(("version", "kind"), [((7, 2, 22), "fd:"), ((8, 2, 0), "file:"), ((10, 0, 3), "file:")])
def test_newer_qemus_are_given_the_files_name(tmp_path: Path, version: tuple[int, int, int], kind: str) -> None:
    (tmp_path / "state").touch()
    for act in (save, load):
        machine = fake({"status": "completed"}, version=version)
        act(cast(MachineProcess, machine), tmp_path / "state", soon(), memory_in_file=True)
        assert machine.uri().startswith(kind)
