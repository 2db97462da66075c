"""Labels: how anything we start or create outside our own process is known to be ours.

One scheme for all of it. Containers, networks, images and cloud objects carry three labels (``gym-anything.run``,
``gym-anything.world``, ``gym-anything.owner``); every process carries the same three in one environment variable. What
is found later is collected only when its owner (process id, start time, boot, process namespace) is certainly dead.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from gym_anything._util import proc
from gym_anything._util.ascii_names import is_short_name

RUN = "gym-anything.run"
WORLD = "gym-anything.world"
OWNER = "gym-anything.owner"

ENV_NAME = "GYM_ANYTHING_WORLD_LABEL"
"""The variable in the environment of every process we start. A launcher that clears the environment sets it again."""

NO_WORLD = "-"
"""The world part of what belongs to a run as a whole (the supervisor itself, for one)."""


@dataclass(frozen=True, slots=True)
class Owner:
    """Which process owns a run, said so exactly that another process that got the same number is not taken for it.

    Attributes:
        pid: its process id in its own process namespace.
        start_ticks: when it started, in clock ticks since boot (``/proc/<pid>/stat``).
        boot: the first characters of the kernel's boot id.
        pid_namespace: inode of its process namespace; from another namespace nothing can be said about it.
    """

    pid: int
    start_ticks: int
    boot: str
    pid_namespace: int

    @classmethod
    def current(cls) -> Owner:
        """Return the calling process as an owner."""
        pid = os.getpid()
        ticks = proc.start_ticks(pid)
        if ticks is None:
            raise OSError("/proc/self/stat cannot be read; is /proc mounted?")
        return cls(pid, ticks, proc.boot_id()[:8], proc.pid_namespace())

    @classmethod
    def parse(cls, text: str) -> Owner | None:
        """Read back what ``str(owner)`` wrote; ``None`` when it is not that."""
        parts = text.split("-")
        if len(parts) != 4 or not is_short_name(parts[2]):
            return None
        if not all(part.isascii() and part.isdigit() for part in (parts[0], parts[1], parts[3])):
            return None
        return cls(int(parts[0]), int(parts[1]), parts[2], int(parts[3]))

    def __str__(self) -> str:
        return f"{self.pid}-{self.start_ticks}-{self.boot}-{self.pid_namespace}"

    def is_dead(self) -> bool:
        """Tell whether the owner has certainly ended; ``False`` also when that cannot be known from here."""
        if self.boot != proc.boot_id()[:8]:
            return True
        if self.pid_namespace != proc.pid_namespace():
            return False
        return proc.start_ticks(self.pid) != self.start_ticks


@dataclass(frozen=True, slots=True)
class Label:
    """The three facts that everything of ours carries."""

    run: str
    world: str
    owner: Owner

    def as_dict(self) -> dict[str, str]:
        """Return the labels for an API that takes key-value pairs (container labels, cloud tags)."""
        return {RUN: self.run, WORLD: self.world, OWNER: str(self.owner)}

    def as_env(self) -> dict[str, str]:
        """Return the environment variable for a process."""
        return {ENV_NAME: str(self)}

    def __str__(self) -> str:
        return f"{self.run}/{self.world}/{self.owner}"

    @classmethod
    def parse(cls, text: str) -> Label | None:
        """Read back what ``str(label)`` wrote; ``None`` when it is not exactly that."""
        parts = text.split("/")
        if len(parts) != 3 or not is_short_name(parts[0]):
            return None
        owner = Owner.parse(parts[2])
        if owner is None or not (parts[1] == NO_WORLD or is_short_name(parts[1])):
            return None
        return cls(parts[0], parts[1], owner)

    @classmethod
    def from_dict(cls, labels: Mapping[str, str]) -> Label | None:
        """Read the labels of a container or cloud object; ``None`` when they are not ours."""
        try:
            return cls.parse(f"{labels[RUN]}/{labels[WORLD]}/{labels[OWNER]}")
        except KeyError:
            return None


def label_of_process(pid: int) -> Label | None:
    """Return the label in a process's environment, or ``None`` (no label, no such process, not allowed to read)."""
    value = proc.environ(pid).get(ENV_NAME)
    return None if value is None else Label.parse(value)
