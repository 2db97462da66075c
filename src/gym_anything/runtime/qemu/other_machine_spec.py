"""What a machine with a guest of another system than Linux is made of, as data: Windows, Android for PCs."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from gym_anything.runtime.qemu.machine_spec import Accelerator, DiskLayer, Network

OtherFamily = Literal["windows", "android"]
DiskBus = Literal["scsi", "virtio", "sata"]
NetworkCard = Literal["virtio", "e1000"]


@dataclass(frozen=True, slots=True)
class Firmware:
    """UEFI.

    Attributes:
        code: its program, which is only read. variables: the machine's own copy of its settings.
    """

    code: Path
    variables: Path


@dataclass(frozen=True, slots=True)
class Hardware:
    """What the guest finds, as its image needs it.

    Attributes:
        disk_bus: scsi: virtio's SCSI. virtio: a virtio disk. sata: what every system has a driver for.
        network_card: virtio, or Intel's e1000, which every system has a driver for.
        firmware: None starts by the BIOS.
    """

    disk_bus: DiskBus
    network_card: NetworkCard
    firmware: Firmware | None = None


@dataclass(frozen=True, slots=True)
class OtherMachineSpec:
    """One machine. The fields are those of ``MachineSpec`` where they have the same name.

    Attributes:
        family: decides over clock, processor and chip set.
        layers: the disk from the user's image to the layer that alone is written.
    """

    family: OtherFamily
    name: str
    ram_mib: int
    layers: tuple[DiskLayer, ...]
    hardware: Hardware
    network: Network
    cpus: int = 4
    accelerator: Accelerator = "tcg"
    screen: tuple[int, int] = (1920, 1080)
    vnc_socket: Path | None = None
    qmp_fd: int | None = 3
    console_fd: int | None = 4

    def with_(self, **changes: Any) -> OtherMachineSpec:
        """Return a copy with some attributes changed."""
        return dataclasses.replace(self, **changes)
