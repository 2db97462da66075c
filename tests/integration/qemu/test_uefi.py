"""A Windows machine without Windows: UEFI's own shell stands in for it, seen and typed into as a guest would be."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.actions.model import TypeText
from gym_anything.errors import MissingDependency
from gym_anything.runtime.qemu.blind_hands import BlindHands
from gym_anything.runtime.qemu.emulator import HostEmulator
from gym_anything.runtime.qemu.machine_process import MachineProcess
from gym_anything.runtime.qemu.machine_spec import DiskLayer, Network
from gym_anything.runtime.qemu.other_images import firmware_files
from gym_anything.runtime.qemu.other_machine_spec import Firmware, Hardware, OtherMachineSpec
from gym_anything.runtime.qemu.program import IMAGE_TOOL, SYSTEM, find_program
from gym_anything.runtime.qemu.screendump import Screendump

pytestmark = [pytest.mark.real, pytest.mark.soak]

SIZE = (1280, 720)


def test_uefi_shows_the_size_asked_for_and_reads_every_key(
    tmp_path: Path, require_backend: Callable[[str, bool, str], None]
) -> None:
    there = find_program(SYSTEM) is not None and find_program(IMAGE_TOOL) is not None
    require_backend("qemu_native", there, "QEMU is not installed: apt-get install qemu-system-x86 qemu-utils")
    try:
        code, settings = firmware_files((Path("/"),))
    except MissingDependency as error:
        pytest.skip(str(error))
    shutil.copyfile(settings, tmp_path / "settings.fd")
    subprocess.run([IMAGE_TOOL, "create", "-q", "-f", "qcow2", str(tmp_path / "disk"), "8M"], check=True, timeout=60)
    spec = OtherMachineSpec(
        family="windows",
        name="uefi",
        ram_mib=256,
        layers=(DiskLayer(tmp_path / "disk"),),
        hardware=Hardware("sata", "e1000", Firmware(code, tmp_path / "settings.fd")),
        network=Network("52:54:00:00:00:01", False, (22,)),
        cpus=1,
        screen=SIZE,
    )
    machine, deadline = MachineProcess(tmp_path, {}, "a machine with nothing but UEFI"), Deadline.after(90)
    try:
        machine.start(spec, HostEmulator.find(), deadline)
        screen, hands = Screendump(machine.qmp), BlindHands(machine.qmp, lambda: SIZE)

        def awaited(text: str) -> None:
            wait_until(
                lambda: text in (tmp_path / "console.log").read_text(errors="replace"),
                deadline=deadline,
                awaited=f"UEFI to say {text!r}",
                log_tail=machine.log_tail,
            )

        awaited("any other key")
        hands.do([TypeText("\n")], deadline)
        awaited("Shell> ")
        line = "Keys: aZ 09 -=+_ !@ ()[]{} ,.?/ ;:~ THE quick brown FOX jumps over the lazy dog"
        hands.do([TypeText(f'echo "{line}"\n')], deadline)
        awaited(f"\n{line}")
        array, _ = screen.picture(deadline)
        assert array.shape == (SIZE[1], SIZE[0], 3) and array.std() > 1
        screen.close()
    finally:
        machine.stop()
