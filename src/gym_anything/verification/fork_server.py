"""The owner's side of the judge processes: starts the fork server when first needed, runs a verifier in it."""

from __future__ import annotations

import contextlib
import json
import math
import os
import select
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gym_anything._util.deadline import Deadline
from gym_anything._util.supervised_process import StopPlan, SupervisedProcess
from gym_anything._util.supervisor import Supervisor
from gym_anything.errors import Aborted, HostError
from gym_anything.verification.bounded_text import BoundedText
from gym_anything.verification.cancellation import Cancellation
from gym_anything.verification.judge_process.messages import PeerGone, receive_message, send_message

_START_SECONDS = 20.0
_END_SECONDS = 5.0
_READ_BYTES = 65536
_CONTROL_FD = 3

Serve = Callable[[str, dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class JudgeRun:
    """How one verifier process went.

    Attributes:
        answer: ``{"verdict": …}`` or ``{"error": …}`` as it sent it; None when it sent nothing.
        exit_code: of the process, negative for a signal; None when it had to be stopped or its guard died.
        timed_out: it was stopped at the deadline.
        output: what it printed, both streams in order, the middle cut out when there was too much.
        seconds: how long it took.
    """

    answer: dict[str, Any] | None
    exit_code: int | None
    timed_out: bool
    output: str
    seconds: float


class ForkServer:
    """One per owner process, started on first use, ended with its owner. Safe from several threads."""

    _shared: ForkServer | None = None
    _shared_lock = threading.Lock()

    def __init__(
        self,
        module: str = "gym_anything.verification.judge_process.server",
        name: str = "judge-server",
        start_s: float = _START_SECONDS,
        stop: StopPlan | None = None,
        arguments: Sequence[str] = (),
    ) -> None:
        """Make one; it starts when first needed.

        Args:
            module: its ``main`` is the server. name: for messages. start_s: it must be ready within this.
            stop: how to end it. arguments: for it, before the number of its control descriptor.
        """
        self._module = module
        self._name = name
        self._start_s = start_s
        self._plan = stop
        self._arguments = tuple(arguments)
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._process: SupervisedProcess | None = None
        self._control: socket.socket | None = None

    @classmethod
    def shared(cls) -> ForkServer:
        """Return this process's server (a forked child gets its own)."""
        with cls._shared_lock:
            if cls._shared is None or cls._shared._owner != os.getpid():
                cls._shared = ForkServer()
            return cls._shared

    @classmethod
    def adopt(cls, control: socket.socket) -> None:
        """Let this process use the server of another one: its own is started only when that one is gone."""
        server = cls()
        server._control = control
        with cls._shared_lock:
            cls._shared = server

    def lend(self) -> socket.socket:
        """Return a descriptor of one's own for another process's ``adopt``; the caller closes it."""
        self.warm_up()
        with self._lock:
            assert self._control is not None
            return self._control.dup()

    @property
    def pid(self) -> int | None:
        """The server's pid, or None before the first verdict."""
        return self._process.pid if self._process is not None else None

    def run(self, job: dict[str, Any], serve: Serve, *, deadline: Deadline, cancellation: Cancellation) -> JudgeRun:
        """Run one verifier to its end and serve its calls in this thread meanwhile.

        Args:
            job: what ``verifier_process`` expects.
            serve: ``(name, arguments) -> {"result": …} | {"error": wire}``; must not raise but for interrupts.
        Raises: Aborted after ``cancellation``; HostError when no process can be started. Whatever interrupts this call,
            the verifier and all it started are gone when it returns or raises.
        """
        began = time.monotonic()
        with _Connection(self, cancellation) as connection:
            answer, timed_out = connection.converse(job, serve, deadline)
            exit_code = connection.finish(hung=timed_out)
        return JudgeRun(answer, exit_code, timed_out, connection.output.text(), time.monotonic() - began)

    def warm_up(self) -> None:
        """Start the server now, so that the first verdict does not wait for it. Idempotent."""
        with self._lock:
            self._forget_the_dead()
            self._control = self._control or self._start()

    def stop(self) -> None:
        """End the server; the next verdict starts a new one."""
        with self._lock:
            self._discard()

    def hand_over(self, fds: list[int]) -> None:
        """Give a new verdict's descriptors to the server, starting it when needed."""
        with self._lock:
            self._forget_the_dead()
            for last_try in (False, True):
                control = self._control or self._start()
                try:
                    socket.send_fds(control, [b"J"], fds)
                    return
                except OSError as error:
                    self._discard()
                    if last_try:
                        raise HostError(f"the {self._name} does not take work: {error}") from error

    def _forget_the_dead(self) -> None:
        if self._process is not None and (self._process.poll() is not None or self._has_hung_up()):
            self._discard()

    def _has_hung_up(self) -> bool:
        """Tell a server that is dead but not yet reaped: the kernel has closed its end."""
        if self._control is None:
            return False
        try:
            return self._control.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
        except BlockingIOError:
            return False
        except ConnectionResetError:
            return True

    def _start(self) -> socket.socket:
        package_parent = str(Path(__file__).parents[2])
        code = f"import sys; sys.path.insert(0, {package_parent!r}); from {self._module} import main; main()"
        ours, theirs = socket.socketpair()
        with tempfile.TemporaryFile(prefix="ga-judge-") as complaints:
            with theirs:
                self._process = process = Supervisor.shared().spawn(
                    [
                        sys.executable,
                        "-P",
                        "-c",
                        code,
                        *self._arguments,
                        str(_CONTROL_FD),
                    ],  # -P: cwd hides no module
                    name=self._name,
                    env=dict(os.environ),
                    stderr=complaints.fileno(),
                    pass_fds={_CONTROL_FD: theirs.fileno()},
                    stop=self._plan,
                )
            self._control = ours
            ready, _, _ = select.select([ours], [], [], self._start_s)
            if ready and ours.recv(1):
                return ours
            self._discard()
            complaints.seek(0)
            tail = complaints.read()[-2000:].decode(errors="replace").strip()
        what = f"ended while it started (exit code {process.returncode})" if ready else "did not start"
        raise HostError(
            f"the {self._name} {what}, after at most {self._start_s:.0f} s: {tail or 'it said nothing'}",
            detail={"log_tail": tail},
        )

    def _discard(self) -> None:
        if self._control is not None:
            self._control.close()
        if self._process is not None:
            self._process.stop()
        self._control = self._process = None


class _Connection:
    """The owner's three ends of one verdict: talk, leash and output."""

    def __init__(self, server: ForkServer, cancellation: Cancellation) -> None:
        self.output = BoundedText()
        self._cancellation = cancellation
        self._stack = contextlib.ExitStack()
        with contextlib.ExitStack() as theirs, contextlib.ExitStack() as ours:
            self._talk, talk = socket.socketpair()
            ours.enter_context(self._talk)
            theirs.enter_context(talk)
            self._leash, leash = socket.socketpair()
            ours.enter_context(self._leash)
            theirs.enter_context(leash)
            self._output_fd, output = os.pipe()
            ours.callback(os.close, self._output_fd)
            theirs.callback(os.close, output)
            os.set_blocking(self._output_fd, False)
            server.hand_over([talk.fileno(), leash.fileno(), output])
            self._stack = ours.pop_all()

    def __enter__(self) -> _Connection:
        self._stack.enter_context(self._cancellation.calls(self._let_go))
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._let_go()
            self._await_end(Deadline.after(_END_SECONDS))
        finally:
            self._stack.close()

    def converse(self, job: dict[str, Any], serve: Serve, deadline: Deadline) -> tuple[dict[str, Any] | None, bool]:
        """Serve until the verifier answers, ends, or the deadline passes; returns (answer, timed out)."""
        try:
            self._talk.settimeout(_START_SECONDS)
            send_message(self._talk, job)
            while True:
                if not self._await_message(deadline):
                    return None, True
                message = receive_message(self._talk)
                if "call" not in message:
                    return message, False
                reply = serve(str(message["call"]), dict(message.get("arguments") or {}))
                if deadline.expired():
                    return None, True
                send_message(self._talk, reply)
        except (PeerGone, TimeoutError, ValueError):
            if self._cancellation.is_set():
                raise Aborted("judging was ended by abort()") from None
            return None, False

    def finish(self, *, hung: bool) -> int | None:
        """Return the verifier's exit code once it and its descendants are gone; None when it had to be stopped."""
        if hung:
            self._let_go()
        said = self._await_end(Deadline.after(_END_SECONDS))
        try:
            return None if hung else int(json.loads(said)["exit"])
        except (ValueError, KeyError):
            return None

    def _let_go(self) -> None:
        """Have the guard kill what is left; safe from any thread and repeatedly."""
        with contextlib.suppress(OSError):
            self._leash.shutdown(socket.SHUT_WR)

    def _await_message(self, deadline: Deadline) -> bool:
        """Wait for the verifier to say something or to end, reading its output; False when the deadline passed."""
        waiting: list[Any] = [self._talk, self._output_fd]
        while True:
            left = deadline.remaining()
            ready, _, _ = select.select(waiting, [], [], None if math.isinf(left) else left)
            if self._output_fd in ready and not self._read_output():
                waiting.remove(self._output_fd)
            if self._talk in ready:
                return True
            if not ready and deadline.expired():
                return False

    def _await_end(self, deadline: Deadline) -> bytes:
        """Read the leash to its end (the guard has gone), and what the verifier still printed."""
        said = b""
        waiting: list[Any] = [self._leash, self._output_fd]
        while self._leash in waiting:
            ready, _, _ = select.select(waiting, [], [], deadline.remaining())
            if not ready:
                break
            if self._output_fd in ready and not self._read_output():
                waiting.remove(self._output_fd)
            if self._leash in ready:
                part = _receive(self._leash)
                said += part
                if not part:
                    waiting.remove(self._leash)
        while self._read_output():
            pass
        return said

    def _read_output(self) -> bool:
        """Take in what was printed; False at the end of the stream or when there is no more at present."""
        try:
            part = os.read(self._output_fd, _READ_BYTES)
        except BlockingIOError:
            return False
        self.output.add(part)
        return bool(part)


def _receive(sock: socket.socket) -> bytes:
    try:
        return sock.recv(4096)
    except OSError:
        return b""
