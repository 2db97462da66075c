"""The machine's screen as QEMU tells of it by itself: what has changed, thirty times a second at most.

QEMU looks at the guest's screen only while somebody listens, so we listen only while somebody looks. Two sockets go to
QEMU, one for our questions, one on which it calls us; the first through its monitor, or by the bus that its display is
on (``dbus_bus``).

What it has not told yet may be a refresh old. ``fence`` waits for all that it was about to tell.

Source: QEMU ``ui/dbus-display1.xml``; measured: a refresh every 30 ms.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from pathlib import Path

import numpy as np

from gym_anything._util.deadline import Deadline, expired_error
from gym_anything.errors import Aborted, BadWire, CaptureFailed, WorldError, WorldLost
from gym_anything.observations.frame import RgbArray
from gym_anything.runtime.qemu import dbus_wire
from gym_anything.runtime.qemu.dbus_bus import bus_path
from gym_anything.runtime.qemu.dbus_connection import DbusConnection
from gym_anything.runtime.qemu.dbus_listening import REST_AFTER_S, Listening, Torn
from gym_anything.runtime.qemu.dbus_wire import Head
from gym_anything.runtime.qemu.painting import BgrxArray, Painting, paint
from gym_anything.runtime.qemu.qmp import QmpClient

_CONSOLE, _CONSOLE_INTERFACE = "/org/qemu/Display1/Console_0", "org.qemu.Display1.Console"
_SCANOUT, _UPDATE = struct.Struct("<IIIII"), struct.Struct("<iiiiIII")
_BGRX_FORMATS = (0x20020888, 0x20028888)  # pixman's x8r8g8b8 and a8r8g8b8
_MAX_SIDE = 1 << 14
_FDNAME = "ga-display"
_BUS_PATH, _BUS_NAME, _QEMU_NAME = "/org/freedesktop/DBus", "org.freedesktop.DBus", "org.qemu"
_IGNORED = frozenset({"MouseSet", "CursorDefine"})


class DbusDisplay:
    """One machine's screen. Any thread."""

    def __init__(self, qmp: QmpClient) -> None:
        """Prepare; the first look opens the way."""
        self._qmp = qmp
        self._opening = threading.Lock()
        self._changed = threading.Condition()
        self._main: DbusConnection | None = None
        self._listening: Listening | None = None
        self._screen: BgrxArray | None = None
        self._dirty: list[tuple[int, int, int, int]] = []
        self._painting = Painting()
        self._looked_at = 0.0
        self._closed = False
        self._name = ""

    def newest(self, deadline: Deadline) -> tuple[RgbArray, int]:
        """Return the screen as QEMU has told of it, read-only, and its number: equal numbers are equal pixels.

        Raises: CaptureFailed (this QEMU has no such display, or its pixels are of a kind that we do not read);
            WorldLost, Aborted, DeadlineExceeded.
        """
        self._look(deadline)
        with self._changed:
            while self._screen is None:
                self._check()
                if not self._changed.wait(max(deadline.remaining(), 0.0)):
                    raise expired_error("QEMU's first picture by D-Bus")
            self._check()
            if self._dirty:
                self._paint()
            return self._painting.view(), self._painting.picture

    def fence(self, deadline: Deadline) -> None:
        """Return once all that QEMU had told of when asked is in ``newest``; at once while nobody listens."""
        listening = self._listening
        if listening is not None:
            listening.fence(deadline)

    def abort(self) -> None:
        """End every blocked and every later call with Aborted. Any thread; returns at once."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for connection in (self._main, self._listening):
            if connection is not None:
                connection.close()

    def close(self) -> None:
        """Close, and wait until nobody listens any more; idempotent."""
        self.abort()
        with self._opening:
            self._rest()
            self._drop_main()

    # --- listening -----------------------------------------------------------------------------------------------

    def _look(self, deadline: Deadline) -> None:
        """Note that somebody looks, and listen when nobody does."""
        self._looked_at = time.monotonic()
        listening = self._listening
        if listening is not None and listening.alive:
            return
        with self._opening:
            self._check()
            if self._listening is None or not self._listening.alive:
                self._rest()
                self._listen(deadline)

    def _rest(self) -> None:
        listening, self._listening = self._listening, None
        if listening is not None:
            listening.close()
        with self._changed:
            self._screen, self._dirty = None, []

    def _listen(self, deadline: Deadline) -> None:
        """Have QEMU tell us. What fails leaves nothing open, and the next look begins anew."""
        try:
            main = self._main or self._open_main(deadline)
            ours, theirs = socket.socketpair()
            with theirs:
                listening = self._listening = Listening(self, DbusConnection(ours))
                self._check()  # an abort from now on finds it
                serial = main.next_serial()
                asked = dbus_wire.call(
                    serial,
                    _CONSOLE,
                    _CONSOLE_INTERFACE,
                    "RegisterListener",
                    signature="h",
                    body=struct.pack("<I", 0),
                    fds=1,
                    destination=self._name,
                )
                main.send(asked, theirs.fileno())
            listening.start(deadline)
            _await_answer(main, serial, deadline)
        except BaseException:
            self._rest()
            self._drop_main()
            raise

    def _open_main(self, deadline: Deadline) -> DbusConnection:
        bus = bus_path(str(self._qmp.execute("query-display-options", deadline=deadline).get("addr", "")))
        return self._open_peer(deadline) if bus is None else self._join(bus, deadline)

    def _join(self, bus: Path, deadline: Deadline) -> DbusConnection:
        """Return a connection to QEMU's bus. Raises: WorldLost, BadWire, CaptureFailed, DeadlineExceeded."""
        sock = socket.socket(socket.AF_UNIX)
        try:
            sock.settimeout(max(deadline.remaining(), 0.001))
            sock.connect(str(bus))
        except OSError as error:
            sock.close()
            raise WorldLost(f"QEMU's bus is not there: {error}") from error
        main = self._main = DbusConnection(sock)
        self._check()  # an abort from now on finds it
        main.open(deadline)
        serial = main.next_serial()
        main.send(dbus_wire.call(serial, _BUS_PATH, _BUS_NAME, "Hello", destination=_BUS_NAME))
        _await_answer(main, serial, deadline)
        self._name = _QEMU_NAME
        return main

    def _open_peer(self, deadline: Deadline) -> DbusConnection:
        ours, theirs = socket.socketpair()
        with theirs:
            main = self._main = DbusConnection(ours)
            self._check()  # an abort from now on finds it
            try:
                self._qmp.execute("getfd", {"fdname": _FDNAME}, deadline=deadline, fds=[theirs.fileno()])
                arguments = {"protocol": "@dbus-display", "fdname": _FDNAME}
                self._qmp.execute("add_client", arguments, deadline=deadline)
            except WorldError as error:
                if "text" not in error.detail:
                    raise
                raise CaptureFailed(
                    f"this machine has no D-Bus display: {error.detail['text']}; start it with "
                    "GYM_ANYTHING_QEMU_FAST_IO_BACKEND=dbus, or use qmp",
                    detail=error.detail,
                ) from error
        main.open(deadline)
        return main

    def _drop_main(self) -> None:
        main, self._main = self._main, None
        if main is not None:
            main.close()

    def _check(self) -> None:
        if self._closed:
            raise Aborted("the machine's screen: ended by abort() or close()")
        listening = self._listening
        if listening is not None and listening.failed is not None:
            raise listening.failed

    # --- what QEMU tells, in the listening thread --------------------------------------------------------------------

    def idle(self) -> bool:
        """Tell whether nobody has looked for a while."""
        return time.monotonic() - self._looked_at > REST_AFTER_S

    def take(self, head: Head, body: memoryview) -> None:
        """Take one call of QEMU's in. Raises: BadWire, CaptureFailed."""
        if head.member == "Scanout":
            width, height, stride, form, size = _SCANOUT.unpack_from(body)
            self._take(None, (0, 0, width, height), stride, form, body[_SCANOUT.size : _SCANOUT.size + size])
        elif head.member == "Update":
            x, y, width, height, stride, form, size = _UPDATE.unpack_from(body)
            self._take(self._screen, (x, y, width, height), stride, form, body[_UPDATE.size : _UPDATE.size + size])
        elif head.member == "Disable":
            with self._changed:
                self._screen, self._dirty = None, []
        elif head.member not in _IGNORED:
            raise CaptureFailed(f"QEMU's display tells of its screen by {head.member}, which we do not read")

    def notify(self) -> None:
        """Wake whoever waits for a picture, or for an error."""
        with self._changed:
            self._changed.notify_all()

    def _take(
        self, screen: BgrxArray | None, box: tuple[int, int, int, int], stride: int, form: int, data: memoryview
    ) -> None:
        x, y, width, height = box
        if form not in _BGRX_FORMATS:
            raise CaptureFailed(f"QEMU's screen has pixels of the kind {form:#x}, which we do not read")
        if not (0 < width <= _MAX_SIDE and 0 < height <= _MAX_SIDE) or x < 0 or y < 0:
            raise BadWire(f"QEMU's display told of a box {box}")
        if stride < 4 * width or stride % 4 or len(data) < stride * (height - 1) + 4 * width:
            raise BadWire(f"QEMU's display sent {len(data)} bytes for a box {box}")
        pixels: BgrxArray = np.ndarray((height, width, 4), np.uint8, data, strides=(stride, 4, 1))
        with self._changed:
            if screen is None:
                if (x, y) != (0, 0):
                    raise Torn("an Update before any Scanout")
                self._screen = pixels.copy()
                self._dirty = [box]
            elif x + width > screen.shape[1] or y + height > screen.shape[0]:
                raise Torn("an Update beyond the last Scanout")  # a change of mode that it has not told of
            else:
                screen[y : y + height, x : x + width] = pixels
                self._dirty.append(box)
            self._changed.notify_all()

    def _paint(self) -> None:
        assert self._screen is not None
        height, width, _ = self._screen.shape
        boxes, self._dirty = self._dirty, []
        if self._painting.size != (width, height) or sum(box[2] * box[3] for box in boxes) >= width * height:
            boxes = [(0, 0, width, height)]
        target = self._painting.begin(width, height)
        for x, y, box_width, box_height in boxes:
            paint(target, x, y, self._screen[y : y + box_height, x : x + box_width])


def _await_answer(main: DbusConnection, serial: int, deadline: Deadline) -> None:
    """Wait for the answer to a question of ours. Raises: CaptureFailed with QEMU's reason."""
    while True:
        try:
            head, body = main.receive(deadline)
        except TimeoutError as error:
            raise expired_error("QEMU's display to take a listener") from error
        if head.reply_to == serial and head.kind == dbus_wire.ERROR:
            raise CaptureFailed(f"QEMU's display takes no listener: {dbus_wire.error_text(head, bytearray(body))}")
        if head.reply_to == serial:
            return
