"""One authenticated connection to a guest: frames out from any thread, frames in by one reader thread."""

from __future__ import annotations

import itertools
import os
import queue
import select
import socket
import threading
from typing import Any

from gym_anything._util.deadline import Deadline
from gym_anything.errors import Aborted, BadWire, GymAnythingError, StateError, WorldLost
from gym_anything.runtime.guest import wire

_RECEIVE_BYTES = 262144
_JOIN_LIMIT_S = 1.0


class Call:
    """One channel of the connection: the messages that came for it, in order."""

    def __init__(self, connection: Connection, channel: int) -> None:
        self._connection = connection
        self._arrived: queue.SimpleQueue[wire.Message | None] = queue.SimpleQueue()
        self.channel = channel

    def deliver(self, message: wire.Message | None) -> None:
        """Hand over a message; None wakes the waiter because the connection has ended."""
        self._arrived.put(message)

    def next_message(self, timeout_s: float | None) -> wire.Message | None:
        """Wait for the next message; None when ``timeout_s`` passed. Raises what ended the connection, if it ended."""
        try:
            message = self._arrived.get(timeout=timeout_s) if timeout_s is None or timeout_s > 0 else self._poll()
        except queue.Empty:
            return None
        if message is None:
            self._arrived.put(None)
            raise self._connection.ending_error()
        return message

    def _poll(self) -> wire.Message | None:
        return self._arrived.get_nowait()

    def send(self, name: str, *, deadline: Deadline, **fields: Any) -> None:
        """Send one message on this channel."""
        self._connection.send(wire.encode_frame(name, self.channel, **fields), deadline=deadline)


class Connection:
    """Owns the socket after the opening. Thread-safe. Ends once, for one reason, which every caller then gets."""

    def __init__(self, sock: socket.socket, peer: str) -> None:
        self._sock = sock
        self._peer = peer
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._send_lock = threading.Lock()
        self._calls: dict[int, Call] = {}
        self._numbers = itertools.count(1)
        self._ending: GymAnythingError | None = None
        self._reader = threading.Thread(target=self._read_all, name=f"guest-reader {peer}", daemon=True)
        self._reader.start()

    # --- calls

    def open_call(self) -> Call:
        """Open a channel. Raises what ended the connection, if it ended."""
        if os.getpid() != self._pid:
            raise StateError("a guest channel does not work in a forked process; connect anew there")
        with self._lock:
            if self._ending is not None:
                raise self.ending_error()
            call = Call(self, next(self._numbers) & 0x7FFFFFFF)
            self._calls[call.channel] = call
            return call

    def close_call(self, call: Call) -> None:
        """Forget a channel; what still comes for it is dropped."""
        with self._lock:
            self._calls.pop(call.channel, None)

    def ending_error(self) -> GymAnythingError:
        """Return a fresh error that says why the connection ended, with the first cause attached."""
        first = self._ending
        if first is None:
            return StateError("the guest channel is still open")
        error = type(first)(first.message, detail=first.detail)
        error.__cause__ = first.__cause__
        return error

    # --- sending

    def send(self, frame: bytes, *, deadline: Deadline) -> None:
        """Send one whole frame, or end the connection if the guest does not take it by the deadline."""
        timeout_s = deadline.remaining_or_none()
        if not self._send_lock.acquire(timeout=-1 if timeout_s is None else min(timeout_s, threading.TIMEOUT_MAX)):
            raise WorldLost(f"the guest {self._peer} does not take what is sent to it")
        try:
            self._send_all(memoryview(frame), deadline)
        finally:
            self._send_lock.release()

    def _send_all(self, data: memoryview, deadline: Deadline) -> None:
        poller = None
        while data:
            if self._ending is not None:
                raise self.ending_error()
            try:
                data = data[self._sock.send(data, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL) :]
                continue
            except BlockingIOError:
                pass
            except OSError as error:
                self._end(WorldLost(f"the connection to the guest {self._peer} broke: {error}"), cause=error)
                raise self.ending_error() from error
            if poller is None:
                poller = select.poll()
                poller.register(self._sock, select.POLLOUT)
            if deadline.expired():
                # Part of the frame may be out: nothing sensible can follow it.
                self._end(WorldLost(f"the guest {self._peer} does not take what is sent to it"))
                raise self.ending_error()
            poller.poll(min(deadline.remaining(), 0.2) * 1000)

    # --- receiving

    def _read_all(self) -> None:
        buffered = bytearray()
        chunk = bytearray(_RECEIVE_BYTES)
        view = memoryview(chunk)
        try:
            while size := self._sock.recv_into(chunk):
                buffered += view[:size]
                self._take_frames(buffered)
            self._end(WorldLost(f"the world ended: the guest {self._peer} closed the connection"))
        except BadWire as error:
            self._end(WorldLost(f"the guest {self._peer} no longer speaks the protocol: {error}"), cause=error)
        except OSError as error:
            self._end(WorldLost(f"the connection to the guest {self._peer} broke: {error}"), cause=error)

    def _take_frames(self, buffered: bytearray) -> None:
        at = 0
        while len(buffered) - at >= wire.HEADER_SIZE:
            size, channel, name = wire.decode_header(bytes(buffered[at : at + wire.HEADER_SIZE]))
            end = at + wire.HEADER_SIZE + size
            if len(buffered) < end:
                break
            self._deliver(wire.decode_payload(name, bytes(buffered[at + wire.HEADER_SIZE : end]), channel=channel))
            at = end
        del buffered[:at]

    def _deliver(self, message: wire.Message) -> None:
        if message.channel == 0:
            raise BadWire(f"the guest ended the connection: {message.fields.get('message', message.name)!r}")
        with self._lock:
            call = self._calls.get(message.channel)
        if call is not None:
            call.deliver(message)

    # --- the end

    def _end(self, reason: GymAnythingError, *, cause: BaseException | None = None) -> None:
        with self._lock:
            if self._ending is None:
                reason.__cause__ = cause
                self._ending = reason
            calls = list(self._calls.values())
        try:
            self._sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # already gone
        for call in calls:
            call.deliver(None)

    def abort(self) -> None:
        """End every blocked and every later call with ``Aborted``. Any thread; does not wait."""
        self._end(Aborted("the guest channel was aborted"))

    def close(self) -> None:
        """End the connection and its thread. Idempotent."""
        self._end(StateError("the guest channel is closed"))
        if self._reader is not threading.current_thread():
            self._reader.join(_JOIN_LIMIT_S)
        self._sock.close()

    @property
    def ended(self) -> bool:
        """Tell whether the connection has ended, for whatever reason."""
        return self._ending is not None
