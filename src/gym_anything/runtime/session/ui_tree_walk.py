"""Prints the accessibility tree of a desktop; runs inside the world, on its own Python, with nothing installed.

``python3 -I -S - < this file``: all calls of one level of the tree are sent at once, so a window of a thousand widgets
takes a fraction of a second, and a program that hangs costs the time limit once.
Sources: D-Bus specification 0.41 (message format); AT-SPI 2 interfaces (org.a11y.atspi.*).
"""

from __future__ import annotations

import os
import re
import socket
import struct
import sys
import threading
import time
from typing import Any

LIMIT_S = 5.0
START_S = 20.0  # who asks first has the bus and its registry started, which an emulated machine takes its time for
_AGAIN_S = 0.2
MAX_NODES = 5000
MAX_TEXT = 2000
_NOWHERE = -(1 << 31)  # where toolkits say that an element is which is not on the screen
_ACCESSIBLE = "org.a11y.atspi.Accessible"
_PROPERTIES = "org.freedesktop.DBus.Properties"
_STATES = {
    1: "active", 4: "checked", 5: "collapsed", 7: "editable", 8: "enabled", 9: "expandable", 10: "expanded",
    11: "focusable", 12: "focused", 16: "modal", 20: "pressed", 23: "selected", 25: "showing", 41: "required",
}  # fmt: skip
_SHOWN = (
    "active",
    "checked",
    "collapsed",
    "editable",
    "expanded",
    "focused",
    "modal",
    "pressed",
    "selected",
    "required",
)
_SIZES = {"y": 1, "b": 4, "n": 2, "q": 2, "i": 4, "u": 4, "x": 8, "t": 8, "d": 8, "h": 4}
_CODES = {"y": "B", "b": "I", "n": "h", "q": "H", "i": "i", "u": "I", "x": "q", "t": "Q", "d": "d", "h": "I"}


