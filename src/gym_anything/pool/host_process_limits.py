"""Limits of this process, and of the control groups around it, that hundreds of worlds meet: read and explained.

They come from whoever started this process: a login, a service manager, a container. So they are not raised here, and
each says how it is raised there. Of a process with fewer, all that it starts has fewer, too.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gym_anything._util.control_groups import groups_around

ENOUGH = 65_536
SOFT_FILES_ENOUGH = 8192
"""A pool or shard has some ten files open for each world; the processes that start worlds raise this one themselves."""
_CONFIG = "/etc/security/limits.d/gym-anything.conf"
_UNITS = (".service", ".scope", ".slice")


@dataclass(frozen=True, slots=True)
class ProcessLimit:
    """A limit and what it is at present; None: there is none.

    Attributes:
        fix: the command line that raises it, for what is started after.
    """

    name: str
    value: int | None
    enough: int
    why: str
    fix: str

    @property
    def is_enough(self) -> bool:
        """True when it need not be raised."""
        return self.value is None or self.value >= self.enough


def read_process_limits(
    groups: Path = Path("/proc/self/cgroup"),
    cgroup_root: Path = Path("/sys/fs/cgroup"),
    rlimit: Callable[[int], tuple[int, int]] = resource.getrlimit,
    *,
    is_root: bool | None = None,
) -> list[ProcessLimit]:
    """Return the limits with their present values. Changes nothing.

    Args: is_root: whom the limit of processes does not hold; None: as this process is.
    Source: getrlimit(2); kernel documentation of the control groups' ``pids.max``; limits.conf(5); systemd.exec(5).
    """
    soft, hard = (None if value == resource.RLIM_INFINITY else value for value in rlimit(resource.RLIMIT_NOFILE))
    raise_hard = _limits_conf("nofile", "LimitNOFILE")
    raise_soft = f"ulimit -n {ENOUGH}  # in the shell that starts pools" if _reaches(hard) else raise_hard
    found = [
        ProcessLimit("open-files", hard, ENOUGH, "files that a process may have open (hard limit)", raise_hard),
        ProcessLimit(
            "open-files-soft", soft, SOFT_FILES_ENOUGH, "files that a pool's process has open (soft limit)", raise_soft
        ),
    ]
    if not (os.geteuid() == 0 if is_root is None else is_root):
        processes = rlimit(resource.RLIMIT_NPROC)[0]
        value = None if processes == resource.RLIM_INFINITY else processes
        why = "processes and threads of all worlds of this user"
        found.append(ProcessLimit("user-processes", value, ENOUGH, why, _limits_conf("nproc", "LimitNPROC")))
    return [*found, _tightest_group(groups, cgroup_root)]


def _reaches(value: int | None) -> bool:
    return value is None or value >= ENOUGH


def _limits_conf(item: str, setting: str) -> str:
    lines = f"* - {item} {ENOUGH}\\nroot - {item} {ENOUGH}\\n"
    return f"printf '{lines}' | sudo tee -a {_CONFIG}  # then log in anew; in a systemd unit: {setting}={ENOUGH}"


def _tightest_group(listing: Path, root: Path) -> ProcessLimit:
    """Return the lowest ``pids.max`` of our control group and of those above it."""
    folders = groups_around(listing, root, {"pids"})
    bounds = [(value, folder) for folder in folders if (value := _pids_max(folder)) is not None]
    why = "processes and threads of all worlds of this control group"
    if not bounds:
        return ProcessLimit("pids.max", None, ENOUGH, why, "")
    value, folder = min(bounds, key=lambda bound: bound[0])
    fix = f"docker run --pids-limit {ENOUGH} …  # whoever made control group {folder.name or '/'} sets its pids.max"
    if folder.name.endswith(_UNITS):
        fix = f"sudo systemctl set-property {folder.name} TasksMax={ENOUGH}"
    return ProcessLimit("pids.max", value, ENOUGH, f"{why}, {folder.name or '/'}", fix)


def _pids_max(folder: Path) -> int | None:
    try:
        text = (folder / "pids.max").read_text().strip()
    except OSError:
        return None  # the outermost group has no such file
    return int(text) if text.isdigit() else None
