"""Plays each episode in a process of its own on this machine, watched from outside.

What an agent leaks, hangs in or breaks stays in its process. The process says which phase it is in and how long that
may take; when it is late, it is ended with everything it started (``process_watch``).
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from gym_anything._util.deadline import Deadline
from gym_anything._util.supervised_process import StopPlan
from gym_anything._util.supervisor import Supervisor
from gym_anything.benchmark.episode_record import EpisodeRecord
from gym_anything.benchmark.episode_request import EpisodeRequest
from gym_anything.benchmark.process_watch import LOG_FILE, ProcessWatch
from gym_anything.benchmark.stop_signal import StopLevel, StopSignal
from gym_anything.benchmark.worker import FINISH, SOCKET_FD
from gym_anything.errors import Aborted, DeadlineExceeded

STOP_GRACE_S = 15.0
"""Between being asked to give up and being killed: a world is stopped in a few seconds."""
_BOOTSTRAP = "import sys; sys.path.insert(0, sys.argv[1]); from gym_anything.benchmark.worker import main; main()"


class WorkerProcess(Protocol):
    """A process that plays, as a ``SupervisedProcess`` is one."""

    @property
    def name(self) -> str:
        """What to call it."""
        ...

    def wait(self, deadline: Deadline) -> int | None:
        """Wait for its end and return its exit code; None when that is lost. Raises: DeadlineExceeded."""
        ...

    def stop(self) -> int | None:
        """End it and everything that it started: asked first, killed after ``STOP_GRACE_S``; returns its exit code."""
        ...


class ProcessExecutor:
    """An ``EpisodeExecutor``; any number of episodes at once."""

    def __init__(self, *, finish_early: bool = False, echo: bool = False) -> None:
        """Choose how it behaves.

        Args:
            finish_early: the first level of the stop signal also asks running episodes to end at the next chance, to be
                judged as they stand; without, they end by themselves.
            echo: what the episode prints goes to our standard error, not into ``worker.log``.
        """
        self._finish_early = finish_early
        self._echo = echo

    def play(
        self,
        request: EpisodeRequest,
        run_dir: Path,
        *,
        stop: StopSignal,
        on_phase: Callable[[str], None],
        on_step: Callable[[int, int | None], None],
    ) -> EpisodeRecord:
        """See ``EpisodeExecutor``."""
        watch = ProcessWatch(request, run_dir, on_phase, on_step)
        cut_off = False

        def end_now(process: WorkerProcess) -> None:
            nonlocal cut_off
            # What its world says while it is being ended is no result, though it may come as one.
            cut_off = watch.record is None
            _begin_to_stop(process)

        with self.worker({"request": request.to_dict()}, run_dir, request.label) as (process, sock):
            forget = [stop.at(StopLevel.NOW, lambda: end_now(process))]
            if self._finish_early:
                forget.append(stop.at(StopLevel.FINISH, lambda: _send_line(sock, FINISH)))
            try:
                watch.follow(sock)
                code = process.stop() if watch.is_late else process.wait(watch.closing_deadline())
            except DeadlineExceeded:
                code = process.stop()
            finally:
                for take_back in forget:
                    take_back()
        if cut_off and (watch.record is None or watch.record.outcome.is_broken):
            raise Aborted("the episode was stopped before it was over")
        return watch.final_record(code)

    @contextmanager
    def worker(
        self, order: Mapping[str, Any], run_dir: Path, label: str
    ) -> Iterator[tuple[WorkerProcess, socket.socket]]:
        """Start a process and give it its order; afterwards nothing of it is left.

        Args: order: see ``worker``; where it is to run is added here. label: for messages.
        """
        order = {"run_dir": str(run_dir), "sys_path": sys.path, **order}
        ours, theirs = socket.socketpair()
        process: WorkerProcess | None = None
        with ours:
            try:
                with theirs, (run_dir / LOG_FILE).open("ab") as log:
                    output = sys.stderr.fileno() if self._echo else log.fileno()
                    process = self.start_process(theirs.fileno(), output, f"episode {label}")
                _send_line(ours, json.dumps(order))
                yield process, ours
            finally:
                if process is not None:
                    process.stop()

    def start_process(self, sock: int, output: int, name: str) -> WorkerProcess:
        """Start a worker. Args: sock, output: descriptors that it gets copies of."""
        return Supervisor.shared().spawn(
            [sys.executable, "-P", "-u", "-c", _BOOTSTRAP, str(Path(__file__).parents[2])],
            name=name,
            env=dict(os.environ),
            stdout=output,
            stderr=output,
            pass_fds={SOCKET_FD: sock},
            stop=StopPlan(signal.SIGTERM, STOP_GRACE_S),
        )


def _begin_to_stop(process: WorkerProcess) -> None:
    """Ask the process to give up, and see to it that it does, without waiting here: others are to be stopped, too."""
    threading.Thread(target=process.stop, name=f"stopping {process.name}", daemon=True).start()


def _send_line(sock: socket.socket, line: str) -> None:
    try:
        sock.sendall(line.encode() + b"\n")
    except (BrokenPipeError, ConnectionResetError):
        pass  # the process has ended; whoever follows its news will see it
