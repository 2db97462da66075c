"""What a machine is made of, as data. ``machine_argv`` turns it into QEMU's command line."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from gym_anything.runtime.qemu.keyboards import Hands, InputDevices

Accelerator = Literal["kvm", "tcg"]
Frames = Literal["qmp", "dbus", "guest"]
FRAMES: tuple[Frames, ...] = ("qmp", "dbus", "guest")


@dataclass(frozen=True, slots=True)
class Ram:
    """The machine's memory.

    Attributes:
        mib: its size.
        path: the file it lies in; None keeps it anonymous.
        changes: the file with what is different from it, of which a clone has a private copy, too.
        share: True writes to the file (a template); False keeps changes private, copied on write (a clone).
        library: our ``ga-memory``, with which QEMU takes a private copy for a shared file, so that it leaves it out of
            what it saves. None: a machine whose memory is private can only be saved whole.
    """

    mib: int
    path: Path | None = None
    share: bool = False
    library: Path | None = None
    changes: Path | None = None


@dataclass(frozen=True, slots=True)
class DiskLayer:
    """One image file of a disk. ``format`` is ``raw`` or ``qcow2``."""

    path: Path
    format: Literal["raw", "qcow2"] = "qcow2"


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel that QEMU starts itself, so that no boot loader is needed."""

    image: Path
    initrd: Path | None
    command_line: str


@dataclass(frozen=True, slots=True)
class Network:
    """A private network with QEMU as its router.

    Attributes:
        mac: the machine's own address.
        outside: False: the machine reaches nothing but us.
        guest_ports: TCP ports of the machine that we reach; QEMU gives each a free port on 127.0.0.1 and keeps it.
    """

    mac: str
    outside: bool
    guest_ports: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class MachineSpec:
    """One machine.

    What a saved machine is loaded into must have the same *topology*; paths, ports, network address and whether it
    waits for a saved state may differ.

    Attributes:
        name: shown in process lists; never a secret.
        layers: the disk from its base to the newest layer, which alone is written.
        screen: width and height that the graphics card offers as its best.
        firmware_files: name -> host file, which the guest reads below ``/sys/firmware/qemu_fw_cfg/by_name``.
        incoming: wait for a saved state instead of booting.
        vnc_socket: Unix socket on which people may watch and take part; None: nobody may.
        frames: how its pictures will be taken; no part of what a saved machine is.
        bus: socket of the bus that the display is on, with frames ``dbus``; None: peer to peer.
        hands: what input will be played with; no part of what a saved machine is.
        input_devices: the keyboard and the tablet that it has.
        qmp_fd, console_fd: connected sockets that QEMU inherits; None leaves the part out.
    """

    name: str
    ram: Ram
    layers: tuple[DiskLayer, ...]
    cpus: int = 2
    accelerator: Accelerator = "tcg"
    machine: str = "pc"
    cpu: str = ""
    screen: tuple[int, int] = (1280, 800)
    kernel: Kernel | None = None
    network: Network | None = None
    firmware_files: tuple[tuple[str, Path], ...] = ()
    generation_id: str = "auto"
    incoming: bool = False
    vnc_socket: Path | None = None
    frames: Frames = "qmp"
    bus: Path | None = None
    hands: Hands = "guest"
    input_devices: InputDevices = "xhci"
    qmp_fd: int | None = 3
    console_fd: int | None = 4

    @property
    def cpu_model(self) -> str:
        """The processor: the host's own under KVM, else one that TCG emulates whole."""
        return self.cpu or ("host" if self.accelerator == "kvm" else TCG_CPU)

    def topology(self) -> dict[str, Any]:
        """Return what must be the same for a saved machine to be loaded, as JSON values."""
        return {
            "machine": self.machine,
            "accelerator": self.accelerator,
            "cpu": self.cpu_model,
            "cpus": self.cpus,
            "memory_mib": self.ram.mib,
            "screen": list(self.screen),
            "network": self.network is not None,
            "firmware_files": [name for name, _ in self.firmware_files],
            "devices": "linux-2",
            "input_devices": self.input_devices,
        }

    def with_(self, **changes: Any) -> MachineSpec:
        """Return a copy with some attributes changed."""
        return dataclasses.replace(self, **changes)


TCG_CPU = "qemu64,+ssse3,+sse4.1,+sse4.2,+popcnt,+cx16,+lahf_lm,+rdrand"
"""What Debian's programs and Chromium need, and no wider vectors: libraries use what they see, TCG is slow at it."""
