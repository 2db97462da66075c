"""From a spec to a machine with Windows or Android."""

from __future__ import annotations

from pathlib import Path

from gym_anything.errors import MissingDependency
from gym_anything.runtime.qemu.apptainer_emulator import ApptainerEmulator
from gym_anything.runtime.qemu.emulator import Emulator
from gym_anything.runtime.qemu.guest_machine import new_mac
from gym_anything.runtime.qemu.machine_spec import Accelerator, DiskLayer, Network
from gym_anything.runtime.qemu.other_images import firmware_files
from gym_anything.runtime.qemu.other_machine_spec import DiskBus, Hardware, NetworkCard, OtherFamily, OtherMachineSpec
from gym_anything.runtime.runners.qemu_native.other_options import OtherOptions, family_of
from gym_anything.specs.env_spec import EnvSpec

_CPUS, _MEMORY_GB = 4, {"windows": 8.0, "android": 4.0}
_DEFAULTS: dict[OtherFamily, tuple[DiskBus, NetworkCard, bool]] = {
    "windows": ("sata", "e1000", True),  # what Windows' own installer has drivers for
    "android": ("virtio", "virtio", False),
}


def hardware_of(spec: EnvSpec) -> tuple[Hardware, bool]:
    """Return what the guest finds, and whether it starts by UEFI (whose files are not known here)."""
    options = OtherOptions.model_validate(dict(spec.runner_options))
    bus, card, by_uefi = _DEFAULTS[family_of(spec)]
    if options.firmware is not None:
        by_uefi = options.firmware == "uefi"
    return Hardware(options.disk_bus or bus, options.network_card or card), by_uefi


def machine_of(
    spec: EnvSpec,
    *,
    name: str,
    layers: tuple[DiskLayer, ...],
    accelerator: Accelerator,
    guest_port: int,
    screen: tuple[int, int],
    vnc_socket: Path | None,
) -> OtherMachineSpec:
    """Return the machine of a spec, still without firmware."""
    family, resources = family_of(spec), spec.resources
    return OtherMachineSpec(
        family=family,
        name=name,
        ram_mib=round((resources.mem_gb or _MEMORY_GB[family]) * 1024),
        layers=layers,
        hardware=hardware_of(spec)[0],
        network=Network(new_mac(), bool(resources.net), (guest_port,)),
        cpus=max(1, round(resources.cpu or _CPUS)),
        accelerator=accelerator,
        screen=screen,
        vnc_socket=vnc_socket,
    )


def find_firmware(emulator: Emulator) -> tuple[Path, Path]:
    """Return UEFI's program and settings: this host's, or those of the image that QEMU runs from.

    Raises: MissingDependency with the fix.
    """
    roots = [Path("/")]
    if isinstance(emulator, ApptainerEmulator) and Path(emulator.image).is_dir():
        roots.append(Path(emulator.image))
    return firmware_files(tuple(roots))


def disk_format(path: Path) -> DiskLayer:
    """Return an image as a layer, by what it is and not by its name. Raises: MissingDependency for another format."""
    with path.open("rb") as file:
        is_qcow2 = file.read(4) == b"QFI\xfb"
    if is_qcow2:
        return DiskLayer(path, "qcow2")
    fix = f"qemu-img convert -O qcow2 {path} {path.with_suffix('.qcow2')}"
    raise MissingDependency(f"{path} is no qcow2 image. Fix: {fix}", detail={"fix": fix})
