"""Timings of steps, one JSON line each, in a file that several episodes may share."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from gym_anything.benchmark.episode_request import EpisodeRequest


class TimingLines:
    """Appends lines for one episode; without a file it does nothing."""

    def __init__(self, request: EpisodeRequest) -> None:
        self._path = request.timing_jsonl
        self._who = {"env": request.env, "task": request.task, "attempt": request.attempt, "agent": request.agent}

    def write(self, facts: Mapping[str, Any]) -> None:
        """Append one line, whole: one write at the file's end, so that processes do not mix theirs."""
        if self._path is None:
            return
        line = json.dumps({**self._who, **facts}, default=str) + "\n"
        fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            os.write(fd, line.encode())
        finally:
            os.close(fd)
