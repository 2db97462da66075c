"""What a pool writes to the package's log, under ``gym_anything.pool``: transitions, leases, refusals, failures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gym_anything._util.logs import logger
from gym_anything.pool.guard import Verdict
from gym_anything.pool.observer import PoolObserver
from gym_anything.pool.replica_state import State, Transition

_LOG = logger("pool")
_BAD = (State.CLEARING, State.RETIRED, State.BACKING_OFF)


class PoolLog(PoolObserver):
    """Writes lines with ``replica`` and ``episode`` as extras. Steps are ``debug``, what went wrong ``warning``."""

    def __init__(self) -> None:
        self._episodes: dict[int, str] = {}
        self._replicas: dict[str, int] = {}
        self._refused: dict[int, str] = {}

    def episode_of(self, replica: int) -> str | None:
        """Return the lease that a replica is on. Any thread."""
        return self._episodes.get(replica)

    def transition(self, replica: int, one: Transition) -> None:
        """See ``PoolObserver``."""
        say = _LOG.warning if one.after in _BAD and not one.reason.startswith("refused") else _LOG.info
        ids = self._ids(replica, one.lease) | {"generation": one.generation, "state": one.after.value}
        say("%s -> %s: %s", one.before.value, one.after.value, one.reason, extra=ids)

    def admission(self, replica: int, verdict: Verdict) -> None:
        """See ``PoolObserver``. A refusal is said once for each thing that is short."""
        if verdict.admitted:
            self._refused.pop(replica, None)
        elif self._refused.get(replica) != verdict.short_of:
            self._refused[replica] = verdict.short_of
            _LOG.warning("creation refused: %s", verdict.reason, extra=self._ids(replica, None))

    def lent(self, lease: str, replica: int, waited_s: float) -> None:
        """See ``PoolObserver``."""
        self._episodes[replica] = lease
        self._replicas[lease] = replica
        _LOG.info("lent", extra=self._ids(replica, lease) | {"waited_s": round(waited_s, 6)})

    def returned(self, lease: str, reason: str) -> None:
        """See ``PoolObserver``."""
        replica = self._replicas.pop(lease, None)
        if replica is not None and self._episodes.get(replica) == lease:
            del self._episodes[replica]
        say = _LOG.info if reason == "released" else _LOG.warning
        say("lease over: %s", reason, extra={"replica": replica, "episode": lease})

    @contextmanager
    def operation(self, lease: str, replica: int, operation: str) -> Iterator[None]:
        """See ``PoolObserver``."""
        try:
            yield
        except Exception as error:
            ids = self._ids(replica, lease) | {"code": getattr(error, "code", type(error).__name__)}
            _LOG.warning("%s failed: %s", operation, error, extra=ids)
            raise
        _LOG.debug("%s done", operation, extra=self._ids(replica, lease))

    def not_delivered(self, lease: str, operation: str) -> None:
        """See ``PoolObserver``."""
        _LOG.info("%s was not delivered", operation, extra={"replica": self._replicas.get(lease), "episode": lease})

    def tried_again(self, lease: str, operation: str, error: Exception) -> None:
        """See ``PoolObserver``."""
        ids = {"replica": self._replicas.get(lease), "episode": lease}
        _LOG.info("%s is tried again: %s", operation, error, extra=ids)

    def _ids(self, replica: int, lease: str | None) -> dict[str, Any]:
        episode = lease or self._episodes.get(replica)
        return {"replica": replica} | ({} if episode is None else {"episode": episode})
