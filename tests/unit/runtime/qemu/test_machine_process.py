"""A machine that is told to end while it starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from gym_anything._util import proc
from gym_anything._util.deadline import Deadline
from gym_anything.errors import Aborted
from gym_anything.runtime.qemu.emulator import HostEmulator
from gym_anything.runtime.qemu.machine_process import MachineProcess
from gym_anything.runtime.qemu.machine_spec import MachineSpec, Ram

pytestmark = pytest.mark.unit


def test_a_stop_between_the_start_of_qemu_and_the_talk_with_it_leaves_no_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found by the conformance suite where QEMU takes its time to start, inside Apptainer."""
    machine = MachineProcess(tmp_path, {}, "a machine")
    monkeypatch.setattr(machine, "_spawn", lambda *args: machine.stop())
    before = set(proc.open_fds().values())
    with pytest.raises(Aborted):
        machine.start(MachineSpec("m", Ram(64), ()), HostEmulator("/usr/bin/qemu", "7.2.22"), Deadline.after(5))
    assert not {name for name in set(proc.open_fds().values()) - before if name.startswith("socket:")}
