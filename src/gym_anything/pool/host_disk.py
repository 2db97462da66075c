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
import uuid
from dataclasses import dataclass, replace
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
    """What a prepared folder lies on: a sparse file of ``size_mib``, or devices, striped where there are several.

    Attributes:
        uuid: of the file system on devices, whose names may be others after a boot; "": known by their names alone.
    """

    folder: Path
    file: Path | None = None
    size_mib: int = 0
    devices: tuple[str, ...] = ()
    uuid: str = ""

    def __post_init__(self) -> None:
        if (self.file is None) == (not self.devices):
            raise ValueError("a prepared disk lies on a file or on devices: give one of them")
        if self.file is not None and self.size_mib < MIN_SIZE_MIB:
            raise ValueError(f"a file for XFS has at least {MIN_SIZE_MIB} MiB, not {self.size_mib}")

    def steps(self) -> list[DiskStep]:
        """Return the commands, in their order. ``mkfs.xfs`` refuses what has a file system, and is not forced."""
        steps = []
        if len(self.devices) > 1:
            create = ("mdadm", "--create", _ARRAY, "--run", "--level=0", f"--raid-devices={len(self.devices)}")
            steps.append(DiskStep((*create, *self.devices), "one stripe over all devices"))
        named = ("-m", f"uuid={self.uuid}") if self.uuid else ()
        make = ("mkfs.xfs", "-q", "-m", "reflink=1", "-d", "cowextsize=1", *named, self._source)
        steps.append(DiskStep(make, "a file system that shares blocks, and copies one where one is written"))
        return [*steps, self._mount(self._source)]

    def restore_steps(self) -> list[DiskStep]:
        """Return the commands that mount it again after a boot."""
        steps = []
        if len(self.devices) > 1 and not Path(_ARRAY).exists():
            steps.append(DiskStep(("mdadm", "--assemble", _ARRAY, *self.devices), "the stripe, as it was"))
        return [*steps, self._mount(f"UUID={self.uuid}" if self.uuid else self._source)]

    @property
    def _source(self) -> str:
        if self.file is not None:
            return str(self.file)
        return _ARRAY if len(self.devices) > 1 else self.devices[0]

    def _mount(self, source: str) -> DiskStep:
        options = _MOUNT_OPTIONS if self.file is None else f"loop,{_MOUNT_OPTIONS}"
        mount = ("mount", "-t", "xfs", "-o", options, source, str(self.folder))
        return DiskStep(mount, "no times of reading are written, a larger log buffer")

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
        plan = replace(plan, uuid=str(uuid.uuid4()) if plan.devices else "")
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
        plan = _plan(folder, facts)
        _give_back(plan)
        del record[str(folder)]
        _write(state, record)
        return plan


@dataclass(frozen=True, slots=True)
class RestoredDisk:
    """A folder that was prepared before a boot. ``mounted``: it is now. ``problem``: why it is not; "" for none."""

    folder: str
    mounted: bool
    problem: str = ""


def restore_disks(state: Path) -> list[RestoredDisk]:
    """Mount again what was prepared and is not mounted, as after a boot; return those. Needs root.

    Blocks some seconds. What fails holds up no other. Raises: HostError when the record cannot be read.
    """
    with _locked(state):
        plans = [_plan(Path(folder), facts) for folder, facts in _read(state).items()]
        return [_restore(plan) for plan in plans if not _is_mounted(plan)]


def prepared_disks(state: Path) -> list[str]:
    """Return the folders that were prepared."""
    return list(_read(state))


def _restore(plan: DiskPlan) -> RestoredDisk:
    try:
        _check_folder(plan)
        plan.folder.mkdir(parents=True, exist_ok=True)
        for step in plan.restore_steps():
            _run(step)
    except (HostError, StateError, OSError) as error:
        return RestoredDisk(str(plan.folder), mounted=False, problem=str(error))
    return RestoredDisk(str(plan.folder), mounted=True)


def _is_mounted(plan: DiskPlan) -> bool:
    return plan.folder.resolve() in mounts_below(plan.folder)


def _check_folder(plan: DiskPlan) -> None:
    if plan.folder.exists() and (not plan.folder.is_dir() or any(plan.folder.iterdir())):
        raise StateError(f"{plan.folder} is not an empty folder; what is in it would be hidden")


def _check(plan: DiskPlan) -> None:
    _check_folder(plan)
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
    if _is_mounted(plan):
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
    facts = {"file": plan.file and str(plan.file), "size_mib": plan.size_mib, "devices": list(plan.devices)}
    return facts | {"uuid": plan.uuid}


def _plan(folder: Path, facts: dict[str, Any]) -> DiskPlan:
    file = facts["file"] and Path(facts["file"])
    return DiskPlan(folder, file, facts["size_mib"], tuple(facts["devices"]), facts.get("uuid", ""))


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
