"""Logs for machines: one JSON object for each line, with the ids of episode and replica, secrets masked."""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Callable, Mapping
from typing import Any

from gym_anything._util.secrets import Redactor

_THREAD = re.compile(r"^replica (\d+)\b")
_PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonFormatter(logging.Formatter):
    """Makes a line of a record: ``time, level, logger, message``, ``replica`` and ``episode`` where they are known.

    What was given as ``extra`` stands beside them; an exception as ``error``. A record that a replica's own thread made
    has the replica's number from the thread's name.
    """

    def __init__(
        self, redactor: Redactor | None = None, episode_of: Callable[[int], str | None] = lambda replica: None
    ) -> None:
        """Args: episode_of: the episode that a replica is on at present."""
        super().__init__()
        self._redactor = redactor or Redactor()
        self._episode_of = episode_of

    def format(self, record: logging.LogRecord) -> str:
        """See ``logging.Formatter``."""
        seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, Any] = {
            "time": f"{seconds}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **extras_of(record),
        }
        replica = replica_of(record)
        if replica is not None:
            episode = line.get("episode") or self._episode_of(replica)
            line |= {"replica": replica} | ({} if episode is None else {"episode": episode})
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        elif record.exc_text:  # it was made in another process, where the exception is
            line["error"] = record.exc_text
        return json.dumps(self._redactor.json(line), ensure_ascii=False, allow_nan=False)


def extras_of(record: logging.LogRecord) -> dict[str, Any]:
    """Return what a record was given as ``extra``, as JSON data."""
    return {name: _plain(value) for name, value in vars(record).items() if name not in _PLAIN}


def replica_of(record: logging.LogRecord) -> int | None:
    """Return the replica that a record is about: it says so, or a replica's own thread made it."""
    told = getattr(record, "replica", None)
    if isinstance(told, int):
        return told
    in_thread = _THREAD.match(record.threadName or "")
    return None if in_thread is None or told is not None else int(in_thread[1])


def write_json_logs(
    handler: logging.Handler, formatter: JsonFormatter, level: int = logging.INFO
) -> Callable[[], None]:
    """Write what this package logs to where a handler writes; return what ends that and closes the handler."""
    handler.setFormatter(formatter)
    root = logging.getLogger("gym_anything")
    before = root.level
    root.setLevel(level)
    root.addHandler(handler)

    def end() -> None:
        root.removeHandler(handler)
        root.setLevel(before)
        handler.close()

    return end


def _plain(value: Any) -> Any:
    """Return JSON data: what is none becomes text, also numbers that JSON has not."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    return str(value)
