"""A very small X11 client: enough to see that a window manager manages windows and that a panel is there.

It speaks the protocol itself, so that the process that brings a desktop up needs no library of the world it is in.
Source: X Window System Protocol, version 11, appendix B (encoding).
"""

from __future__ import annotations

import select
import socket
import struct
import time

_MAP_NOTIFY = 19
_REPARENT_NOTIFY = 21
_PROPERTY_NOTIFY = 28
_STRUCTURE_NOTIFY = 1 << 17
_PROPERTY_CHANGE = 1 << 22
_CW_EVENT_MASK = 1 << 11
_CW_BACK_PIXMAP = 1
_LOOK_S = 0.2
_STRIP_PX = 8
_ROWS_A_REQUEST = 4096  # 128 KiB: a request holds 256 KiB

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class XWire:
    """One connection to an X server, little-endian, at its Unix socket."""

    def __init__(self, path: str, cookie: bytes = b"", check: Callable[[], object] = lambda: None) -> None:
        """Connect to the server's socket, with the ``MIT-MAGIC-COOKIE-1`` if it wants one.

        ``check`` is called now and then while an answer is awaited; what it raises ends the wait.
        ``OSError`` while no server listens.
        """
        self._check = check
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        self._buffer = b""
        self._events: list[bytes] = []
        self._resources = 0
        try:
            self._socket.connect(path)
            self._setup(cookie)
        except OSError:
            self._socket.close()
            raise

    def close(self) -> None:
        """Close; the server destroys our windows."""
        self._socket.close()

    def sync(self) -> None:
        """Return when the server has done all that was asked before: it forgets what is unread when we hang up."""
        self._request(43, 0, b"")
        self._reply()

    def atom(self, name: str) -> int:
        """Return the number of an atom, made when missing."""
        raw = name.encode()
        self._request(16, 0, struct.pack("<HH", len(raw), 0) + raw)
        return int(struct.unpack_from("<I", self._reply(), 8)[0])

    def property_words(self, window: int, atom: int) -> tuple[int, ...]:
        """Return a property of 32-bit items; empty when it is not set."""
        self._request(20, 0, struct.pack("<IIIII", window, atom, 0, 0, 256))
        reply = self._reply()
        if reply[1] != 32:
            return ()
        count = struct.unpack_from("<I", reply, 16)[0]
        return tuple(int(word) for word in struct.unpack_from(f"<{count}I", reply, 32))

    def watch_root_properties(self) -> None:
        """Ask for an event whenever a property of the root window changes."""
        self._request(2, 0, struct.pack("<III", self.root, _CW_EVENT_MASK, _PROPERTY_CHANGE))

    def map_probe(self) -> int:
        """Map a small window of our own, off to a corner, and return its id."""
        window = self._new_id()
        size = struct.pack("<hhHHHHI", 0, 0, 8, 8, 0, 1, 0)
        self._request(
            1, 0, struct.pack("<II", window, self.root) + size + struct.pack("<II", _CW_EVENT_MASK, _STRUCTURE_NOTIFY)
        )
        self._request(8, 0, struct.pack("<I", window))
        return window

    def destroy(self, window: int) -> None:
        """Destroy a window."""
        self._request(4, 0, struct.pack("<I", window))

    def paint_root(self, colours: Sequence[int], height: int) -> None:
        """Give the root window a vertical gradient through these colours (``0xRRGGBB``).

        The server repeats a narrow strip, so a wallpaper costs 34 KiB and not a second copy of the screen.
        """
        strip, context = self._new_id(), self._new_id()
        self._request(53, 24, struct.pack("<IIHH", strip, self.root, _STRIP_PX, height))
        self._request(55, 0, struct.pack("<III", context, strip, 0))
        rows = [struct.pack("<I", _mixed(colours, y / max(height - 1, 1))) * _STRIP_PX for y in range(height)]
        for top in range(0, height, _ROWS_A_REQUEST):
            part = rows[top : top + _ROWS_A_REQUEST]
            place = struct.pack("<IIHHhhBBH", strip, context, _STRIP_PX, len(part), 0, top, 0, 24, 0)
            self._request(72, 2, place + b"".join(part))
        self._request(2, 0, struct.pack("<III", self.root, _CW_BACK_PIXMAP, strip))
        self._request(61, 0, struct.pack("<IhhHH", self.root, 0, 0, 0, 0))
        self._request(54, 0, struct.pack("<I", strip))

    def wait_managed(self, window: int, until: float) -> bool:
        """Wait until ``window`` was both reparented and mapped; False when monotonic ``until`` passes first."""
        seen: set[int] = set()
        while not {_REPARENT_NOTIFY, _MAP_NOTIFY} <= seen:
            event = self.next_event(until)
            if event is None:
                return False
            kind = event[0] & 0x7F
            # Managers map before or after they reparent; a map seen on the bare root alone proves nothing.
            if kind in (_REPARENT_NOTIFY, _MAP_NOTIFY) and struct.unpack_from("<I", event, 8)[0] == window:
                seen.add(kind)
        return True

    def next_event(self, until: float) -> bytes | None:
        """Return the next event, or None when monotonic ``until`` passes."""
        if self._events:
            return self._events.pop(0)
        while True:
            packet = self._packet(until)
            if packet is None:
                return None
            if packet[0] > 1:
                return packet

    def _new_id(self) -> int:
        self._resources += 1
        return self._id_base | self._resources

    def _setup(self, cookie: bytes) -> None:
        self._socket.settimeout(5)
        name = b"MIT-MAGIC-COOKIE-1" if cookie else b""
        head = struct.pack("<BxHHHHxx", ord("l"), 11, 0, len(name), len(cookie))
        self._socket.sendall(head + name + b"\0" * (-len(name) % 4) + cookie + b"\0" * (-len(cookie) % 4))
        head = self._exactly(8)
        body = self._exactly(4 * struct.unpack_from("<H", head, 6)[0])
        if head[0] != 1:
            raise OSError(f"the X server refuses us: {body[: head[1]].decode(errors='replace')}")
        self._id_base = int(struct.unpack_from("<I", body, 4)[0])
        vendor = struct.unpack_from("<H", body, 16)[0]
        formats = body[21]
        self.root = int(struct.unpack_from("<I", body, 32 + (vendor + 3) // 4 * 4 + 8 * formats)[0])
        self._socket.setblocking(False)

    def _request(self, opcode: int, data: int, body: bytes) -> None:
        body += b"\0" * (-len(body) % 4)
        self._socket.setblocking(True)
        self._socket.sendall(struct.pack("<BBH", opcode, data, 1 + len(body) // 4) + body)
        self._socket.setblocking(False)

    def _reply(self) -> bytes:
        """Return the answer to the request just sent; events that come before it are kept for ``next_event``."""
        until = time.monotonic() + 5
        while True:
            packet = self._packet(until)
            if packet is None:
                raise OSError("the X server does not answer")
            if packet[0] == 0:
                raise OSError(f"X error {packet[1]} for request {packet[10]}")
            if packet[0] == 1:
                return packet
            self._events.append(packet)

    def _packet(self, until: float) -> bytes | None:
        while True:
            need = 32
            if len(self._buffer) >= 32:
                need += 4 * struct.unpack_from("<I", self._buffer, 4)[0] if self._buffer[0] == 1 else 0
                if len(self._buffer) >= need:
                    packet, self._buffer = self._buffer[:need], self._buffer[need:]
                    return packet
            left = until - time.monotonic()
            if left <= 0:
                return None
            if not select.select([self._socket], [], [], min(left, _LOOK_S))[0]:
                self._check()
                continue
            chunk = self._socket.recv(65536)
            if not chunk:
                raise OSError("the X server closed the connection")
            self._buffer += chunk

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            chunk = self._socket.recv(count - len(data))
            if not chunk:
                raise OSError("the X server closed the connection")
            data += chunk
        return data


def changed_property(event: bytes) -> int:
    """Return the atom of the property that an event says has changed; 0 for any other event."""
    return int(struct.unpack_from("<I", event, 8)[0]) if event[0] & 0x7F == _PROPERTY_NOTIFY else 0


def _mixed(colours: Sequence[int], part: float) -> int:
    """Return the colour at ``part`` (0 to 1) of the way through ``colours``."""
    if len(colours) == 1:
        return colours[0]
    place = part * (len(colours) - 1)
    index = min(int(place), len(colours) - 2)
    share = place - index
    mixed = 0
    for shift in (16, 8, 0):
        low, high = colours[index] >> shift & 255, colours[index + 1] >> shift & 255
        mixed |= round(low + (high - low) * share) << shift
    return mixed


def connect(
    path: str,
    until: float,
    ended: Callable[[], bool],
    cookie: bytes = b"",
    check: Callable[[], object] = lambda: None,
) -> XWire:
    """Connect as soon as the server takes connections. ``OSError`` when it ``ended`` or monotonic ``until`` passes."""
    pause = 0.002
    while True:
        try:
            return XWire(path, cookie, check)
        except OSError as error:
            if ended():
                raise OSError("the X server ended while it started") from error
            if time.monotonic() + pause > until:
                raise OSError(f"the X server takes no connections: {error}") from error
        select.select([], [], [], pause)
        pause = min(pause * 1.3, 0.02)
