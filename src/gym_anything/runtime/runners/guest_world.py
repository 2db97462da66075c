"""A running world that is reached through ``ga-guest`` and ``ga-desktop``: what its runner's shared parts ask of it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from gym_anything._util.deadline import Deadline
from gym_anything.runtime.desktop.desktop import Desktop
from gym_anything.runtime.guest.channel import GuestChannel


@dataclass(frozen=True)
class People:
    """Whom the commands of a world run as: the administrator, the desktop's user (names or ``uid:gid``), his home."""

    admin: str
    desktop: str
    home: str


DESKTOP_PEOPLE = People("root", "ga", "/home/ga")
"""Those of a world with accounts of its own."""


class GuestWorld(Protocol):
    """The running world. Everything raises ``WorldLost`` when the world is gone."""

    exec_env: dict[str, str]
    """What its commands need to know of it."""
    people: People

    @property
    def channel(self) -> GuestChannel:
        """The way in."""
        ...

    @property
    def desktop(self) -> Desktop:
        """Eyes and hands."""
        ...

    def new_channel(self, deadline: Deadline) -> GuestChannel:
        """Return a further connection, whose closing ends the commands started over it."""
        ...

    def explaining(self) -> AbstractContextManager[None]:
        """Name the reason in a ``WorldLost`` out of this block where it is known."""
        ...
