"""What the disks of replicas cost, by turns: shared blocks, layers, full copies; time of each and space of all."""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gym_anything._util.deadline import Deadline
from gym_anything._util.reflink import can_clone
from gym_anything._util.state_dir import state_root
from gym_anything._util.waiting import wait_until
from gym_anything.errors import MissingDependency
from gym_anything.measure.turns import timed_ms
from gym_anything.pool.disks import provision_disk, used_bytes
from gym_anything.pool.host_disk import DiskPlan, prepare_disk, release_disk

MIB = 1 << 20
_SPARE_MIB = 400  # XFS's own, and what 4 KiB writes take
_CHUNK_MIB = 64
_ALIKE, _SETTLE_S = 4, 30.0

OnNews = Callable[[str, float], None]


@dataclass(frozen=True, slots=True)
class DiskRequest:
    """What is measured.

    Attributes:
        base_mib: real data in the base. count: disks that are made of it and lie side by side.
        rounds: how often a full copy and a shared one take turns. writes: 4 KiB places written in each disk afterwards.
        folder: where; None: an XFS of our own in a temporary file, which needs root.
    """

    base_mib: int = 1024
    count: int = 128
    rounds: int = 5
    writes: int = 16
    folder: Path | None = None


@dataclass
class DiskFound:
    """What it took."""

    request: DiskRequest
    share_ms: list[float] = field(default_factory=list)
    copy_ms: list[float] = field(default_factory=list)
    all_ms: float = 0.0
    all_mib: float = 0.0
    written_mib: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; every key is always there."""
        logical_mib = self.request.base_mib * self.request.count
        return {
            "base_mib": self.request.base_mib,
            "count": self.request.count,
            "share_ms_p50": statistics.median(self.share_ms),
            "copy_ms_p50": statistics.median(self.copy_ms),
            "times_faster": statistics.median(self.copy_ms) / statistics.median(self.share_ms),
            "all_ms": self.all_ms,
            "all_mib": self.all_mib,
            "saved_percent": 100 * (1 - self.all_mib / logical_mib),
            "saved_after_writes_percent": 100 * (1 - self.written_mib / logical_mib),
            "share_ms": self.share_ms,
            "copy_ms": self.copy_ms,
        }


def measure_disks(request: DiskRequest, on_news: OnNews = lambda what, share: None) -> DiskFound:
    """Make disks and remove them. Nothing is left, however it ends.

    Raises: MissingDependency where no folder shares blocks and none can be made; OSError of the disk.
    """
    found = DiskFound(request)
    with _sharing_folder(request) as folder:
        on_news("base", 0.0)
        base = folder / "base.raw"
        _fill(base, request.base_mib)
        for number in range(request.rounds):
            on_news("copies and shared blocks by turns", 0.1 + 0.5 * number / request.rounds)
            found.copy_ms.append(_timed(lambda target: _copy_all(base, target), folder / "copy.raw"))
            found.share_ms += [
                _timed(lambda target: provision_disk(base, target), folder / "one.raw") for _ in range(10)
            ]
        on_news("side by side", 0.7)
        disks = [folder / f"{number}.raw" for number in range(request.count)]
        before = _settled_bytes(folder)
        found.all_ms = sum(timed_ms(lambda disk=disk: provision_disk(base, disk)) for disk in disks)  # type: ignore[misc]
        found.all_mib = (_settled_bytes(folder) - before) / MIB
        on_news("written to", 0.8)
        for disk in disks:
            _write_here_and_there(disk, request)
        found.written_mib = (_settled_bytes(folder) - before) / MIB
    return found


def _settled_bytes(folder: Path) -> int:
    """Return what is in use once the file system has given back what was removed, which it does in its own time."""
    readings = [used_bytes(folder)]

    def settled() -> bool:
        readings.append(used_bytes(folder))
        return len(readings) > _ALIKE and len(set(readings[-_ALIKE:])) == 1

    wait_until(settled, deadline=Deadline.after(_SETTLE_S), awaited="the file system to settle", poll_s=0.1)
    return readings[-1]


@contextmanager
def _sharing_folder(request: DiskRequest) -> Iterator[Path]:
    """Give a folder whose file system shares blocks."""
    with ExitStack() as stack:
        top = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gym-anything-disks-", dir=request.folder)))
        if not can_clone(top):
            if request.folder is not None or os.geteuid() != 0:
                raise MissingDependency(
                    f"{top.parent} shares no blocks, and only root can make a file system that does",
                    detail={"fix": "sudo gym-anything bench disk"},
                )
            size_mib = 2 * request.base_mib + request.count * request.writes + _SPARE_MIB
            plan = DiskPlan(top / "xfs", top / "xfs.img", size_mib)
            prepare_disk(plan, state_root())
            stack.callback(release_disk, plan.folder, state_root())
            top = plan.folder
        yield top


def _fill(path: Path, mib: int) -> None:
    with path.open("wb") as file:
        for begin in range(0, mib, _CHUNK_MIB):
            file.write(os.urandom(min(_CHUNK_MIB, mib - begin) * MIB))
        file.flush()
        os.fsync(file.fileno())


def _copy_all(base: Path, target: Path) -> None:
    """Copy the way everybody does, to the disk: a copy that only lies in memory is none yet."""
    with base.open("rb") as reader, target.open("xb") as writer:
        shutil.copyfileobj(reader, writer, MIB)
        writer.flush()
        os.fsync(writer.fileno())


def _timed(make: Callable[[Path], object], target: Path) -> float:
    try:
        return timed_ms(lambda: make(target))
    finally:
        target.unlink(missing_ok=True)


def _write_here_and_there(disk: Path, request: DiskRequest) -> None:
    step = request.base_mib * MIB // (request.writes + 1) // 4096 * 4096
    with disk.open("r+b") as file:
        for number in range(1, request.writes + 1):
            file.seek(number * step)
            file.write(b"\xa5" * 4096)
