"""Signs of life of an owner for the replicas that are lent to it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from gym_anything.pool.lending import Lent

_BEATS = 4
"""So many in the time that an owner may be silent: some may be late."""


class Heartbeats:
    """Beats for all leases of one owner, with one timer, as long as the owner's event loop turns.

    A lease that is over and not let go is harmless. One whose owner lives but has forgotten it is beaten for, too: the
    task limit ends it.
    """

    def __init__(self) -> None:
        self._held: dict[str, Lent] = {}
        self._timer: asyncio.TimerHandle | None = None

    def hold(self, lease: Lent) -> None:
        """Beat for a lease from now on."""
        self._held[lease.name] = lease
        self._set_timer()

    def let_go(self, lease: Lent) -> None:
        """Beat for it no more. Idempotent."""
        self._held.pop(lease.name, None)
        if not self._held:
            self.stop()

    def stop(self) -> None:
        """Let all go. Idempotent."""
        self._held.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _beat(self) -> None:
        self._timer = None
        for lease in list(self._held.values()):
            lease.beat()
        self._set_timer()

    def _set_timer(self) -> None:
        """See to it that the next beat comes in time for the most impatient of them."""
        loop = asyncio.get_running_loop()
        due = loop.time() + min(lease.lease_s for lease in self._held.values()) / _BEATS
        if self._timer is not None:
            if self._timer.when() <= due:
                return
            self._timer.cancel()
        self._timer = loop.call_at(due, self._beat)


@contextmanager
def beating_for(lease: Lent) -> Iterator[None]:
    """Beat for one lease meanwhile."""
    beats = Heartbeats()
    beats.hold(lease)
    try:
        yield
    finally:
        beats.stop()
