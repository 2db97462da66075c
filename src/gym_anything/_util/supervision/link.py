"""The owner's end of the connection: one thread does all reading and writing, so that Ctrl-C cannot cut a message.

A caller only puts a call into a queue and waits. Both are safe to interrupt: what an interrupted caller asked for is
undone when the answer comes (``abandon``).
"""

from __future__ import annotations

import itertools
import os
import queue
import select
import socket
import threading
from collections.abc import Callable
from typing import Any

from gym_anything._util.deadline import Deadline, expired_error
from gym_anything._util.supervision import wire
from gym_anything.errors import StateError, SupervisorLost


class Call:
    """One request and, later, its answer."""

    def __init__(self, number: int, request: wire.Message, fds: list[int]) -> None:
        self.number = number
        self.request = request
        self.fds = fds
        """Descriptors to send; then those received with the answer."""
        self.answered = threading.Event()
        self.abandoned = False
        self.lost = False
        self.error: tuple[int, str] | None = None
        self.value: Any = None

    def wait(self, deadline: Deadline) -> None:
        """Wait for the answer. Raises: DeadlineExceeded; SupervisorLost."""
        if not self.answered.wait(deadline.remaining_or_none()):
            raise expired_error(f"the supervisor's answer to {self.request[0]!r}")
        if self.lost:
            raise SupervisorLost("the supervisor process has died")


class Link:
    """A connection to one supervisor process, for any number of threads."""

    def __init__(
        self, sock: socket.socket, *, on_event: Callable[[wire.Message], None], on_answer: Callable[[Call], None]
    ) -> None:
        """Both callbacks run in the link's thread.

        Args:
            on_event: gets what the supervisor tells without being asked, and an empty tuple when the link is lost.
            on_answer: gets each answered call before its caller wakes up, also when the caller has abandoned it; and
                again when the caller abandons it afterwards.
        """
        self._sock = sock
        self._sock.setblocking(False)
        self._on_event = on_event
        self._on_answer = on_answer
        self._pid = os.getpid()
        self._numbers = itertools.count(1)
        self._queue: queue.SimpleQueue[Call] = queue.SimpleQueue()
        self._wake_read, self._wake_write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._calls: dict[int, Call] = {}
        self._outbox = wire.Outbox()
        self._unpacker = wire.Unpacker()
        self._lost = False
        self._thread = threading.Thread(target=self._run, name="gym-anything-supervisor", daemon=True)
        self._thread.start()

    @property
    def lost(self) -> bool:
        """Tell whether the other end is gone."""
        return self._lost

    def call(self, request: wire.Message, fds: list[int] | None = None) -> Call:
        """Send a request; the descriptors are duplicated now. Raises: SupervisorLost; StateError in a forked child."""
        if os.getpid() != self._pid:
            raise StateError("this supervisor belongs to the parent process; use Supervisor.shared() in the child")
        call = Call(next(self._numbers), request, [os.dup(fd) for fd in fds or ()])
        self._queue.put(call)
        self._wake()
        if self._lost:
            raise SupervisorLost("the supervisor process has died")
        return call

    def abandon(self, call: Call) -> None:
        """Say that nobody waits for this answer any more; ``on_answer`` undoes what was done."""
        call.abandoned = True
        self._queue.put(call)
        self._wake()

    def close(self, deadline: Deadline) -> None:
        """Hang up and wait for the thread to end."""
        self._lost = True
        self._wake()
        if threading.current_thread() is not self._thread:
            self._thread.join(deadline.remaining_or_none())

    def forget(self) -> None:
        """In a forked child: close our copies, so that the parent's death is still an end of the stream."""
        for fd in (self._wake_read, self._wake_write):
            os.close(fd)
        self._sock.close()

    def _wake(self) -> None:
        try:
            os.write(self._wake_write, b"!")
        except OSError:
            pass  # it is full, so the thread wakes anyway; or closed, so the link is lost

    # --- in the thread -----------------------------------------------------------------------------------------

    def _run(self) -> None:
        poll = select.poll()
        poll.register(self._wake_read, select.POLLIN)
        try:
            writable = True
            while not self._lost:
                poll.register(self._sock, select.POLLIN | (0 if writable else select.POLLOUT))
                for fd, events in poll.poll():
                    if fd == self._wake_read:
                        os.read(self._wake_read, 4096)
                    elif events & ~select.POLLOUT:
                        self._read()
                self._take_calls()
                writable = self._outbox.flush(self._sock)
        except OSError:
            pass  # the other end is gone: said to everybody below
        finally:
            self._lost = True
            self._hang_up()

    def _take_calls(self) -> None:
        while True:
            try:
                call = self._queue.get_nowait()
            except queue.Empty:
                return
            if call.abandoned and call.answered.is_set():
                self._on_answer(call)
            elif call.number not in self._calls and not call.answered.is_set():
                self._calls[call.number] = call
                self._outbox.put((call.number, *call.request), call.fds)
                call.fds = []

    def _read(self) -> None:
        try:
            data, fds = wire.receive(self._sock)
        except (BlockingIOError, InterruptedError):
            return
        if not data:
            raise ConnectionResetError("end of stream")
        for (number, *rest), own in self._unpacker.feed(data, fds):
            if number == 0:
                self._on_event((*rest,))
            else:
                self._settle(self._calls.pop(number), rest, own)

    def _settle(self, call: Call, rest: list[Any], fds: list[int]) -> None:
        call.error, call.value = rest
        call.fds = fds
        self._on_answer(call)
        call.answered.set()

    def _hang_up(self) -> None:
        self._sock.close()
        self._outbox.clear()
        while not self._queue.empty():
            call = self._queue.get_nowait()
            self._calls.setdefault(call.number, call)
        for call in self._calls.values():
            if not call.answered.is_set():
                for fd in call.fds:
                    os.close(fd)
                call.lost = True
                call.answered.set()
        self._calls.clear()
        self._on_event(())
        os.close(self._wake_read)
