"""Back-pressure that knows whose requests they are: one crowd does not hold up another."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from dataclasses import dataclass


@dataclass(slots=True)
class _Room:
    places: asyncio.Semaphore
    people: int = 0


class RequestRooms:
    """A room for each crowd, with so many places; whoever finds it full waits, in order. Empty rooms are forgotten."""

    def __init__(self, places: int) -> None:
        self._places = places
        self._rooms: dict[Hashable, _Room] = {}

    async def enter(self, crowd: Hashable) -> None:
        """Take a place, or wait for one."""
        room = self._rooms.get(crowd)
        if room is None:
            room = self._rooms[crowd] = _Room(asyncio.Semaphore(self._places))
        room.people += 1
        try:
            await room.places.acquire()
        except BaseException:  # whoever waited was cancelled
            self._go(crowd)
            raise

    def leave(self, crowd: Hashable) -> None:
        """Give a place back."""
        self._rooms[crowd].places.release()
        self._go(crowd)

    def _go(self, crowd: Hashable) -> None:
        room = self._rooms[crowd]
        room.people -= 1
        if not room.people:
            del self._rooms[crowd]
