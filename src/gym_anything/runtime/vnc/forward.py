"""The door for people: a process that takes VNC connections on the host's loopback and asks for a password.

It speaks just enough of the RFB protocol to check the password, then passes bytes between the person and the world's X
server, whose own socket nobody else on the host can reach. ``main([LISTEN_FD, PASSWORD_FD, ROOT, SOCKET])``: ROOT is
the world's root folder as the kernel shows it (``/proc/<pid>/root``), SOCKET a path below it.
Source: RFC 6143, sections 7.1 and 7.2.
"""

from __future__ import annotations

import hmac
import os
import select
import signal
import socket
import struct

from gym_anything._util.open_beneath import open_beneath
from gym_anything.runtime.vnc.des import rfb_answer

_VERSION = b"RFB 003.008\n"
_NONE, _PASSWORD = 1, 2
_HANDSHAKE_S = 20.0
_CHUNK = 65536


def main(argv: list[str]) -> int:
    """Serve until killed."""
    listener = socket.socket(fileno=int(argv[0]))
    with os.fdopen(int(argv[1]), "rb") as pipe:
        password = pipe.read().decode()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps
    while True:
        person, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            try:
                serve(person, password, argv[2], argv[3])
            except OSError:
                pass  # either side hung up
            finally:
                os._exit(0)
        person.close()


def serve(person: socket.socket, password: str, root: str, path: str) -> None:
    """Greet one person, check the password, and pass bytes until one side hangs up."""
    person.settimeout(_HANDSHAKE_S)
    if not admit(person, password):
        return
    server = connect_inside(root, path)
    server.settimeout(_HANDSHAKE_S)
    greet_server(server)
    person.settimeout(None)
    server.settimeout(None)
    pass_on(person, server)


def admit(person: socket.socket, password: str) -> bool:
    """Do the server's side of the handshake; True when the password was right."""
    person.sendall(_VERSION)
    minor = int(_exactly(person, 12)[8:11])
    if minor >= 7:
        person.sendall(bytes([1, _PASSWORD]))
        if _exactly(person, 1)[0] != _PASSWORD:
            return False
    else:
        person.sendall(struct.pack(">I", _PASSWORD))
    challenge = os.urandom(16)
    person.sendall(challenge)
    if hmac.compare_digest(_exactly(person, 16), rfb_answer(password, challenge)):
        person.sendall(struct.pack(">I", 0))
        return True
    reason = b"wrong password"
    person.sendall(struct.pack(">I", 1) + (struct.pack(">I", len(reason)) + reason if minor >= 8 else b""))
    return False


def greet_server(server: socket.socket) -> None:
    """Do the client's side of the handshake with the world's own server, which asks for nothing."""
    _exactly(server, 12)
    server.sendall(_VERSION)
    kinds = _exactly(server, _exactly(server, 1)[0])
    if _NONE not in kinds:
        raise OSError("the world's VNC server asks for a password of its own")
    server.sendall(bytes([_NONE]))
    if struct.unpack(">I", _exactly(server, 4))[0] != 0:
        raise OSError("the world's VNC server refuses us")


def connect_inside(root: str, path: str) -> socket.socket:
    """Connect to a socket inside the world. What lies there is the world's: no link of it is followed."""
    folder = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        place = open_beneath(folder, path.lstrip("/"))
    finally:
        os.close(folder)
    try:
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        server.connect(f"/proc/self/fd/{place}")
    finally:
        os.close(place)
    return server


def pass_on(one: socket.socket, other: socket.socket) -> None:
    """Pass bytes both ways until one side hangs up."""
    towards = {one: other, other: one}
    while True:
        for source in select.select([one, other], [], [])[0]:
            data = source.recv(_CHUNK)
            if not data:
                return
            towards[source].sendall(data)


def _exactly(source: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        chunk = source.recv(count - len(data))
        if not chunk:
            raise OSError("hung up")
        data += chunk
    return data
