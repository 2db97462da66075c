"""What an episode took: tokens and money, seconds of world, memory."""

from __future__ import annotations

import resource
import time
from collections.abc import Mapping
from typing import Any

from gym_anything._util import logs
from gym_anything.errors import GymAnythingError

_KIB_OF_MIB = 1024
_COUNTS = ("calls", "input_tokens", "cached_input_tokens", "output_tokens", "seconds")


class Account:
    """The running account of one episode, kept in its own process."""

    def __init__(self) -> None:
        self._began: float | None = None
        self._ended: float | None = None
        self._world_mib: float | None = None

    def world_begins(self) -> None:
        """The world's start begins now."""
        self._began = time.monotonic()

    def world_is_gone(self) -> None:
        """The world has been stopped; told twice, the first time counts."""
        self._ended = self._ended or time.monotonic()

    @property
    def world_s(self) -> float:
        """Seconds that there was a world; until now while there is one."""
        if self._began is None:
            return 0.0
        return round((self._ended or time.monotonic()) - self._began, 3)

    def look_at(self, env: Any) -> None:
        """Read what the world takes now; the most of all looks counts. A runner that cannot tell is passed over."""
        try:
            found = env.runner.memory_mib()
        except (AttributeError, OSError, GymAnythingError) as error:
            logs.logger(__name__).debug("the world's memory cannot be read: %s", error)
            return
        if found is not None:
            self._world_mib = max(float(found), self._world_mib or 0.0)

    def memory(self) -> dict[str, float]:
        """Return MiB: ``episode_mib``, our peak; where the world's is known, ``world_mib`` by its looks and the sum."""
        own_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _KIB_OF_MIB
        found = {"episode_mib": own_mib}
        if self._world_mib is not None:
            found |= {"world_mib": self._world_mib, "whole_mib": own_mib + self._world_mib}
        return {name: round(mib, 1) for name, mib in found.items()}

    def usage_of(self, agent: Any) -> dict[str, Any] | None:
        """Return what the agent's model took, from its attribute ``usage``; None for one that keeps no accounts.

        The attribute is a mapping, or has ``as_dict()``: any of ``calls, input_tokens, cached_input_tokens,
        output_tokens, seconds, cost_usd``.
        """
        usage = getattr(agent, "usage", None)
        as_dict = getattr(usage, "as_dict", None)
        return plain_usage(as_dict() if callable(as_dict) else usage)


def plain_usage(usage: Any) -> dict[str, Any] | None:
    """Return the known counts of a mapping that are numbers; None for anything else. Unknown costs stay None."""
    if not isinstance(usage, Mapping):
        return None
    counts: dict[str, Any] = {name: usage[name] for name in _COUNTS if _is_number(usage.get(name))}
    if not counts and not _is_number(usage.get("cost_usd")):
        return None
    return {**counts, "cost_usd": usage["cost_usd"] if _is_number(usage.get("cost_usd")) else None}


def judge_usage(report: Any) -> dict[str, Any] | None:
    """Return what the judge's model took, from the verdict's report; None when none was asked."""
    return plain_usage(report.get("vlm")) if isinstance(report, Mapping) else None


def task_facts(task: Any) -> dict[str, Any]:
    """Return ``difficulty`` and ``tags`` of a task's spec."""
    if task is None:
        return {}
    difficulty = None if task.difficulty is None else str(task.difficulty)
    return {"difficulty": difficulty, "tags": tuple(map(str, task.tags))}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
