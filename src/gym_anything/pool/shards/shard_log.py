"""What is logged in a shard, on its way to the pool's process, whose handlers write it as what is logged there."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable

from gym_anything._util.json_logs import extras_of, replica_of
from gym_anything.pool.shards import messages as say

MOST_WAITING = 10_000
"""So many records wait for the shard's loop; more come from worlds that log faster than anybody reads."""
_PACKAGE = "gym_anything"
_FORMAT = logging.Formatter()


class ShardLog(logging.Handler):
    """Says each record to the pool, with the replica that it is about, and its task at that moment, where known.

    Belongs to the event loop that it was made in; records come from any thread. Nothing is lost unsaid: when too many
    come at once, how many were left out is a record, too.
    """

    def __init__(self, tell: Callable[[say.Message], None], episode_of: Callable[[int], str | None]) -> None:
        super().__init__()
        self._tell, self._episode_of = tell, episode_of
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[say.Logged] = deque()
        self._left_out = 0
        self._guard = threading.Lock()

    def begin(self, level: int) -> None:
        """Take what this package logs from this level on."""
        package = logging.getLogger(_PACKAGE)
        package.setLevel(level)
        package.addHandler(self)

    def end(self) -> None:
        """Take no more; what waits is said."""
        logging.getLogger(_PACKAGE).removeHandler(self)
        self._say_waiting()

    def emit(self, record: logging.LogRecord) -> None:
        """See ``logging.Handler``."""
        try:
            message = self._message(record)
        except Exception:  # noqa: BLE001 - the boundary of logging: it breaks nobody's work
            self.handleError(record)
            return
        with self._guard:
            if len(self._waiting) >= MOST_WAITING:
                self._left_out += 1
                return
            self._waiting.append(message)
            first = len(self._waiting) == 1
        if first:
            try:
                self._loop.call_soon_threadsafe(self._say_waiting)
            except RuntimeError:
                return  # the loop is closed: the pool has hung up

    def _message(self, record: logging.LogRecord) -> say.Logged:
        extras = extras_of(record)
        replica = replica_of(record)
        if replica is not None:
            episode = extras.get("episode") or self._episode_of(replica)
            extras |= {"replica": replica} | ({} if episode is None else {"episode": episode})
        error = _FORMAT.formatException(record.exc_info) if record.exc_info else record.exc_text
        return say.Logged(record.name, record.levelno, record.created, record.getMessage(), extras, error)

    def _say_waiting(self) -> None:
        with self._guard:
            waiting, self._waiting = self._waiting, deque()
            left_out, self._left_out = self._left_out, 0
        for message in waiting:
            self._tell(message)
        if left_out:
            words = f"{left_out} records were left out: this shard logs faster than they can be sent"
            self._tell(say.Logged(__name__, logging.WARNING, time.time(), words, {}, None))


def package_level() -> int:
    """Return the level from which on this process takes what the package logs."""
    return logging.getLogger(_PACKAGE).getEffectiveLevel()


def log_here(message: say.Logged) -> None:
    """Log in this process what was logged in a shard."""
    log = logging.getLogger(message.logger)
    if not log.isEnabledFor(message.level):
        return
    facts = {
        **message.extras,
        "name": message.logger,
        "levelno": message.level,
        "levelname": logging.getLevelName(message.level),
        "msg": message.words,
        "created": message.at,
        "msecs": message.at % 1 * 1000,
        "exc_text": message.error,
    }
    log.handle(logging.makeLogRecord(facts))
