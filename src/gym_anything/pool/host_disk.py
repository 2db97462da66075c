"""A file system that shares blocks, for the disks of replicas: XFS on devices, or in a file on the host's own disk.

The plan is data: every command can be read before any is run. What was prepared is recorded before it is begun, so that
it can be given back, also after a kill.

Source: the OSGym paper's settings of XFS, but for ``allocsize=1G``, with which a sparse copy of a 24 GiB base took
23 GiB, and for the extent hint of copies on write, 128 KiB by itself, with which scattered writes of 4 KiB took up to
31 times their size (scale.md).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gym_anything._util import atomic_write
from gym_anything._util.deadline import Deadline
from gym_anything._util.kernel_mounts import mounts_below
from gym_anything._util.locks import FileLock
from gym_anything._util.reflink import can_clone
from gym_anything.errors import HostError, MissingDependency, StateError

MIN_SIZE_MIB = 300
"""XFS refuses to be smaller."""
_ARRAY = "/dev/md/gym-anything"
_MOUNT_OPTIONS = "noatime,logbsize=256k"
_PACKAGES = {"mkfs.xfs": "xfsprogs", "mdadm": "mdadm", "mount": "mount", "umount": "mount"}
_RECORD = "host-disks.json"
_LOCK_S, _STEP_S = 10.0, 600.0


@dataclass(frozen=True, slots=True)
class DiskStep:
    """One command of a plan, and what it is for."""

    argv: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True)
class DiskPlan:
    """What a prepared folder lies on: a sparse file of ``size_mib``, or devices, striped where there are several."""

    folder: Path
    file: Path | None = None
    size_mib: int = 0
    devices: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.file is None) == (not self.devices):
            raise ValueError("a prepared disk lies on a file or on devices: give one of them")
        if self.file is not None and self.size_mib < MIN_SIZE_MIB:
            raise ValueError(f"a file for XFS has at least {MIN_SIZE_MIB} MiB, not {self.size_mib}")

    def steps(self) -> list[DiskStep]:
        """Return the commands, in their order. ``mkfs.xfs`` refuses what has a file system, and is not forced."""
        source = str(self.file) if self.file is not None else self.devices[0]
        steps = []
        if len(self.devices) > 1:
            source = _ARRAY
            create = ("mdadm", "--create", _ARRAY, "--run", "--level=0", f"--raid-devices={len(self.devices)}")
            steps.append(DiskStep((*create, *self.devices), "one stripe over all devices"))
        make = ("mkfs.xfs", "-q", "-m", "reflink=1", "-d", "cowextsize=1", source)
        steps.append(DiskStep(make, "a file system that shares blocks, and copies one where one is written"))
        options = _MOUNT_OPTIONS if self.file is None else f"loop,{_MOUNT_OPTIONS}"
        mount = ("mount", "-t", "xfs", "-o", options, source, str(self.folder))
        steps.append(DiskStep(mount, "no times of reading are written, a larger log buffer"))
        return steps

    def undo_steps(self) -> list[DiskStep]:
        """Return the commands that give it back; the file goes with them, what is on devices stays there."""
        steps = [DiskStep(("umount", str(self.folder)), "refused while something uses it")]
        if len(self.devices) > 1:
            steps.append(DiskStep(("mdadm", "--stop", _ARRAY), "the stripe"))
        return steps


def prepare_disk(plan: DiskPlan, state: Path) -> None:
    """Carry a plan out; what fails leaves the host as it was. Needs root. Blocks some seconds.

    Args: state: the state folder, which keeps what was prepared.
    Raises: StateError for a folder that is in use or was prepared before; MissingDependency; HostError with what the
        program said; OSError of the disk.
    """
    with _locked(state):
        record = _read(state)
        if str(plan.folder) in record:
            raise StateError(f"{plan.folder} is prepared already; `gym-anything host disk release {plan.folder}` first")
        _check(plan)
        plan.folder.mkdir(parents=True, exist_ok=True)
        _write(state, {**record, str(plan.folder): _facts(plan)})
        try:
            if plan.file is not None:
                with plan.file.open("xb") as file:
                    os.truncate(file.fileno(), plan.size_mib << 20)
            for step in plan.steps():
                _run(step)
            if not can_clone(plan.folder):
                raise HostError(f"{plan.folder} is mounted, but shares no blocks; this kernel's XFS may be too old")
        except BaseException:
            _give_back(plan)
            _write(state, record)
            raise


def release_disk(folder: Path, state: Path) -> DiskPlan:
    """Give a prepared folder back and return its plan: all that was in a file is gone afterwards.

    Raises: StateError for a folder that was not prepared here; HostError while something uses it.
    """
    with _locked(state):
        record = _read(state)
        facts = record.get(str(folder))
        if facts is None:
            known = ", ".join(record) or "none"
            raise StateError(f"{folder} was not prepared by `host disk prepare` (prepared: {known})")
        plan = DiskPlan(folder, facts["file"] and Path(facts["file"]), facts["size_mib"], tuple(facts["devices"]))
        _give_back(plan)
        del record[str(folder)]
        _write(state, record)
        return plan


def prepared_disks(state: Path) -> list[str]:
    """Return the folders that were prepared."""
    return list(_read(state))


def _check(plan: DiskPlan) -> None:
    if plan.folder.exists() and (not plan.folder.is_dir() or any(plan.folder.iterdir())):
        raise StateError(f"{plan.folder} is not an empty folder; what is in it would be hidden")
    if plan.file is not None and plan.file.exists():
        raise StateError(f"{plan.file} is there already; it is not overwritten")
    for step in (*plan.steps(), *plan.undo_steps()):
        program = step.argv[0]
        if shutil.which(program) is None:
            package = _PACKAGES[program]
            raise MissingDependency(
                f"{program} is missing", detail={"fix": f"sudo apt-get install --no-install-recommends {package}"}
            )


def _give_back(plan: DiskPlan) -> None:
    if plan.folder.resolve() in mounts_below(plan.folder):
        for step in plan.undo_steps():
            _run(step)
    if plan.file is not None:
        plan.file.unlink(missing_ok=True)


def _run(step: DiskStep) -> None:
    try:
        done = subprocess.run(step.argv, capture_output=True, text=True, timeout=_STEP_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise HostError(f"{step.argv[0]} did not end within {_STEP_S:g} s ({' '.join(step.argv)})") from error
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()[-500:]
        raise HostError(f"{' '.join(step.argv)} failed with status {done.returncode}: {said}")


def _locked(state: Path) -> FileLock:
    return FileLock.acquire(state / "host-disks.lock", deadline=Deadline.after(_LOCK_S))


def _facts(plan: DiskPlan) -> dict[str, Any]:
    return {"file": plan.file and str(plan.file), "size_mib": plan.size_mib, "devices": list(plan.devices)}


def _read(state: Path) -> dict[str, dict[str, Any]]:
    path = state / _RECORD
    if not path.exists():
        return {}
    try:
        return dict(json.loads(path.read_text()))
    except ValueError as error:
        raise HostError(
            f"{path} does not say what was prepared: {error}. Unmount by hand, then remove the file.",
            detail={"path": str(path)},
        ) from error


def _write(state: Path, record: dict[str, dict[str, Any]]) -> None:
    if record:
        atomic_write.write_json(state / _RECORD, record, durable=True)
    else:
        (state / _RECORD).unlink(missing_ok=True)
