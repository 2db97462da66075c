"""Opening a connection: both sides prove that they know the token before anything else is said."""

from __future__ import annotations

import hmac
import os
import socket
from dataclasses import dataclass

from gym_anything._util.deadline import Deadline, expired_error
from gym_anything.errors import BadWire, Unauthorized, Unreachable, VersionSkew
from gym_anything.runtime.guest import wire

OPENING_LIMIT_S = 10.0


@dataclass(frozen=True, slots=True)
class Welcome:
    """What the guest said about itself: its role, its own pid there, and the digest of its sources."""

    role: str
    pid: int
    build: str


def _receive(sock: socket.socket, size: int, deadline: Deadline) -> bytes:
    data = b""
    while len(data) < size:
        left = deadline.remaining()
        if left <= 0:
            raise expired_error("the guest's part of the opening", last_status=f"{len(data)} of {size} bytes came")
        sock.settimeout(min(left, 3600.0))
        try:
            part = sock.recv(size - len(data))
        except TimeoutError:
            continue
        except OSError as error:
            raise Unreachable(f"the connection to the guest broke during the opening: {error}") from error
        if not part:
            raise Unreachable("the guest closed the connection during the opening")
        data += part
    return data


def _answers_hello(header: bytes) -> bool:
    try:
        size, channel, name = wire.decode_header(header)
    except BadWire:
        return False
    return channel == 0 and name in ("CHALLENGE", "REFUSED") and size <= wire.CONSTANTS["MAX_OPENING_PAYLOAD"]


def _skip_to_the_answer(sock: socket.socket, deadline: Deadline) -> bytes:
    """Drop what an earlier peer of the line had coming, cut off anywhere; return the header that answers HELLO."""
    header = _receive(sock, wire.HEADER_SIZE, deadline)
    while not _answers_hello(header):
        header = header[1:] + _receive(sock, 1, deadline)
    return header


def _receive_message(sock: socket.socket, deadline: Deadline, header: bytes = b"") -> wire.Message:
    size, channel, name = wire.decode_header(header or _receive(sock, wire.HEADER_SIZE, deadline))
    if size > wire.CONSTANTS["MAX_OPENING_PAYLOAD"]:
        raise BadWire(f"the guest opened with a message of {size} bytes")
    return wire.decode_payload(name, _receive(sock, size, deadline), channel=channel)


def _expect(message: wire.Message, name: str) -> wire.Message:
    if message.name == name:
        return message
    if message.name != "REFUSED":
        raise BadWire(f"the guest sent {message.name} where {name} belongs")
    text = message["message"].decode(errors="replace")
    ours = wire.CONSTANTS["VERSION"]
    if message["error"] == wire.ERRORS["ERROR_VERSION"]:
        raise VersionSkew(
            f"{text}: it speaks {message['version']}, we speak {ours}; use the same release on both sides"
        )
    if message["error"] == wire.ERRORS["ERROR_BUSY"]:
        raise Unreachable(f"the guest has no room for another connection: {text}")
    raise Unauthorized(f"the guest refused the connection: {text}")


def _send(sock: socket.socket, frame: bytes) -> None:
    try:
        sock.sendall(frame)
    except (BrokenPipeError, ConnectionResetError):
        return  # the guest hung up before it read this: what it said first is told by the read that follows
    except OSError as error:
        raise Unreachable(f"the connection to the guest broke during the opening: {error}") from error


def open_connection(sock: socket.socket, token: bytes, deadline: Deadline, *, line: bool = False) -> Welcome:
    """Speak the opening on a connected socket, which is left blocking.

    ``line``: the socket leads to a serial line, on which the last words to an earlier peer may still come first.

    Raises: Unauthorized (either side's proof is wrong), VersionSkew, Unreachable, BadWire, DeadlineExceeded.
    """
    if not wire.CONSTANTS["MIN_TOKEN_SIZE"] <= len(token) <= wire.CONSTANTS["MAX_TOKEN_SIZE"]:
        raise ValueError("a guest token has 16 to 256 bytes")
    deadline = deadline.tightened(OPENING_LIMIT_S)
    nonce = os.urandom(wire.CONSTANTS["NONCE_SIZE"])
    sock.settimeout(max(0.001, min(deadline.remaining(), OPENING_LIMIT_S)))
    _send(
        sock,
        wire.encode_frame("HELLO", 0, magic=wire.CONSTANTS["MAGIC"], version=wire.CONSTANTS["VERSION"], nonce=nonce),
    )
    answer = _skip_to_the_answer(sock, deadline) if line else b""
    challenge = _expect(_receive_message(sock, deadline, answer), "CHALLENGE")
    guest_nonce: bytes = challenge["nonce"]
    if not hmac.compare_digest(challenge["proof"], wire.proof(token, "guest", nonce, guest_nonce)):
        raise Unauthorized("the guest does not know the token of this world")
    _send(sock, wire.encode_frame("PROOF", 0, proof=wire.proof(token, "host", nonce, guest_nonce)))
    welcome = _expect(_receive_message(sock, deadline), "WELCOME")
    sock.settimeout(None)
    role = "init" if welcome["role"] == wire.CONSTANTS["ROLE_INIT"] else "serve"
    return Welcome(role, welcome["pid"], welcome["build"].decode(errors="replace"))
