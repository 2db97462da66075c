"""The command line of the machine that an installation runs in. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gym_anything.runtime.images.install.recipe import InstallRecipe


@dataclass(frozen=True)
class InstallFiles:
    """The files of one installation.

    Attributes:
        disk: what is written. cdrom: the medium, when there is one. answers: folder that is shown as a disk.
        firmware: UEFI's program and this machine's copy of its settings.
        kernel: kernel and first file system, where they are started directly.
        monitor: path of QEMU's monitor socket. console: where the serial line is logged. vnc: for who wants to look.
    """

    disk: Path
    cdrom: Path | None
    answers: Path | None
    firmware: tuple[Path, Path] | None
    kernel: tuple[Path, Path] | None
    monitor: Path
    console: Path
    vnc: Path


def install_argv(program: str, recipe: InstallRecipe, files: InstallFiles, *, accelerator: str) -> list[str]:
    """Return QEMU's command line. Nothing of it listens on a network; the guest reaches out through user networking."""
    machine = recipe.machine
    kvm = accelerator == "kvm"
    argv = [program, "-nodefaults", "-no-user-config", "-name", f"install-{recipe.name}", "-no-reboot"]
    if recipe.end.when == "poweroff":
        argv.remove("-no-reboot")  # installers start their system anew before they are done
    argv += [
        "-machine",
        f"q35,accel={accelerator},smm=off",
        "-cpu",
        "host" if kvm else "max",
        "-smp",
        str(machine.cpus),
    ]
    argv += ["-m", str(machine.memory_mib), "-rtc", f"base={'localtime' if recipe.os == 'windows' else 'utc'}"]
    argv += _firmware(files)
    argv += _disk(machine.disk, files.disk)
    if files.cdrom is not None:
        argv += _drive("medium", files.cdrom, "raw", read_only=True)
        argv += ["-device", "ide-cd,drive=medium,bus=ide.1,bootindex=1"]
    argv += ["-device", "qemu-xhci,id=usb", "-device", "usb-kbd,bus=usb.0", "-device", "usb-tablet,bus=usb.0"]
    argv += _answers(recipe.answers, files.answers)
    if machine.network != "none":
        card = {"virtio": "virtio-net-pci", "e1000": "e1000"}[machine.network]
        argv += ["-netdev", "user,id=out,restrict=off", "-device", f"{card},netdev=out"]
    if files.kernel is not None:
        argv += ["-kernel", _word(files.kernel[0]), "-initrd", _word(files.kernel[1]), "-append", recipe.start.append]
    argv += ["-vga", "std", "-display", "none", "-vnc", f"unix:{files.vnc}"]
    return [*argv, "-serial", f"file:{files.console}", "-qmp", f"unix:{files.monitor},server=on,wait=off"]


def _firmware(files: InstallFiles) -> Sequence[str]:
    if files.firmware is None:
        return []
    code, settings = files.firmware
    return [
        "-drive",
        f"if=pflash,unit=0,format=raw,readonly=on,file={_word(code)}",
        "-drive",
        f"if=pflash,unit=1,format=raw,file={_word(settings)}",
    ]


def _disk(bus: str, disk: Path) -> Sequence[str]:
    device = {"sata": "ide-hd,drive=system,bus=ide.0", "virtio": "virtio-blk-pci,drive=system"}[bus]
    return [*_drive("system", disk, "qcow2"), "-device", f"{device},bootindex=0"]


def _answers(kind: str, folder: Path | None) -> Sequence[str]:
    if folder is None:
        return []
    # QEMU shows the folder as a FAT disk: nothing has to be made, and nothing of the host can be written.
    disk = ["-blockdev", f"driver=vvfat,node-name=answers,dir={_word(folder)},label=CIDATA,read-only=on"]
    device = "usb-storage,drive=answers,bus=usb.0,removable=on" if kind == "usb" else "virtio-blk-pci,drive=answers"
    return [*disk, "-device", device]


def _drive(name: str, file: Path, form: str, *, read_only: bool = False) -> list[str]:
    more = ",read-only=on" if read_only else ",discard=unmap,cache=unsafe"
    return ["-drive", f"if=none,id={name},format={form},file={_word(file)}{more}"]


def _word(path: Path) -> str:
    return str(path).replace(",", ",,")
