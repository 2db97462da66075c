"""The runner ``qemu``: the same machines, with QEMU running inside Apptainer where that runs, else this host's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gym_anything.errors import GymAnythingError, MissingDependency
from gym_anything.runtime.apptainer.program import FIX, require_program, version_of
from gym_anything.runtime.qemu.accelerator import choose_accelerator
from gym_anything.runtime.qemu.apptainer_emulator import RECIPE, ApptainerEmulator, version_in, wanted_image
from gym_anything.runtime.qemu.emulator import Emulator, HostEmulator
from gym_anything.runtime.qemu.program import IMAGE_TOOL, SYSTEM
from gym_anything.runtime.runners.compatibility import RunnerCompatibility
from gym_anything.runtime.runners.qemu_native import facts
from gym_anything.runtime.runners.qemu_native.other_guest import OtherGuestRunner
from gym_anything.runtime.runners.qemu_native.runner import QemuNativeRunner

KEY = "qemu"
_BY_IMAGE = (SYSTEM, IMAGE_TOOL)


class QemuApptainerRunner(QemuNativeRunner):
    """A machine whose QEMU comes out of an image of apptainer's. Its worlds and checkpoints are of that QEMU alone."""

    @classmethod
    def runner_name(cls) -> str:
        return KEY

    @classmethod
    def doctor_status(cls) -> dict[str, Any]:
        return status()

    @classmethod
    def cache_components(cls) -> list[dict[str, Any]]:
        return []  # all it keeps lies in the folders that the runners qemu_native and apptainer list

    @classmethod
    def compatibility(cls) -> RunnerCompatibility:
        row = facts.compatibility_row(KEY)
        return row.with_row({"notes": (*row.notes, "QEMU runs inside Apptainer where that runs, else on the host")})

    @classmethod
    def install_plan(cls) -> list[dict[str, str]]:
        own = {"title": "QEMU as an image of apptainer's", "command": f"gym-anything image build {RECIPE}"}
        return [{"title": "apptainer", "command": f"# {FIX}"}, own, *facts.install_steps()]

    @classmethod
    def platform_priority(cls) -> int:
        return 5

    @classmethod
    def _other_guest(cls) -> type[OtherGuestRunner]:
        return OtherGuestInApptainerRunner

    def _emulator(self) -> Emulator:
        return find_emulator(self.report, self._told_to_end)


class OtherGuestInApptainerRunner(OtherGuestRunner):
    """The same with Windows or Android."""

    @classmethod
    def runner_name(cls) -> str:
        return KEY

    def _emulator(self) -> Emulator:
        return find_emulator(self.report, self.abort_signal.is_set)


def find_emulator(report: Callable[..., None], aborted: Callable[[], bool]) -> Emulator:
    """Return the QEMU of an image where apptainer runs one, else this host's own. Raises: MissingDependency."""
    kvm = choose_accelerator().accelerator == "kvm"
    try:
        return ApptainerEmulator.find(report, aborted, kvm=kvm)
    except MissingDependency as error:
        found = HostEmulator.find()
        report("note", text=f"QEMU does not run inside apptainer, so this host's own is used: {error}")
        return found


def status() -> dict[str, Any]:
    """Look at what such a world needs and return the doctor's answer."""
    native = facts.status()["deps"]
    own = in_apptainer_row()
    rows = {"QEMU inside apptainer": own, **native}
    needed = dict(rows)
    if own["ok"]:  # then the image has what the host need not have
        needed = {name: row for name, row in rows.items() if name not in _BY_IMAGE}
    elif all(native[name]["ok"] for name in _BY_IMAGE):
        needed = native
        rows["QEMU inside apptainer"] = {**own, "detail": f"{own['detail']}: this host's own is used"}
    bad = [f"{name}: {row['detail']}" for name, row in needed.items() if not row["ok"]]
    return {"available": not bad, "reason": "; ".join(bad) or None, "deps": rows}


def in_apptainer_row() -> dict[str, Any]:
    """Try whether QEMU runs out of its image; an image that is not unpacked yet is one that will do."""
    try:
        program, image = require_program(), wanted_image()
        detail = f"apptainer {version_of(program)}, {image.path}"
        if image.path.exists():
            detail += f", QEMU {version_in(program, str(image.path))}"
        return {"ok": True, "detail": detail, "fix": ""}
    except GymAnythingError as error:
        return {"ok": False, "detail": str(error), "fix": str(error.detail.get("fix", ""))}
