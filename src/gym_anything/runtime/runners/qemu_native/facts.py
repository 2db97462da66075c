"""What the class of QEMU worlds says about itself and this host, before any world exists."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from gym_anything.errors import GymAnythingError, MissingDependency, SpecNotFound
from gym_anything.runtime.images.recipe import load_recipe
from gym_anything.runtime.images.rootfs import find_system, plan_build
from gym_anything.runtime.images.store import StoredImage
from gym_anything.runtime.qemu.accelerator import choose_accelerator
from gym_anything.runtime.qemu.program import IMAGE_TOOL, PACKAGES, SYSTEM, find_program
from gym_anything.runtime.runners.compatibility import RunnerCompatibility
from gym_anything.runtime.runners.qemu_native.other_options import FAMILIES, misfit
from gym_anything.specs.env_spec import EnvSpec

DEFAULT_IMAGE = "debian-desktop-vm"
PRESET = "debian-desktop"
MAX_PIXELS = 4 * 1024 * 1024
"""What the machine's graphics card has memory for."""
_MAKE_FS = ("mkfs.ext4", "e2fsprogs")
_SEARCH = "/usr/sbin:/usr/bin:/sbin:/bin"
_OTHER_WORLDS = ("dockerfile", "entrypoint", "apptainer", "avd", "adb", "apks")


def eligible(spec: EnvSpec | None) -> bool:
    """Tell whether detection may choose a QEMU world: for what brings no other kind of image."""
    if spec is None:
        return True
    if spec.os_type in FAMILIES:
        return not misfit(spec)
    if spec.os_type != "linux" or spec.base not in (None, PRESET) or spec.image not in (None, DEFAULT_IMAGE):
        return False
    return not any(getattr(spec, name) for name in _OTHER_WORLDS)


def compatibility_row(name: str) -> RunnerCompatibility:
    """Return the row of ``gym-anything compatibility``."""
    return RunnerCompatibility(
        runner=name,
        platforms=("linux", *FAMILIES),
        fast_io=True,
        checkpoint_caching=True,
        savevm=True,
        fork=True,
        live_recording=True,
        time_control=False,
        acks_input_delivery=True,
        notes=(
            "a virtual machine of this host's QEMU, forked from one that was booted once",
            "Windows and Android: booted from your own image; no checkpoints, no forks, input not acknowledged",
        ),
    )


def built_image(name: str) -> tuple[StoredImage, dict[str, Path]]:
    """Return the root file system of an image and the programs of ours that belong into it.

    Raises: SpecNotFound, NativeProgramMissing, MissingDependency with the fix (build it).
    """
    plan = plan_build(load_recipe(name))
    found = find_system(plan)
    if found is None:
        fix = f"gym-anything image build {name}"
        raise MissingDependency(f"the image {name} is not built. Fix: {fix}", detail={"fix": fix})
    return found, plan.programs


def status() -> dict[str, Any]:
    """Look at what a QEMU world needs and return the doctor's answer."""
    rows: dict[str, dict[str, Any]] = {}
    for program in (SYSTEM, IMAGE_TOOL):
        found = find_program(program)
        fix = f"apt-get install --no-install-recommends {PACKAGES[program]}"
        rows[program] = {"ok": found is not None, "detail": found or "not found", "fix": fix}
    made = shutil.which(_MAKE_FS[0], path=_SEARCH)
    rows[_MAKE_FS[0]] = {"ok": made is not None, "detail": made or "not found", "fix": f"apt-get install {_MAKE_FS[1]}"}
    try:
        rows[DEFAULT_IMAGE] = {"ok": True, "detail": str(built_image(DEFAULT_IMAGE)[0].path), "fix": ""}
    except GymAnythingError as error:
        fix = str(error.detail.get("fix") or f"gym-anything image build {DEFAULT_IMAGE}")
        rows[DEFAULT_IMAGE] = {"ok": False, "detail": str(error), "fix": fix}
    bad = [f"{name}: {row['detail']}" for name, row in rows.items() if not row["ok"]]
    choice = choose_accelerator()
    rows["accelerator"] = {"ok": True, "detail": choice.reason or "KVM: a test guest ran", "fix": ""}
    return {"available": not bad, "reason": "; ".join(bad) or None, "deps": rows}


def install_steps() -> list[dict[str, str]]:
    """Return how to install what a QEMU world needs."""
    packages = " ".join([*PACKAGES.values(), _MAKE_FS[1], "mmdebstrap"])
    return [
        {"title": "QEMU and its tools", "command": f"apt-get install --no-install-recommends {packages}"},
        {"title": "the image", "command": f"gym-anything image build {DEFAULT_IMAGE}"},
    ]


def spec_errors(spec: EnvSpec) -> list[str]:
    """Return what of a spec no QEMU world can be, one sentence each."""
    found = []
    if spec.os_type != "linux":
        found.append(f"os_type: no QEMU world has {spec.os_type}; they have linux, {' or '.join(FAMILIES)}")
    size = spec.screen_size
    if size is not None and (size[0] * size[1] > MAX_PIXELS or size[0] % 8):
        found.append(f"resolution: a machine's screen has a width in steps of 8 and at most {MAX_PIXELS} pixels")
    if spec.image is not None:
        try:
            load_recipe(spec.image)
        except SpecNotFound as error:
            found.append(f"image: {error}")
    return found
