"""When nothing comes up: a pool then tries with one replica now and then, until one works."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from gym_anything.pool.replica_contract import PooledReplica
from gym_anything.pool.replica_state import State

_DEAD_ENDS = 3
"""So many replicas in a row that never came up: another one would not either, for now."""


class Outage:
    """Notices that nothing comes up, and when it does again. Lives in the pool's event loop."""

    def __init__(self, first_s: float, longest_s: float, try_one: Callable[[], PooledReplica | None]) -> None:
        """Args: first_s, longest_s: pauses before a trial. try_one: begins one; None: not possible now."""
        self._trial: PooledReplica | None = None
        self._first_s, self._longest_s, self._try_one = first_s, longest_s, try_one
        self._dead_ends = self._pauses = 0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def lasts(self) -> bool:
        """True while nothing comes up."""
        return self._dead_ends >= _DEAD_ENDS

    def works(self) -> bool:
        """Note that a replica has come up; tell whether that ends an outage."""
        ends = self.lasts
        self._dead_ends = self._pauses = 0
        self._trial = None
        self.close()
        return ends

    def gone(self, replica: PooledReplica) -> bool:
        """Note that a replica has retired; tell whether nothing comes up."""
        if replica is self._trial:
            self._trial = None
        self._dead_ends += _never_worked(replica)
        if self.lasts and self._trial is None and self._timer is None:
            self._pause()
        return self.lasts

    def close(self) -> None:
        """Try no more. Idempotent."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _pause(self) -> None:
        pause_s = min(self._first_s * 2.0 ** min(self._pauses, 60), self._longest_s)
        self._pauses += 1
        self._timer = asyncio.get_running_loop().call_later(pause_s, self._try)

    def _try(self) -> None:
        self._timer = None
        self._trial = self._try_one()
        if self._trial is None:
            self._pause()


def _never_worked(replica: PooledReplica) -> bool:
    """Tell whether a retired replica had failed, and no world of it was ever idle."""
    story = replica.state.story
    return story[-1].reason.startswith("failed") and all(one.after is not State.IDLE for one in story)
