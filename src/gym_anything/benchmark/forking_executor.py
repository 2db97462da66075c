"""Plays each episode in a process of its own that was forked from one with everything loaded (``nursery_process``).

As apart from each other as with a ``ProcessExecutor``, at a tenth of the price: a Python that starts and loads what an
episode needs takes longer than a small episode. All verdicts of a run share one judge server, which forks, too.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

from gym_anything._util.deadline import Deadline, expired_error
from gym_anything._util.supervised_process import StopPlan
from gym_anything.benchmark.nursery_process import ASK, GRACE_S
from gym_anything.benchmark.process_executor import ProcessExecutor, WorkerProcess
from gym_anything.errors import ProcessStuck
from gym_anything.verification.fork_server import ForkServer

_START_S = 60.0
_BEYOND_GRACE_S = 10.0


class ForkingExecutor(ProcessExecutor):
    """An ``EpisodeExecutor``; a context manager: the nursery lives from the first episode until ``close``."""

    def __init__(self, preload: Sequence[str] = (), *, finish_early: bool = False) -> None:
        """Make one.

        Args:
            preload: modules that episodes need beside; those of this package only, others may start what is not to be
                forked. finish_early: see ``ProcessExecutor``.
        """
        super().__init__(finish_early=finish_early)
        self._nursery = ForkServer(
            "gym_anything.benchmark.nursery_process",
            "episode nursery",
            _START_S,
            StopPlan(signal.SIGTERM, 2 * GRACE_S),
            [json.dumps(sys.path), *preload],
        )

    def __enter__(self) -> ForkingExecutor:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the nursery, and what still runs in it; idempotent."""
        self._nursery.stop()

    @property
    def nursery_pid(self) -> int | None:
        """Process id of the nursery; None before the first episode."""
        return self._nursery.pid

    @contextmanager
    def worker(
        self, order: Mapping[str, Any], run_dir: Path, label: str
    ) -> Iterator[tuple[WorkerProcess, socket.socket]]:
        """See ``ProcessExecutor.worker``; a fork is told what a new process would have inherited from us now."""
        here = {"environment": dict(os.environ), "cwd": str(Path.cwd())}
        with super().worker({**here, **order}, run_dir, label) as started:
            yield started

    def start_process(self, sock: int, output: int, name: str) -> WorkerProcess:
        """See ``ProcessExecutor.start_process``."""
        with ExitStack() as stack:
            leash, theirs = socket.socketpair()
            stack.callback(theirs.close)
            try:
                judge = stack.enter_context(ForkServer.shared().lend())
                self._nursery.hand_over([sock, theirs.fileno(), output, judge.fileno()])
            except BaseException:
                leash.close()
                raise
        return ForkedEpisode(leash, name)


class ForkedEpisode:
    """An episode's process and its guard, held by the guard's leash. Safe from any thread."""

    def __init__(self, leash: socket.socket, name: str) -> None:
        self.name = name
        self._leash = leash
        self._lock = threading.Lock()
        self._said = b""
        self._is_over = False

    def wait(self, deadline: Deadline) -> int | None:
        """Wait until it and everything that it started are gone; see ``WorkerProcess.wait``."""
        while not self._is_over:
            left_s = deadline.remaining_or_none()
            with self._lock:
                if self._is_over:
                    break
                ready, _, _ = select.select([self._leash], [], [], 0.2 if left_s is None else min(left_s, 0.2))
                if ready:
                    self._take()
            if not self._is_over and deadline.expired():
                raise expired_error(f"the end of {self.name}")
        try:
            return int(json.loads(self._said)["exit"])
        except (ValueError, KeyError):
            return None  # the guard was killed, and the episode with it

    def stop(self) -> int | None:
        """See ``WorkerProcess.stop``. Raises: ProcessStuck when it does not end."""
        if not self._is_over:
            try:
                self._leash.send(ASK)
            except OSError:
                pass  # the guard has gone, or is going
        try:
            return self.wait(Deadline.after(2 * GRACE_S + _BEYOND_GRACE_S))
        except TimeoutError as error:
            raise ProcessStuck(f"{self.name} does not end", detail={"name": self.name}) from error

    def _take(self) -> None:
        """Read from the leash; at its end the guard is gone, and with it everything."""
        try:
            part = self._leash.recv(4096)
        except OSError:
            part = b""
        self._said += part
        if not part:
            self._is_over = True
            self._leash.close()
