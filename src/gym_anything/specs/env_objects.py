"""The small sub-objects of an environment: resources, mounts, hooks, roles, the Android device."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from gym_anything.specs.fields import Count, Flag, Name, PositiveNumber, Text, Whole
from gym_anything.specs.guest_paths import is_absolute_guest_path
from gym_anything.specs.spec_model import SpecObject

MountMode = Literal["ro", "rw"]


class Resources(SpecObject):
    """What the world may use of the host."""

    cpu: PositiveNumber | None = None
    """CPUs (a fraction is fine). None: what the runner gives by itself."""
    mem_gb: PositiveNumber | None = None
    """Memory in GiB. None: what the runner gives by itself."""
    gpu: Count = 0
    """Number of GPUs. 0, since most tasks need none."""
    net: Flag = False
    """May the guest reach the network? False: a task must not depend on the outside unless it says so."""


class Mount(SpecObject):
    """A folder or file of the host that appears in the guest."""

    source: Name
    """Path on the host. A relative one is searched from the environment's folder upward, then in the working folder."""
    target: Name
    """Absolute path in the guest. On Windows ``/workspace/x`` and ``C:\\workspace\\x`` are the same folder."""
    mode: MountMode = "ro"
    """``ro`` or ``rw``. Read-only by default: content must stay as it was published."""

    @field_validator("target")
    @classmethod
    def _absolute(cls, value: str) -> str:
        if not is_absolute_guest_path(value):
            raise PydanticCustomError(
                "guest_path", "must be an absolute path in the guest, such as /workspace/data or C:\\workspace\\data"
            )
        return value


class EnvHooks(SpecObject):
    """Command lines that run as root in the guest, through a login shell."""

    pre_start: Text | None = None
    """Runs first: installs software. None: nothing to do."""
    post_start: Text | None = None
    """Runs after ``pre_start``: starts and configures software. None: nothing to do."""
    reset: Text | None = None
    """Runs in every reset, also after a restore from a checkpoint. None: nothing to do."""


class MultiAgent(SpecObject):
    """Several agents in one world."""

    roles: tuple[Name, ...] = ()
    """Names of the roles; an action ``{role: action}`` is split by them. Empty: one agent."""
    turn_based: Flag = False
    """Plain actions belong to the current role and the turn advances. False: all act at any time."""

    @field_validator("roles")
    @classmethod
    def _distinct(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(value)) != len(value):
            raise PydanticCustomError("duplicate_role", "names a role twice")
        return value


class Avd(SpecObject):
    """An Android virtual device."""

    api_level: Whole | None = Field(default=None, ge=1, le=1000)
    """Android API level, 34 for Android 14. None: the runner's newest."""
    variant: Name | None = None
    """System image variant, such as ``google_apis`` or ``google_apis_playstore``. None: the runner's own choice."""
    arch: Name | None = None
    """CPU architecture of the image, such as ``x86_64``. None: the host's."""
    device: Name | None = None
    """Device profile, such as ``pixel_6``. None: the runner's own choice."""
