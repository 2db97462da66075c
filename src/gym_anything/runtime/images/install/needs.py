"""What an installation needs of this host, and what of it is missing: all of it is said before anything is begun."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gym_anything.errors import MissingDependency
from gym_anything.runtime.images.install.recipe import Download, InstallRecipe
from gym_anything.runtime.images.prepared.store import PreparedStore
from gym_anything.runtime.qemu.accelerator import choose_accelerator
from gym_anything.runtime.qemu.program import IMAGE_TOOL, PACKAGES, SYSTEM, find_program

FIRMWARE = (
    (Path("/usr/share/OVMF/OVMF_CODE_4M.fd"), Path("/usr/share/OVMF/OVMF_VARS_4M.fd")),
    (Path("/usr/share/OVMF/OVMF_CODE.fd"), Path("/usr/share/OVMF/OVMF_VARS.fd")),
)
"""UEFI's program and its empty settings, where Debian's package ``ovmf`` puts them."""


@dataclass(frozen=True)
class Need:
    """One thing that is missing, in words, and what to do about it."""

    what: str
    fix: str

    def __str__(self) -> str:
        return f"{self.what}. Fix: {self.fix}"


def missing_needs(
    recipe: InstallRecipe, *, store: PreparedStore | None = None, accelerator: str | None = None
) -> list[Need]:
    """Return what is missing; ``[]`` when the installation can begin.

    Args: accelerator: as for ``install``; None asks for KVM, since emulated, no desktop is installed within a day.
    """
    needs = []
    for program in (SYSTEM, IMAGE_TOOL):
        if find_program(program) is None:
            fix = f"sudo apt-get install --no-install-recommends {PACKAGES[program]}"
            needs.append(Need(f"{program} is not installed", fix))
    if accelerator is None and (choice := choose_accelerator()).accelerator != "kvm":
        needs.append(
            Need(choice.reason.rpartition(": ")[0], "use a host with KVM; an emulated installation is not begun")
        )
    if recipe.machine.firmware == "uefi" and firmware() is None:
        needs.append(Need("UEFI for machines is not installed", "sudo apt-get install ovmf"))
    return needs + [need for download in recipe.downloads if (need := _unpinned(recipe, download)) is not None]


def require_needs(recipe: InstallRecipe, *, accelerator: str | None = None) -> None:
    """Raise MissingDependency that names everything that is missing."""
    needs = missing_needs(recipe, accelerator=accelerator)
    if needs:
        lines = "".join(f"\n  - {need}" for need in needs)
        instead = f"gym-anything image import URL --sha256 DIGEST --name {recipe.name}"
        raise MissingDependency(
            f"{recipe.name} cannot be installed here (run from end to end so far: {recipe.run}):{lines}\n"
            f"An image that was made elsewhere can be imported instead: {instead}",
            detail={"missing": [need.what for need in needs], "fix": instead},
        )


def firmware() -> tuple[Path, Path] | None:
    """Return UEFI's program and its empty settings, or None."""
    return next((pair for pair in FIRMWARE if all(path.is_file() for path in pair)), None)


def _unpinned(recipe: InstallRecipe, download: Download) -> Need | None:
    if download.sha256 is not None:
        return None
    fix = f"have it from {download.url}, check it, and write its digest to {recipe.folder / 'install.yaml'}"
    return Need(f"{download.file} has no pin ({download.publisher})", fix)
