"""The thread that takes QEMU's calls: what has changed on a machine's screen."""

from __future__ import annotations

import contextlib
import struct
import threading
from typing import Protocol

from gym_anything._util.deadline import Deadline, expired_error
from gym_anything.errors import GymAnythingError, WorldLost
from gym_anything.runtime.qemu import dbus_wire
from gym_anything.runtime.qemu.dbus_connection import DbusConnection
from gym_anything.runtime.qemu.dbus_wire import Head

REST_AFTER_S = 3.0
"""How long nobody must have looked before we stop listening."""
LISTENER = "org.qemu.Display1.Listener"
"""The interface by which QEMU tells."""
_PEER = "org.freedesktop.DBus.Peer"


class Screen(Protocol):
    """Who is told."""

    def idle(self) -> bool:
        """Tell whether nobody has looked for a while."""
        ...

    def take(self, head: Head, body: memoryview) -> None:
        """Take one call of QEMU's in. Raises: BadWire, CaptureFailed, Torn."""
        ...

    def notify(self) -> None:
        """Wake whoever waits for a picture, or for an error."""
        ...


class Torn(Exception):
    """What QEMU tells does not fit what it told before: it must be asked anew."""


class Listening:
    """A thread that takes QEMU's calls until nobody looks any more, QEMU has ended, or we close."""

    def __init__(self, display: Screen, connection: DbusConnection) -> None:
        self._display = display
        self._connection = connection
        self._thread = threading.Thread(target=self._run, name="qemu-display", daemon=True)
        self._answered = threading.Condition()
        self._answers: set[int] = set()
        self._over = False
        self.failed: GymAnythingError | None = None

    @property
    def alive(self) -> bool:
        """True while it listens."""
        return not self._over

    def start(self, deadline: Deadline) -> None:
        """Begin. QEMU waits for us meanwhile, with all of its machine."""
        self._connection.open(deadline)
        self._thread.start()

    def fence(self, deadline: Deadline) -> None:
        """Ask QEMU for nothing and wait for the answer: it comes after all that was told before."""
        serial = self._connection.next_serial()
        try:
            self._connection.send(dbus_wire.call(serial, "/", _PEER, "Ping"))
        except WorldLost:
            if self.failed is not None or not self._over:
                raise
            return  # it rests: the next look begins anew
        with self._answered:
            while serial not in self._answers and not self._over:
                if not self._answered.wait(max(deadline.remaining(), 0.0)):
                    raise expired_error("QEMU's display to tell what it had to tell")
            self._answers.discard(serial)

    def close(self) -> None:
        """End, and wait for the thread unless it is this one."""
        self._connection.close()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        try:
            while not self._display.idle():
                with contextlib.suppress(TimeoutError):  # nothing has changed for a while
                    self._take_one()
        except Torn:
            pass  # whoever looks next begins anew
        except GymAnythingError as error:
            self.failed = error
        finally:
            with self._answered:
                self._over = True
                self._answered.notify_all()
            self._connection.close()
            self._display.notify()

    def _take_one(self) -> None:
        head, body = self._connection.receive(Deadline.after(REST_AFTER_S / 2))
        if head.kind != dbus_wire.CALL:
            with self._answered:
                self._answers.add(head.reply_to)
                self._answered.notify_all()
            return
        listens = head.interface == LISTENER
        if listens:
            self._display.take(head, body)
        if not head.flags & dbus_wire.NO_REPLY:
            serial = self._connection.next_serial()
            nothing = ("", b"") if listens else ("a{sv}", struct.pack("<II", 0, 0))  # it asks for our properties
            self._connection.send(dbus_wire.answer(serial, head, signature=nothing[0], body=nothing[1]))
