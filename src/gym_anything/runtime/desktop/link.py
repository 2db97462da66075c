"""One connection to the desktop service: opened by proof, then one request and its answer at a time."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
import socket
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, TypeVar

from gym_anything._util.deadline import Deadline, expired_error
from gym_anything.errors import (
    Aborted,
    BadWire,
    GymAnythingError,
    Unauthorized,
    VersionSkew,
    WorldLost,
    from_wire,
)
from gym_anything.runtime.desktop.wire import CONSTANTS, DIALECT, FIELDS, Dialect

_HEADER = FIELDS["HEADER"]
_FD_SPACE = socket.CMSG_SPACE(2 * 4)
_READ_BYTES = 4096
# How long to stay awake for an answer before sleeping. To be woken can take as long as a whole answer, and while we are
# awake on one processor the service and the X server take turns on another without waking it each time.
_AWAKE_NS = 200_000
_T = TypeVar("_T")


@dataclass(slots=True)
class Answer:
    """A message from the service: its fields, its tail, and descriptors that the receiver closes."""

    message: int
    request: int
    fields: tuple[Any, ...]
    tail: bytes
    fds: list[int] = field(default_factory=list)


class Link:
    """A socket in one role. One thread at a time; ``cut`` from any thread."""

    dialect: ClassVar[Dialect] = DIALECT
    service: ClassVar[str] = "the desktop service"
    nothing_yet: ClassVar[tuple[type[OSError], ...]] = (BlockingIOError,)

    def __init__(self, sock: socket.socket, role: str) -> None:
        self._socket = sock
        self._role = self.dialect.constants[f"ROLE_{role}"]
        self._name = role.lower()
        self._requests = 0
        self._received = b""
        self._cut = threading.Event()
        self.welcome = Answer(0, 0, (), b"")

    def connect(self, unix_path: str, deadline: Deadline) -> None:
        """Connect the socket. Raises: OSError."""
        self._socket.settimeout(deadline.remaining_or_none())
        self._socket.connect(unix_path)

    def open(self, token: bytes | None, deadline: Deadline) -> None:
        """Prove the token both ways. Raises: Unauthorized, VersionSkew, WorldLost, DeadlineExceeded."""
        key, nonce = token or b"", secrets.token_bytes(CONSTANTS["NONCE_SIZE"])
        hello = FIELDS["HELLO"].pack(CONSTANTS["MAGIC"], CONSTANTS["VERSION"], self._role, nonce)
        challenge = self.request("HELLO", hello, "CHALLENGE", deadline).fields
        version, service_nonce, service_proof = challenge
        if version != CONSTANTS["VERSION"]:
            raise VersionSkew(f"the desktop service speaks version {version}, we speak {CONSTANTS['VERSION']}")
        facts = struct.pack("<II", CONSTANTS["VERSION"], self._role)

        def proof(label: bytes) -> bytes:
            return hmac.digest(key, label + nonce + service_nonce + facts, hashlib.sha256)

        if not hmac.compare_digest(proof(b"ga-desktop service"), service_proof):
            raise Unauthorized("the desktop service does not know our token")
        self.welcome = self.request("PROOF", proof(b"ga-desktop client"), "WELCOME", deadline)

    def request(self, name: str, body: bytes, wanted: str, deadline: Deadline) -> Answer:
        """Send one message and return its answer.

        Raises: what the service answers as FAILED; WorldLost when the connection ends; Aborted after ``cut``;
            DeadlineExceeded. After any of them but an answered FAILED the link is of no further use.
        """
        self._requests += 1
        codes = self.dialect.messages
        self._send(_HEADER.pack(len(body), codes[name], 0, self._requests) + body, deadline)
        answer = self._read(deadline)
        if answer.request not in (self._requests, 0) or answer.message not in (codes[wanted], codes["FAILED"]):
            close_all(answer.fds)
            raise BadWire(f"{name} was answered by {self.dialect.names.get(answer.message, answer.message)}")
        if answer.message == codes["FAILED"]:
            raise self._failure(answer)
        return answer

    def cut(self) -> None:
        """End the connection: what is blocked in it raises ``Aborted``. Any thread, idempotent."""
        self._cut.set()
        with contextlib.suppress(OSError):  # not connected any more
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the socket; idempotent."""
        self._cut.set()
        self._socket.close()

    def _send(self, data: bytes, deadline: Deadline) -> None:
        left = self._left(deadline)
        try:
            try:
                self._socket.settimeout(0)
                sent = self._socket.send(data)
            except self.nothing_yet:
                sent = 0  # no room
            if sent < len(data):
                self._socket.settimeout(left)
                self._socket.sendall(data[sent:])
        except TimeoutError as error:
            raise self._timed_out(error) from None
        except OSError as error:
            raise self._last_words(deadline) from error

    def _last_words(self, deadline: Deadline) -> GymAnythingError:
        """Return the reason that the service gave before it hung up; it can still be read."""
        try:
            answer = self._read(deadline)
        except GymAnythingError as error:
            return error
        return self._failure(answer)

    def _read(self, deadline: Deadline) -> Answer:
        fds: list[int] = []
        receive = partial(self._socket.recvmsg, _READ_BYTES, _FD_SPACE)
        try:
            while not self._received or (answer := self._take(fds)) is None:
                data, ancillary, _, _ = self._soon(receive, deadline)
                for level, kind, part in ancillary:
                    if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                        fds += struct.unpack(f"{len(part) // 4}i", part[: len(part) // 4 * 4])
                if not data:
                    raise self._gone()
                self._received = self._received + data if self._received else data
            return answer
        except TimeoutError:
            close_all(fds)
            raise self._late() from None
        except OSError as error:
            close_all(fds)
            raise self._gone() from error
        except GymAnythingError:
            close_all(fds)
            raise

    def _soon(self, receive: Callable[[], _T], deadline: Deadline) -> _T:
        """Receive what comes next, awake at first; whoever else wants this processor gets it meanwhile."""
        now, nothing_yet = time.perf_counter_ns, self.nothing_yet
        until = now() + _AWAKE_NS
        self._socket.settimeout(0)
        while now() < until:
            try:
                return receive()
            except nothing_yet:
                os.sched_yield()
        self._socket.settimeout(self._left(deadline))
        return receive()

    def _take(self, fds: list[int]) -> Answer | None:
        """Take the first whole message out of what was received."""
        received = self._received
        if len(received) < _HEADER.size:
            return None
        size, message, _, request = _HEADER.unpack_from(received)
        if size > self.dialect.constants["MAX_BODY"] or message not in self.dialect.names:
            raise BadWire(f"{self.service} sent what is no message of this protocol")
        end = _HEADER.size + size
        if len(received) < end:
            return None
        fields = self.dialect.fields[self.dialect.names[message]]
        if size < fields.size:
            raise BadWire(f"{self.service} sent a {self.dialect.names[message]} that is too short")
        self._received = received[end:]
        values = fields.unpack_from(received, _HEADER.size)
        return Answer(message, request, values, received[_HEADER.size + fields.size : end], fds)

    def _left(self, deadline: Deadline) -> float | None:
        left = deadline.remaining_or_none()
        if left is not None and left <= 0:
            raise self._late()
        return left

    def _failure(self, answer: Answer) -> GymAnythingError:
        close_all(answer.fds)
        if answer.message != self.dialect.messages["FAILED"]:
            return self._gone()
        if self._cut.is_set():
            return Aborted("the desktop client was aborted")
        code, chars_typed = answer.fields
        text = answer.tail.decode(errors="replace")
        return from_wire(
            {
                "code": self.dialect.errors.get(code, f"desktop-error-{code}"),
                "message": f"{self.service} says: {text}",
                "detail": {"chars_typed": chars_typed} if chars_typed else {},
            }
        )

    def _gone(self) -> GymAnythingError:
        if self._cut.is_set():
            return Aborted("the desktop client was aborted")
        return WorldLost("the desktop service ended the connection; it, or the world it runs in, is gone")

    def _timed_out(self, error: TimeoutError) -> GymAnythingError:
        """Tell our own deadline from the kernel's word that the other side does not answer any more."""
        return self._gone() if error.errno else self._late()

    def _late(self) -> GymAnythingError:
        return expired_error(f"{self.service}'s answer on the {self._name} connection")


def close_all(fds: list[int]) -> None:
    """Close descriptors that came with an answer."""
    while fds:
        os.close(fds.pop())
