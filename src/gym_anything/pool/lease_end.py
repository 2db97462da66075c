"""The error that a task gets whose lease is over: who has to act follows from how it ended."""

from __future__ import annotations

from collections.abc import Mapping

from gym_anything.errors import Blame, ReplicaFailed
from gym_anything.pool.replica_contract import KnownState
from gym_anything.pool.replica_events import Cause, EndLease

_BLAME: Mapping[Cause, Blame] = {"world": "world", "limit": "policy", "silent": "caller"}


def replica_failed(
    replica: int, lease: str, state: KnownState, ended: EndLease | None, story: list[str]
) -> ReplicaFailed:
    """Return the error for a lease that is over.

    Args: ended: how the replica's last lease ended that was not given back; None: none did.
    """
    known = ended if ended is not None and ended.lease == lease else None
    last = state.story[-1].reason if state.story else "it was never begun"
    reason = last if known is None else known.reason
    error = ReplicaFailed(f"replica {replica} is not on this task any more: {reason}", detail={"story": story})
    if known is not None:
        error.blame = _BLAME[known.cause]
        error.retryable = known.cause == "world"
    return error
