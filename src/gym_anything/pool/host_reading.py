"""Reads what the guard decides about: the host's memory and load, and the control group that we are in (v1 and v2)."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from gym_anything._util.control_groups import groups_around
from gym_anything.pool.guard import HostReading

_MIB = 1 << 20
_KIB_OF_MIB = 1024
_UNLIMITED = 1 << 60  # v1 says "no limit" with the largest multiple of a page


def read_host(proc: Path = Path("/proc"), cgroup_root: Path = Path("/sys/fs/cgroup")) -> HostReading:
    """Return the present reading. Raises: OSError where ``/proc`` cannot be read.

    Source: proc(5) ``meminfo``, ``loadavg``, ``pressure``; kernel documentation of cgroup v1
    (``memory.limit_in_bytes``) and v2 (``memory.max``, ``memory.high``, ``memory.current``, ``cpu.max``).
    """
    memory = _meminfo(proc / "meminfo")
    reading = HostReading(
        memory_mib=memory["MemTotal"],
        available_mib=memory["MemAvailable"],
        cores=len(os.sched_getaffinity(0)),
        load=float((proc / "loadavg").read_text().split()[0]),
        waiting=_pressure(proc / "pressure" / "cpu"),
    )
    for group in groups_around(proc / "self" / "cgroup", cgroup_root, {"memory", "cpu"}):
        reading = _bounded(reading, group)
    return reading


def _meminfo(path: Path) -> dict[str, float]:
    lines = (line.split() for line in path.read_text().splitlines())
    return {words[0].rstrip(":"): int(words[1]) / _KIB_OF_MIB for words in lines if len(words) >= 2}


def _pressure(path: Path) -> float | None:
    """Return the share of ten seconds from ``some avg10=12.34 …``; None where there is no such file, or it is off."""
    try:
        words = path.read_text().split()
    except OSError:
        return None
    averages = [word.removeprefix("avg10=") for word in words[:3] if word.startswith("avg10=")]
    return float(averages[0]) / 100 if averages else None


def _bounded(reading: HostReading, group: Path) -> HostReading:
    """Tighten a reading by one group's limits: the fullest group bounds what is left, be it not the smallest."""
    limit = _memory_limit(group)
    if limit is not None:
        used = _first_number(group, "memory.current", "memory.usage_in_bytes") or 0
        left_mib = max(0.0, (limit - used + _reclaimable(group)) / _MIB)
        reading = replace(reading, memory_mib=min(reading.memory_mib, limit / _MIB))
        if left_mib < reading.available_mib:
            reading = replace(reading, available_mib=left_mib, limit=f"control group {group.name or '/'}")
    cores = _cores(group)
    return reading if cores is None or cores >= reading.cores else replace(reading, cores=cores)


def _memory_limit(group: Path) -> int | None:
    """Return the lowest limit in bytes; above ``memory.high`` the kernel slows a group down until it takes less."""
    found = (_number(group / name) for name in ("memory.max", "memory.high", "memory.limit_in_bytes"))
    return min((limit for limit in found if limit is not None and limit < _UNLIMITED), default=None)


def _reclaimable(group: Path) -> int:
    """Bytes of files in memory that the kernel gives up first: they count as used in a group, not on the host."""
    try:
        facts = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
    except OSError:
        return 0
    # v1 counts a group alone under the plain name, and with the groups in it, as its limit does, under "total_"
    return int(facts.get("total_inactive_file", facts.get("inactive_file", "0")))


def _cores(group: Path) -> float | None:
    try:
        quota, period = (group / "cpu.max").read_text().split()
    except OSError:
        quota, period = str(_number(group / "cpu.cfs_quota_us")), str(_number(group / "cpu.cfs_period_us"))
    if not quota.isdigit() or not period.isdigit() or int(quota) == 0:
        return None
    return int(quota) / int(period)


def _first_number(group: Path, *names: str) -> int | None:
    return next((number for name in names if (number := _number(group / name)) is not None), None)


def _number(path: Path) -> int | None:
    try:
        text = path.read_text().strip()
    except OSError:
        return None
    return int(text) if text.lstrip("-").isdigit() else None
