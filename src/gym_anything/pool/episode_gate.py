"""Room for episodes: the resource guard of pools, asked by a benchmark's run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gym_anything.pool.guard import Guard, GuardRules, HostReading
from gym_anything.pool.host_reading import read_host

if TYPE_CHECKING:
    from gym_anything.benchmark.episode_record import EpisodeRecord
    from gym_anything.benchmark.episode_request import EpisodeRequest

_UNKNOWN_MIB = 2048.0
"""For an environment of which no episode has ended: a desktop takes some hundred MiB, a machine some thousand."""


class MemoryGate:
    """A benchmark's ``Admission`` (see ``benchmark.execute``): an episode begins when its memory is there.

    What an environment's episodes take is learnt from those that ended. Memory is set aside from an episode's begin
    until its world is up, and shows in the host's reading from then on. A busy processor holds nothing up: the person
    chose how many episodes run at once.
    """

    def __init__(self, rules: GuardRules | None = None, read: Callable[[], HostReading] = read_host) -> None:
        """Args: rules: of the guard. read: the host's present state."""
        self._guard = Guard(rules or GuardRules(unknown_mib=_UNKNOWN_MIB))
        self._read = read
        self._kinds: dict[int, str] = {}

    def ask(self, who: int, request: EpisodeRequest) -> str:
        """Return why there is no room, or nothing: then it is set aside."""
        self._kinds[who] = request.env_dir
        verdict = self._guard.ask(who, request.env_dir, "fork", self._read())
        return "" if verdict.admitted else verdict.reason

    def is_up(self, who: int) -> None:
        """The episode's world is up: its memory shows."""
        self._guard.done(who)

    def is_over(self, who: int, record: EpisodeRecord | None) -> None:
        """The episode has ended; learn what it took."""
        self._guard.done(who)
        took_mib = record.memory.get("whole_mib") if record is not None else None
        if took_mib:
            self._guard.estimates.learn(self._kinds[who], took_mib)
        self._kinds.pop(who, None)
