"""Waiting until a started pool is up."""

from __future__ import annotations

from collections.abc import Callable

from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.cli.pool_progress import PoolProgress
from gym_anything.errors import NoReplica, StateError
from gym_anything.pool.started.folder import PoolEntry

_FOUND_S = 60.0


def wait_until_ready(
    find: Callable[[], PoolEntry | None], least: int, deadline: Deadline, *, quiet: bool = False
) -> PoolEntry:
    """Wait until a pool can be found and so many of its replicas are up, showing how far it is; return it.

    Args: find: looks for it; raises when it will not come.
    Raises: DeadlineExceeded with what holds it up, NoReplica when none comes up at all, what ``find`` raises.
    """
    entry = wait_until(
        find, deadline=deadline.tightened(_FOUND_S), awaited="the start of the pool's process", poll_s=0.1
    )
    assert entry is not None
    with PoolProgress(entry, "warming up", least, quiet=quiet) as progress:

        def ready() -> bool:
            find()
            status = progress.status()
            if status is None:
                if entry.owner.is_dead():
                    raise StateError(f"pool {entry.name} has ended while it came up")
                return False
            if status["last_failure"] and not any(status["counts"].values()):
                raise NoReplica(f"no replica of pool {entry.name} comes up: {status['last_failure']}")
            up: int = status["counts"].get("idle", 0) + status["counts"].get("assigned", 0)
            return up >= least

        wait_until(
            ready,
            deadline=deadline,
            awaited=f"{least} replicas of pool {entry.name}",
            status=lambda: progress.last,
            poll_s=0.2,
        )
    return entry
