"""A tiny X11 client: one window over the whole screen, its pixels read back, and the button presses it gets.

It speaks the core protocol over a Unix socket, little-endian: an examination needs no X library and no program.
Source: X Window System Protocol, X Version 11, Release 6.8, appendix B (encoding).
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.errors import WorldLost

Box = tuple[int, int, int, int]
"""x, y, width, height."""

COOKIE_BYTES = 16
_COOKIE_NAME = b"MIT-MAGIC-COOKIE-1"
_CREATE_WINDOW, _MAP_WINDOW, _QUERY_POINTER, _GET_IMAGE = 1, 8, 38, 73
_CREATE_PIXMAP, _COPY_AREA, _CREATE_GC, _CHANGE_GC, _POLY_FILL_RECTANGLE = 53, 62, 55, 56, 70
_GC_FOREGROUND, _GC_GRAPHICS_EXPOSURES = 0x4, 0x10000
_BACK_PIXEL, _OVERRIDE_REDIRECT, _EVENT_MASK = 0x2, 0x200, 0x800
_BUTTON_PRESS_MASK, _EXPOSURE_MASK = 0x4, 0x8000
_BUTTON_PRESS, _EXPOSE = 4, 12
_Z_PIXMAP, _ALL_PLANES = 2, 0xFFFFFFFF


def write_cookie_file(path: Path, cookie: bytes) -> None:
    """Write an X authority file with one cookie for any host and display."""
    fields = (b"", b"", _COOKIE_NAME, cookie)
    data = struct.pack(">H", 0xFFFF) + b"".join(struct.pack(">H", len(field)) + field for field in fields)
    path.write_bytes(data)
    path.chmod(0o600)


class XClient:
    """A connection to an X server with one window."""

    def __init__(self, path: str, cookie: bytes, deadline: Deadline) -> None:
        """Connect to the server's Unix socket. Raises: OSError; WorldLost when it refuses us."""
        self._deadline = deadline
        self._sock = socket.socket(socket.AF_UNIX)
        self._buffer = b""
        self._events: list[bytes] = []
        self._unseen: int | None = None
        try:
            # The socket is there a moment before anybody listens on it.
            wait_until(lambda: self._connects(path), deadline=deadline, awaited=f"an X server at {path}")
            self._set_up(cookie)
        except BaseException:
            self._sock.close()
            raise

    def _connects(self, path: str) -> bool:
        self._sock.settimeout(max(0.01, self._deadline.remaining()))
        try:
            self._sock.connect(path)
        except ConnectionRefusedError:
            return False
        return True

    def _set_up(self, cookie: bytes) -> None:
        lengths = struct.pack("<HHxx", len(_COOKIE_NAME), len(cookie))
        self._sock.sendall(b"l\0" + struct.pack("<HH", 11, 0) + lengths + _padded(_COOKIE_NAME) + _padded(cookie))
        status, _, _, length = struct.unpack("<BxHHH", self._read(8))
        data = self._read(length * 4)
        if status != 1:
            raise WorldLost(f"the X server refused the connection: {data.decode('latin-1').strip(chr(0))!r}")
        self._id_base = struct.unpack_from("<I", data, 4)[0]
        vendor, formats = struct.unpack_from("<H", data, 16)[0], data[21]
        screen = 32 + (vendor + 3) // 4 * 4 + formats * 8
        self._root = struct.unpack_from("<I", data, screen)[0]
        self.width, self.height = struct.unpack_from("<HH", data, screen + 20)
        self._depth: int = data[screen + 38]

    def show_window(self, pixel: int) -> None:
        """Cover the screen with one colour and wait until it is drawn."""
        self._window = self._id_base + 1
        mask = _BACK_PIXEL | _OVERRIDE_REDIRECT | _EVENT_MASK
        body = struct.pack("<IIhhHHHHII", self._window, self._root, 0, 0, self.width, self.height, 0, 1, 0, mask)
        body += struct.pack("<III", pixel, 1, _BUTTON_PRESS_MASK | _EXPOSURE_MASK)
        self._request(_CREATE_WINDOW, 0, body)
        self._request(_MAP_WINDOW, 0, struct.pack("<I", self._window))
        self._wait_for(_EXPOSE)
        values = struct.pack("<III", _GC_FOREGROUND | _GC_GRAPHICS_EXPOSURES, pixel, 0)
        self._request(_CREATE_GC, 0, struct.pack("<II", self._id_base + 2, self._window) + values)

    def fill(self, pixel: int, x: int, y: int, width: int, height: int) -> None:
        """Draw a rectangle in the window and wait until the X server has done so."""
        self._sock.sendall(self._rectangle(self._window, pixel, x, y, width, height))
        self.pointer()

    def show_at_once(self, box: Box, rectangles: Iterable[tuple[int, int, int, int, int]]) -> None:
        """Draw rectangles (pixel, x, y, width, height) unseen, then show the box of it in one step, and wait for that.

        As toolkits do: nobody sees a part of it.
        """
        if self._unseen is None:
            self._unseen = self._id_base + 3
            size = struct.pack("<IIHH", self._unseen, self._window, self.width, self.height)
            self._request(_CREATE_PIXMAP, self._depth, size)
        x, y, width, height = box
        copy = struct.pack("<IIIhhhhHH", self._unseen, self._window, self._id_base + 2, x, y, x, y, width, height)
        drawn = b"".join(self._rectangle(self._unseen, *one) for one in rectangles)
        self._sock.sendall(drawn + _request_bytes(_COPY_AREA, 0, copy))
        self.pointer()

    def pixel(self, x: int, y: int) -> int:
        """Return what is on the screen at a point."""
        body = struct.pack("<IhhHHI", self._root, x, y, 1, 1, _ALL_PLANES)
        self._request(_GET_IMAGE, _Z_PIXMAP, body)
        value: int = struct.unpack_from("<I", self._reply(), 32)[0]
        return value & 0xFFFFFF

    def pointer(self) -> tuple[int, int]:
        """Return where the pointer is."""
        self._request(_QUERY_POINTER, 0, struct.pack("<I", self._root))
        x, y = struct.unpack_from("<hh", self._reply(), 16)
        return int(x), int(y)

    def next_press(self) -> tuple[int, int, int]:
        """Wait for a button press in the window: (button, x, y)."""
        event = self._wait_for(_BUTTON_PRESS)
        x, y = struct.unpack_from("<hh", event, 20)
        return event[1], int(x), int(y)

    def has_press(self) -> bool:
        """Tell whether a button press that the X server has processed by now waits for ``next_press``."""
        self.pointer()
        return any(event[0] & 0x7F == _BUTTON_PRESS for event in self._events)

    def close(self) -> None:
        """Hang up; the server removes the window."""
        self._sock.close()

    def __enter__(self) -> XClient:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def _rectangle(self, drawable: int, pixel: int, x: int, y: int, width: int, height: int) -> bytes:
        gc = self._id_base + 2
        colour = _request_bytes(_CHANGE_GC, 0, struct.pack("<III", gc, _GC_FOREGROUND, pixel))
        place = struct.pack("<IIhhHH", drawable, gc, x, y, width, height)
        return colour + _request_bytes(_POLY_FILL_RECTANGLE, 0, place)

    def _request(self, opcode: int, detail: int, body: bytes) -> None:
        self._sock.sendall(_request_bytes(opcode, detail, body))

    def _wait_for(self, kind: int) -> bytes:
        while True:
            for index, event in enumerate(self._events):
                if event[0] & 0x7F == kind:
                    return self._events.pop(index)
            self._events.append(self._packet())

    def _reply(self) -> bytes:
        while True:
            packet = self._packet()
            if packet[0] == 1:
                return packet
            self._events.append(packet)

    def _packet(self) -> bytes:
        head = self._read(32)
        if head[0] == 0:
            raise WorldLost(f"the X server answered error {head[1]} to request {head[10]}")
        return head + self._read(struct.unpack_from("<I", head, 4)[0] * 4) if head[0] == 1 else head

    def _read(self, size: int) -> bytes:
        while len(self._buffer) < size:
            self._sock.settimeout(max(0.01, self._deadline.remaining()))
            data = self._sock.recv(1 << 16)
            if not data:
                raise WorldLost("the X server closed the connection")
            self._buffer += data
        data, self._buffer = self._buffer[:size], self._buffer[size:]
        return data


def _request_bytes(opcode: int, detail: int, body: bytes) -> bytes:
    return struct.pack("<BBH", opcode, detail, 1 + len(body) // 4) + body


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)
