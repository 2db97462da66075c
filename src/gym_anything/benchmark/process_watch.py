"""Following one episode's process: its news, its lateness, and what to make of its end."""

from __future__ import annotations

import json
import select
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from gym_anything._util import logs
from gym_anything._util.deadline import Deadline
from gym_anything.benchmark import phases
from gym_anything.benchmark.episode_record import EpisodeRecord, utc_now
from gym_anything.benchmark.episode_request import EpisodeRequest
from gym_anything.episode.outcome import Outcome
from gym_anything.errors import DeadlineExceeded, GymAnythingError

LOG_FILE = "worker.log"
_EXIT_S = 30.0  # from the last news to the end of the process: exit hooks only


class ProcessWatch:
    """What is known of one episode from outside.

    Attributes:
        record: the episode's own result, once it has sent one.
        is_late: a phase or the whole episode took too long.
    """

    def __init__(
        self,
        request: EpisodeRequest,
        run_dir: Path,
        on_phase: Callable[[str], None],
        on_step: Callable[[int, int | None], None],
    ) -> None:
        self._request = request
        self._run_dir = run_dir
        self._on_phase = on_phase
        self._on_step = on_step
        self._whole = Deadline.after(request.deadline_s)
        self._phase, self._limit_s = phases.LOAD, phases.LOAD_S
        self._deadline = self._whole.tightened(phases.LOAD_S)
        self._steps = 0
        self._began = self._phase_began = time.monotonic()
        self._began_at = utc_now()
        self._timings: dict[str, float] = {}
        self._facts: dict[str, Any] = {}
        self.record: EpisodeRecord | None = None
        self.is_late = False

    def follow(self, sock: socket.socket) -> None:
        """Take in news until there is no more or the present phase is late."""
        pending = b""
        poller = select.poll()
        poller.register(sock, select.POLLIN)
        while True:
            left_s = self._deadline.remaining_or_none()
            if not poller.poll(None if left_s is None else min(left_s * 1000 + 1, 2**31 - 1)):
                if self._deadline.expired():
                    self.is_late = True
                    return
                continue
            try:
                data = sock.recv(65536)
            except ConnectionResetError:
                return
            if not data:
                return
            *lines, pending = (pending + data).split(b"\n")
            for line in lines:
                self._take(json.loads(line))

    def closing_deadline(self) -> Deadline:
        """Return by when the process must have ended after its last news."""
        return Deadline.after(_EXIT_S)

    def final_record(self, code: int | None) -> EpisodeRecord:
        """Return what the episode came to: its own record, or a broken one that says how its process ended."""
        if self.record is not None:
            if not self.is_late:
                return self.record
            note = f"while {self._doing()}: {self._lateness()}, so it was ended from outside"
            return replace(self.record, warnings=(*self.record.warnings, note))
        story = self._lateness() if self.is_late else _how_it_ended(code)
        detail = {
            "code": DeadlineExceeded.code if self.is_late else GymAnythingError.code,
            "phase": self._phase,
            "exit_code": code,
            "log_tail": logs.tail(self._run_dir / LOG_FILE, 15),
        }
        self._close_phase()
        return EpisodeRecord(
            self._request.public(),
            Outcome.broken(phases.BLAME.get(self._phase, "host"), f"while {self._doing()}: {story}", detail),
            reason="deadline" if self.is_late else "error",
            broke_in=self._phase,
            steps=self._steps,
            started_at=self._began_at,
            finished_at=utc_now(),
            duration_s=round(time.monotonic() - self._began, 3),
            timings={name: round(seconds, 3) for name, seconds in self._timings.items()},
            **self._facts,
        )

    def _take(self, news: dict[str, Any]) -> None:
        if news["kind"] == "phase":
            self._close_phase()
            self._phase, limit_s = str(news["name"]), news["limit_s"]
            self._limit_s = float("inf") if limit_s is None else float(limit_s)
            self._deadline = self._whole.tightened(limit_s)
            self._on_phase(self._phase)
        elif news["kind"] == "step":
            self._steps = int(news["steps"])
            self._on_step(self._steps, news["max_steps"])
        elif news["kind"] == "facts":
            facts = {name: value for name, value in news["facts"].items() if name in EpisodeRecord.__slots__}
            self._facts |= {**facts, "tags": tuple(facts.get("tags", self._facts.get("tags", ())))}
        elif news["kind"] == "record":
            self.record = EpisodeRecord.from_dict(news["record"])

    def _close_phase(self) -> None:
        now = time.monotonic()
        name = f"{self._phase}_s"
        self._timings[name] = self._timings.get(name, 0.0) + now - self._phase_began
        self._phase_began = now

    def _doing(self) -> str:
        return phases.DOING.get(self._phase, self._phase)

    def _lateness(self) -> str:
        if self._whole.expired():
            return f"the episode's deadline of {self._request.deadline_s:g} s passed"
        return f"more than {self._limit_s:.0f} s passed"


def _how_it_ended(code: int | None) -> str:
    if code == -signal.SIGKILL:
        return "the episode's process was killed (SIGKILL), most likely because the machine ran out of memory"
    if code is not None and code < 0:
        return f"the episode's process was killed by signal {-code}"
    return f"the episode's process ended with exit code {code} before there was a result"
