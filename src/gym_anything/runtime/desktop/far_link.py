"""One connection to a gate: opened by proof, for a session that may go on from an earlier connection."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import secrets
import socket
import ssl
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from gym_anything._util.deadline import Deadline
from gym_anything.errors import Aborted, BadWire, GymAnythingError, Unauthorized, Unreachable, VersionSkew
from gym_anything.runtime.desktop.far_address import FarAddress
from gym_anything.runtime.desktop.far_inbox import Arrived, Inbox
from gym_anything.runtime.desktop.far_stream import Place, cut_off, dial, secure
from gym_anything.runtime.desktop.far_wire import CONSTANTS, DIALECT, MESSAGES, NO_SESSION, OWN_FIELDS
from gym_anything.runtime.desktop.link import Answer, Link
from gym_anything.runtime.desktop.wire import FIELDS, Dialect

_HEADER = FIELDS["HEADER"]
_LARGEST_RECT = CONSTANTS["MAX_RECT_BYTES"] + OWN_FIELDS["RECT"].size
_LARGEST_WORDS = 64 << 10
"""The longest message that is not a RECT: words for people."""


@dataclass(slots=True)
class Session:
    """What outlives a connection: the gate's name for it, and what this side holds.

    Attributes:
        name: as the gate gave it; zeros before the first welcome.
        picture: number of the picture that is held whole; 0: none.
        acknowledged: number of the last batch whose answer was seen.
    """

    name: bytes = NO_SESSION
    picture: int = 0
    acknowledged: int = 0


class FarLink(Link):
    """A connection to a gate in one role and session. One thread at a time; ``cut`` from any thread.

    A connection that ends raises ``Unreachable``: the session may go on over another.
    """

    dialect: ClassVar[Dialect] = DIALECT
    service: ClassVar[str] = "the gate"
    nothing_yet: ClassVar[tuple[type[OSError], ...]] = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)

    def __init__(self, address: FarAddress, context: ssl.SSLContext | None, role: str, session: Session) -> None:
        super().__init__(socket.socket(), role)
        self._address, self._context, self._session = address, context, session
        self._inbox = Inbox(DIALECT, _LARGEST_RECT if role == "FRAMES" else _LARGEST_WORDS)
        self._channel = b""
        self.flags = self.base = self.batch = 0
        """From WELCOME: what happened meanwhile, the picture that the next frame builds on, the last batch arrived."""

    def dial(self, places: Sequence[Place], deadline: Deadline) -> None:
        """Connect, with TLS if the address says so. Raises: OSError, Unauthorized, BadWire, Aborted."""
        self._socket.close()
        try:
            dialled = dial(places, deadline, self._use)
            if self._context is not None:
                _, self._channel = secure(dialled, self._address, self._context, self._use)
        except OSError:
            if self._cut.is_set():
                raise Aborted("the desktop client was aborted") from None
            raise

    def open(self, token: bytes | None, deadline: Deadline) -> None:
        """Prove the token both ways, begin or resume the session.

        Raises: Unauthorized, VersionSkew, SessionLost, AdmissionRefused, Unreachable, DeadlineExceeded.
        """
        nonce, session = secrets.token_bytes(CONSTANTS["NONCE_SIZE"]), self._session
        facts = (CONSTANTS["MAGIC"], CONSTANTS["VERSION"], self._role, nonce, session.name)
        hello = OWN_FIELDS["HELLO"].pack(*facts, session.picture, session.acknowledged)
        version, gates_nonce, gates_proof = self.request("HELLO", hello, "CHALLENGE", deadline).fields
        if version != CONSTANTS["VERSION"]:
            raise VersionSkew(f"the gate speaks version {version}, we speak {CONSTANTS['VERSION']}")

        def proof(label: bytes) -> bytes:
            return hmac.digest(token or b"", label + hello + gates_nonce + self._channel, hashlib.sha256)

        if not hmac.compare_digest(proof(b"ga-gate service"), gates_proof):
            raise Unauthorized("the gate does not know our token (or somebody in between shows another certificate)")
        answer = self.request("PROOF", proof(b"ga-gate client"), "WELCOME", deadline)
        session.name, self.flags, self.base, self.batch = answer.fields[:4]
        self.welcome = Answer(answer.message, answer.request, answer.fields[4:], answer.tail)

    def rects(self, picture: int, deadline: Deadline) -> Iterator[memoryview]:
        """Yield the body of each RECT of the picture whose FRAME was the last answer; each is void at the next.

        Raises: BadWire (also for an end that does not fit what came), and as ``request``.
        """
        count, end, rect = 0, MESSAGES["FRAME_END"], MESSAGES["RECT"]
        while True:
            arrived = self._receive(deadline)
            if arrived.request != self._requests or arrived.message not in (rect, end):
                raise self._not_a_part(arrived)
            if arrived.message == end:
                break
            count += 1
            yield arrived.body
        if OWN_FIELDS["FRAME_END"].unpack_from(arrived.body) != (picture, count):
            raise BadWire(f"the gate sent {count} parts of picture {picture} and ends another one")

    def say_bye(self) -> None:
        """End the session at once if that can be said without waiting."""
        with contextlib.suppress(OSError):
            self._socket.settimeout(0)
            self._socket.send(_HEADER.pack(0, MESSAGES["BYE"], 0, self._requests + 1))

    def cut(self) -> None:
        """See ``Link``."""
        self._cut.set()
        with contextlib.suppress(OSError):  # not connected any more
            cut_off(self._socket)

    def _use(self, sock: socket.socket) -> None:
        self._socket = sock
        if self._cut.is_set():
            raise Aborted("the desktop client was aborted")

    def _read(self, deadline: Deadline) -> Answer:
        arrived = self._receive(deadline, self._soon)
        fields = DIALECT.fields[DIALECT.names[arrived.message]]
        values = fields.unpack_from(arrived.body)
        return Answer(arrived.message, arrived.request, values, bytes(arrived.body[fields.size :]))

    def _receive(
        self, deadline: Deadline, first: Callable[[Callable[[], int], Deadline], int] | None = None
    ) -> Arrived:
        """Take the next message; ``first`` waits for its first bytes in another way than for all that follow."""
        inbox, wait = self._inbox, first or self._sleeping
        try:
            while (arrived := inbox.take()) is None:
                received = wait(lambda: self._socket.recv_into(inbox.space()), deadline)
                wait = self._sleeping
                if not received:
                    inbox.check_end()
                    raise self._gone()
                inbox.note(received)
        except TimeoutError as error:
            raise self._timed_out(error) from None
        except OSError as error:
            if isinstance(error, GymAnythingError):
                raise
            raise self._gone() from error
        return arrived

    def _sleeping(self, receive: Callable[[], int], deadline: Deadline) -> int:
        """Receive asleep: between the parts of a picture a network takes its time."""
        self._socket.settimeout(self._left(deadline))
        return receive()

    def _not_a_part(self, arrived: Arrived) -> GymAnythingError:
        if arrived.message == MESSAGES["FAILED"]:
            fields = OWN_FIELDS["FAILED"]
            words = bytes(arrived.body[fields.size :])
            return self._failure(Answer(arrived.message, arrived.request, fields.unpack_from(arrived.body), words))
        return BadWire(f"the gate sent {DIALECT.names[arrived.message]} in the middle of a frame")

    def _gone(self) -> GymAnythingError:
        if self._cut.is_set():
            return Aborted("the desktop client was aborted")
        return Unreachable("the connection to the gate was cut")
