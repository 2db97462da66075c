"""What ``runner_options`` may say for a QEMU world with Windows or Android."""

from __future__ import annotations

from typing import Literal, cast

from pydantic import BaseModel, ConfigDict, Field

from gym_anything.errors import MissingDependency
from gym_anything.runtime.qemu.other_images import DEFAULT_IMAGES, existing_image
from gym_anything.runtime.qemu.other_machine_spec import DiskBus, NetworkCard, OtherFamily
from gym_anything.runtime.runners.spec_promises import declared_promises
from gym_anything.runtime.session.desktop_options import sentences
from gym_anything.specs.env_spec import EnvSpec

FAMILIES: tuple[OtherFamily, ...] = ("windows", "android")
_KEPT = frozenset(
    {"mounts", "apks", "image", "resources.cpu", "resources.mem_gb", "resources.net", "vnc.enable", "vnc.host_port",
     "vnc.password", "vnc.note", "vnc.container_port", "vnc.fallback_only", "ssh.user", "ssh.password",
     "ssh.key_file", "ssh.port", "ssh.note", "adb.guest_port", "adb.timeout", "adb.note"}
)  # fmt: skip
_REASONS = {
    "user_accounts": "the accounts are those of the image; none is made",
    "adb.host_port": "QEMU takes a free port of 127.0.0.1",
    "resources.gpu": "a QEMU world has no GPU",
    "security.network_allowlist": "a QEMU world has all of the network or none",
    "vnc.view_only": "QEMU's own VNC takes keys and clicks from everybody it shows the screen to",
    "ssh.shell": "command lines are PowerShell's",
}


class OtherOptions(BaseModel):
    """Options of one QEMU world with Windows or Android."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    image: str | None = None
    """qcow2 image that worlds start from; a path, or a name below GYM_ANYTHING_QEMU_CACHE. None: the preset's own."""
    start_timeout_s: float = Field(default=900.0, gt=0, le=7200)
    """Bound of a start, in seconds. 900: Windows boots in a minute under KVM, in many where it is emulated."""
    firmware: Literal["uefi", "bios"] | None = None
    """What the machine starts by. None: uefi for Windows, bios for Android."""
    disk_bus: DiskBus | None = None
    """What the disk is connected to: the image must have a driver. None: sata for Windows, virtio for Android."""
    network_card: NetworkCard | None = None
    """Network card: the image must have a driver. None: e1000 for Windows, virtio for Android."""


def family_of(spec: EnvSpec) -> OtherFamily:
    """Return the system of a spec that is for such a world."""
    return cast(OtherFamily, spec.os_type)


def image_of(spec: EnvSpec) -> str:
    """Return the image a spec asks for: its options, its ``image``, its preset's ``base_qcow2``, or the default."""
    chosen = spec.runner_options.get("image") or spec.image or spec.extras.get("base_qcow2")
    return str(chosen or DEFAULT_IMAGES[family_of(spec)])


def misfit(spec: EnvSpec) -> str:
    """Return why no QEMU world can be of a spec for Windows or Android, for detection; empty when one can."""
    if spec.avd is not None:
        return "an Android virtual device is the official emulator's"
    if spec.dockerfile or spec.apptainer is not None:
        return "it brings a container's image"
    try:
        existing_image(image_of(spec), family_of(spec))
    except MissingDependency as error:
        return str(error)
    return ""


def spec_errors(spec: EnvSpec) -> list[str]:
    """Return what is wrong with the options, and what of a spec no such world can be, one sentence each."""
    found = sentences(OtherOptions, spec.runner_options, world="a QEMU world with Windows or Android")
    if spec.apks and spec.os_type != "android":
        found.append("apks: only Android installs them")
    return found


def unenforced(spec: EnvSpec) -> list[tuple[str, str]]:
    """Return (dotted field, reason) for every promise of the spec that such a world does not keep."""
    found = []
    for name in declared_promises(spec):
        if name in _KEPT or (name == "resources.gpu" and not spec.resources.gpu):
            continue
        group = name.partition(".")[0]
        reason = "a QEMU world is a whole machine with accounts and rights of its own" if group == "security" else ""
        found.append((name, _REASONS.get(name) or reason or f"a QEMU world with {spec.os_type} does not use {group}"))
    if any(mount.mode == "rw" for mount in spec.mounts):
        found.append(("mounts.rw", "copied in at the start and back at the end; what the world deletes stays here"))
    return found
