"""What the machines of one world are like, wherever their state comes from: the same for a template and its clones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gym_anything.runtime.qemu.emulator import Emulator
from gym_anything.runtime.qemu.guest_machine import DESKTOP_PORT, FAST_INPUT_PORT, GUEST_PORT, TOKEN_FILE, new_mac
from gym_anything.runtime.qemu.image.disk import StoredDisk
from gym_anything.runtime.qemu.keyboards import Hands, InputDevices
from gym_anything.runtime.qemu.machine_spec import Accelerator, DiskLayer, Frames, MachineSpec, Network, Ram

FORMAT = 1
"""Raised when machines change in a way that a saved one does not survive."""


@dataclass(frozen=True, slots=True)
class MachinePlan:
    """A machine without its place: disk, size, screen, accelerator, and QEMU itself.

    Attributes:
        outside: the machine may reach the network; clones of one template may differ in it.
        frames: how pictures of worlds are taken; of what is saved they are taken as every QEMU can.
        hands, input_devices: as ``MachineSpec``.
    """

    disk: StoredDisk
    emulator: Emulator
    accelerator: Accelerator
    cpus: int
    memory_mib: int
    screen: tuple[int, int]
    outside: bool
    frames: Frames = "qmp"
    hands: Hands = "guest"
    input_devices: InputDevices = "xhci"

    def spec(
        self,
        name: str,
        *,
        ram: Ram,
        above: Sequence[DiskLayer],
        token_file: Path,
        incoming: bool = False,
        vnc_socket: Path | None = None,
    ) -> MachineSpec:
        """Return one machine: its memory, and the layers of its disk above the image's, the newest last."""
        return MachineSpec(
            name=name,
            ram=ram,
            layers=(self.disk.layer, *above),
            cpus=self.cpus,
            accelerator=self.accelerator,
            screen=self.screen,
            kernel=self.disk.kernel,
            network=Network(new_mac(), self.outside, (GUEST_PORT, DESKTOP_PORT, FAST_INPUT_PORT)),
            firmware_files=((TOKEN_FILE, token_file),),
            incoming=incoming,
            vnc_socket=vnc_socket,
            # What is saved for others has both kinds of hands tried: see ``GuestMachine.try_hands``.
            frames="qmp" if ram.share else self.frames,
            hands="uinput" if ram.share else self.hands,
            input_devices=self.input_devices,
        )

    def facts(self) -> dict[str, Any]:
        """Return what a saved machine of this plan depends on, as JSON values."""
        spec = self.spec("facts", ram=Ram(self.memory_mib), above=(), token_file=Path("/"))
        return {
            "format": FORMAT,
            "emulator": self.emulator.version,
            "topology": spec.topology(),
            "disk": self.disk.digests(),
        }
