"""The client of ``gym-anything-fast-inputd``, our own keyboard inside a machine; also a witness of its pointer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from gym_anything._util.deadline import Deadline
from gym_anything.actions.model import InputOp
from gym_anything.errors import (
    DeadlineExceeded,
    InputDeliveryUnknown,
    InputNotDelivered,
    Unreachable,
    WorldLost,
    WorldStartFailed,
)
from gym_anything.runtime.desktop.wire import input_body
from gym_anything.runtime.qemu.guest_desktop import TcpLanes

DEVICE = "GymAnything Fast Keyboard"
PROGRAM = "gym-anything-fast-inputd"
LIMIT_S = 20.0
_PER_BYTE_S = 0.02
_BUTTONS_AT = 16


@dataclass(frozen=True, slots=True)
class PointerState:
    """What the machine's pointing device said last.

    Attributes:
        x, y: on the device's own scale, 0 to 32767.
        buttons: bit 0 left, 1 middle, 2 right.
    """

    x: int
    y: int
    buttons: int


class FastKeyboard:
    """One machine's fast keyboard. Any thread; they take turns. ``abort`` from any thread ends what is blocked."""

    def __init__(self, port: int, token: bytes) -> None:
        """Use ``connect``."""
        self._lanes = TcpLanes(port, token)

    @classmethod
    def connect(cls, port: int, *, token: bytes, deadline: Deadline) -> Self:
        """Connect and check the contract: the device is there, and the display server reads it.

        Raises: WorldStartFailed that says what is missing; Unauthorized, VersionSkew, Aborted.
        """
        keyboard = cls(port, token)
        try:
            keyboard._check(deadline)
        except (Unreachable, WorldLost, InputNotDelivered, DeadlineExceeded) as error:
            keyboard.close()
            raise WorldStartFailed(
                f"the fast keyboard does not work: {error}. Fast input needs {PROGRAM} in the machine, /dev/uinput, "
                f"and a display server that reads the {DEVICE!r}; see `journalctl -u {PROGRAM}` there, or choose "
                "another keyboard with GYM_ANYTHING_QEMU_FAST_KEYBOARD_BACKEND",
                detail={"device": DEVICE, "reason": str(error)},
            ) from error
        except BaseException:
            keyboard.close()
            raise
        return keyboard

    def _check(self, deadline: Deadline) -> None:
        self._lanes.input.begin(deadline)
        self._lanes.input.end(None)
        name = self._lanes.input.welcome.tail.partition(b"\0")[0].decode(errors="replace")
        if name != DEVICE:
            raise WorldStartFailed(f"behind the fast keyboard's port is something else: {name!r}")
        self.send((), deadline)

    def send(self, ops: Sequence[InputOp], deadline: Deadline | None = None) -> int:
        """Play text and keys; return how many characters were typed. The display server has read them then.

        Raises: ActionUnsupported, InputNotDelivered: no key went down; InputDeliveryUnknown; WorldLost, Aborted.
        """
        body = input_body(ops)
        try:
            with self._lanes.input.turn(deadline or Deadline.after(LIMIT_S + _PER_BYTE_S * len(body))) as turn:
                return int(turn.request("INPUT", body, "INPUT_ACK").fields[3])
        except DeadlineExceeded as error:
            raise InputDeliveryUnknown(f"the keys were not acknowledged in time: {error}") from error

    def pointer(self, deadline: Deadline | None = None) -> PointerState:
        """Return what the machine's pointing device said last; the display server has read it. Raises: as ``send``."""
        with self._lanes.input.turn(deadline or Deadline.after(LIMIT_S)) as turn:
            x, y = turn.request("POINTER_REQUEST", b"", "POINTER").fields
        return PointerState(x, y & ((1 << _BUTTONS_AT) - 1), y >> _BUTTONS_AT)

    def release(self, deadline: Deadline | None = None) -> None:
        """Release every key that is held on it. Raises: as ``send``."""
        with self._lanes.input.turn(deadline or Deadline.after(LIMIT_S)) as turn:
            turn.request("RELEASE", b"", "RELEASED")

    def abort(self) -> None:
        """End every blocked and every later call with ``Aborted``. Any thread; returns at once."""
        self._lanes.abort()

    def close(self) -> None:
        """Close; keys held are released. Idempotent."""
        self._lanes.close()