class Body:
    """Reads values of a message body by its signature (little-endian)."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data = data
        self.at = at

    def values(self, signature: str) -> list[Any]:
        """Return all values of the signature."""
        found = []
        while signature:
            value, signature = self.value(signature)
            found.append(value)
        return found

    def value(self, signature: str) -> tuple[Any, str]:
        """Return the first value, and the rest of the signature."""
        kind, rest = signature[0], signature[1:]
        if kind in _SIZES:
            self._align(_SIZES[kind])
            (number,) = struct.unpack_from("<" + _CODES[kind], self.data, self.at)
            self.at += _SIZES[kind]
            return number, rest
        if kind in "sog":
            return self._string("B" if kind == "g" else "I"), rest
        if kind == "v":
            return self.value(self._string("B"))[0], rest
        if kind == "a":
            element = whole_type(rest)
            return self._array(element), rest[len(element) :]
        inner = whole_type(signature)[1:-1]
        self._align(8)
        return tuple(self.values(inner)), signature[len(inner) + 2 :]

    def _array(self, element: str) -> list[Any]:
        self._align(4)
        (length,) = struct.unpack_from("<I", self.data, self.at)
        self.at += 4
        self._align(8 if element[0] in "({xtd" else _SIZES.get(element[0], 4) if element[0] not in "gv" else 1)
        end, found = self.at + length, []
        while self.at < end:
            found.append(self.value(element)[0])
        return found

    def _string(self, size: str) -> str:
        width = struct.calcsize(size)
        self._align(width)
        (length,) = struct.unpack_from("<" + size, self.data, self.at)
        start = self.at + width
        self.at = start + length + 1
        return self.data[start : start + length].decode("utf-8", "replace")

    def _align(self, size: int) -> None:
        self.at += -self.at % size


def whole_type(signature: str) -> str:
    """Return the first complete type of a signature."""
    if signature[0] == "a":
        return "a" + whole_type(signature[1:])
    if signature[0] not in "({":
        return signature[0]
    depth = 0
    for place, char in enumerate(signature):
        depth += (char in "({") - (char in ")}")
        if depth == 0:
            return signature[: place + 1]
    raise ValueError(signature)


def packed(arguments: list[Any]) -> tuple[str, bytes]:
    """Return signature and body of text and unsigned or signed whole numbers (``("i", 3)`` for a signed one)."""
    signature, body = "", b""
    for argument in arguments:
        body += b"\0" * (-len(body) % 4)
        if isinstance(argument, str):
            raw = argument.encode()
            signature, body = signature + "s", body + struct.pack("<I", len(raw)) + raw + b"\0"
        else:
            kind, number = argument
            signature, body = signature + kind, body + struct.pack("<" + _CODES[kind], number)
    return signature, body


class Bus:
    """One connection to a bus; many calls under way at once."""

    def __init__(self, address: str, until: float) -> None:
        self._until = until
        self._serial = 0
        self._buffer = b""
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(max(0.1, until - time.monotonic()))
        path = re.search(r"unix:(?:.*,)?(path|abstract)=([^,;]*)", address)
        if path is None:
            raise OSError(f"cannot use the bus address {address}")
        name = re.sub("%([0-9a-fA-F]{2})", lambda m: chr(int(m[1], 16)), path[2])
        self._socket.connect("\0" + name if path[1] == "abstract" else name)
        self._socket.sendall(b"\0AUTH EXTERNAL " + str(os.getuid()).encode().hex().encode() + b"\r\n")
        if not self._socket.recv(1024).startswith(b"OK"):
            raise OSError("the bus does not let us in")
        self._socket.sendall(b"BEGIN\r\n")
        self.call([("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "Hello", [])])

    def limit(self, until: float) -> None:
        """Say until when later calls wait for their answers."""
        self._until = until

    def call(self, calls: list[tuple[str, str, str, str, list[Any]]]) -> list[list[Any] | None]:
        """Do many calls (destination, path, interface, member, arguments) at once; None for each that failed."""
        serials, out = [], b""
        for call in calls:
            self._serial += 1
            serials.append(self._serial)
            out += self._message(*call)
        answers: dict[int, list[Any] | None] = {}
        for start in range(0, len(out), 1 << 15):
            self._socket.sendall(out[start : start + (1 << 15)])
            self._drain(answers, wait=False)
        while not all(serial in answers for serial in serials) and time.monotonic() < self._until:
            self._drain(answers, wait=True)
        return [answers.get(serial) for serial in serials]

    def _message(self, to: str, path: str, interface: str, member: str, arguments: list[Any]) -> bytes:
        signature, body = packed(arguments)
        fields = b""
        texts = [(1, "o", path), (6, "s", to), (2, "s", interface), (3, "s", member), (8, "g", signature)]
        for code, kind, text in texts:
            raw = text.encode()
            if kind == "g" and not text:
                continue
            fields += b"\0" * (-len(fields) % 8) + bytes([code, 1]) + kind.encode() + b"\0"
            fields += (bytes([len(raw)]) if kind == "g" else struct.pack("<I", len(raw))) + raw + b"\0"
        head = struct.pack("<cBBBIII", b"l", 1, 0, 1, len(body), self._serial, len(fields)) + fields
        return head + b"\0" * (-len(head) % 8) + body

    def _drain(self, answers: dict[int, list[Any] | None], *, wait: bool) -> None:
        self._socket.settimeout(max(0.01, self._until - time.monotonic()) if wait else 0.0)
        try:
            chunk = self._socket.recv(1 << 18)
        except (BlockingIOError, TimeoutError):
            return
        finally:
            self._socket.settimeout(max(0.1, self._until - time.monotonic()))
        if not chunk:
            raise OSError("the bus hung up")
        self._buffer += chunk
        while len(self._buffer) >= 16:
            body_size, _, field_size = struct.unpack_from("<III", self._buffer, 4)
            start = 16 + field_size + -field_size % 8
            if len(self._buffer) < start + body_size:
                return
            message, self._buffer = self._buffer[: start + body_size], self._buffer[start + body_size :]
            fields = dict(Body(message, 12).values("a(yv)")[0])
            if message[1] in (2, 3) and 5 in fields:
                good = message[1] == 2
                answers[fields[5]] = Body(message[start:]).values(fields.get(8, "")) if good else None


class Node:
    """One element: who serves it, where it stands in the tree, what it says of itself."""

    def __init__(self, owner: str, path: str, depth: int) -> None:
        self.owner, self.path, self.depth = owner, path, depth
        self.children: list[Node] = []
        self.line = "(no answer)"
        self.answered = False


def describe(bus: Bus, nodes: list[Node]) -> list[Node]:
    """Fill in one level of the tree and return the next."""
    calls = []
    for node in nodes:
        for interface, member, arguments in (
            (_PROPERTIES, "Get", [_ACCESSIBLE, "Name"]),
            (_ACCESSIBLE, "GetRoleName", []),
            (_ACCESSIBLE, "GetState", []),
            ("org.a11y.atspi.Component", "GetExtents", [("u", 0)]),
            ("org.a11y.atspi.Text", "GetText", [("i", 0), ("i", MAX_TEXT)]),
            (_ACCESSIBLE, "GetChildren", []),
        ):
            calls.append((node.owner, node.path, interface, member, arguments))
    answers = bus.call(calls)
    below = []
    for number, node in enumerate(nodes):
        name, role, state, box, text, children = answers[6 * number : 6 * number + 6]
        if role is None:
            continue
        node.answered = True
        node.line = line_of(role[0], name[0] if name else "", state, box, text[0] if text else "")
        for owner, path in children[0] if children else ():
            if path != "/org/a11y/atspi/null":
                node.children.append(Node(owner, path, node.depth + 1))
        below += node.children
    return below


def line_of(role: str, name: str, state: list[Any] | None, box: list[Any] | None, text: str) -> str:
    """Return how one element is printed: role, name, where, states that matter, text."""
    parts = [role]
    name = name.strip()
    if name:
        parts.append(f'"{one_line(name)}"')
    bits = sum(word << (32 * place) for place, word in enumerate(state[0])) if state else 0
    states = [word for bit, word in _STATES.items() if bits >> bit & 1]
    if role == "desktop frame":
        box = None  # the registry makes its size up
    if box and box[0][2] > 0 and box[0][3] > 0 and box[0][0] > _NOWHERE:
        parts.append("at ({},{}) size {}x{}".format(*box[0]))
    notable = [word for word in states if word in _SHOWN]
    if "focusable" in states and "enabled" not in states:
        notable.append("disabled")
    if notable:
        parts.append("[" + " ".join(notable) + "]")
    if text and text != name and text.strip("\ufffc"):
        parts.append(f'text "{one_line(text)}"')
    return " ".join(parts)


def one_line(text: str) -> str:
    """Return text with line breaks and quotes escaped."""
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def main() -> int:
    """Walk the tree from the registry and print it."""
    start_until = time.monotonic() + START_S
    session = Bus(os.environ["DBUS_SESSION_BUS_ADDRESS"], start_until)
    address = session.call([("org.a11y.Bus", "/org/a11y/bus", "org.a11y.Bus", "GetAddress", [])])[0]
    if not address:
        late = time.monotonic() >= start_until
        why = f"did not start within {START_S:g} s" if late else "is not there (package at-spi2-core)"
        sys.stderr.write(f"the accessibility bus {why}\n")
        return 3
    bus = Bus(address[0], start_until)
    root = Node("org.a11y.atspi.Registry", "/org/a11y/atspi/accessible/root", 0)
    level, count = describe(bus, [root]), 1
    between = threading.Event()
    while not root.answered and not between.wait(_AGAIN_S) and time.monotonic() < start_until:
        level = describe(bus, [root])  # a registry that is just coming up may say no at first
    if not root.answered:
        sys.stderr.write(f"the accessibility registry did not answer within {START_S:g} s\n")
        return 4
    until = time.monotonic() + LIMIT_S
    bus.limit(until)
    while level and count < MAX_NODES and time.monotonic() < until:
        count += len(level)
        level = describe(bus, level)
    stack = [root]
    while stack:
        node = stack.pop()
        sys.stdout.write("  " * node.depth + node.line + "\n")
        stack += reversed(node.children)
    return 0


if __name__ == "__main__":
    sys.exit(main())
