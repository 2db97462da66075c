"""A machine with a Linux desktop in it, from its boot or its waking from a saved state to its end."""

from __future__ import annotations

import contextlib
import secrets
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.actions.model import InputOp, Move, PressKeys
from gym_anything.errors import (
    Aborted,
    BootTimedOut,
    CheckpointError,
    DeadlineExceeded,
    GuestCommandFailed,
    GymAnythingError,
    Unreachable,
    WorldLost,
    WorldStartFailed,
)
from gym_anything.observations.frame import RgbArray
from gym_anything.runtime.desktop.desktop import Desktop
from gym_anything.runtime.guest.channel import GuestChannel
from gym_anything.runtime.guest.readiness import await_guest_command
from gym_anything.runtime.open_parts import OpenParts
from gym_anything.runtime.qemu.emulator import Emulator
from gym_anything.runtime.qemu.fast_frames import connect_desktop
from gym_anything.runtime.qemu.fast_input import FastHands
from gym_anything.runtime.qemu.fast_keyboard import FastKeyboard
from gym_anything.runtime.qemu.guest_desktop import GuestDesktop
from gym_anything.runtime.qemu.machine_process import MachineProcess
from gym_anything.runtime.qemu.machine_spec import MachineSpec
from gym_anything.runtime.qemu.saved_machine import load, pause, prepare, resume
from gym_anything.runtime.qemu.screen_first import ScreenFirst
from gym_anything.runtime.qemu.screendump import Screendump
from gym_anything.runtime.qemu.turns import turns
from gym_anything.runtime.runners.guest_world import DESKTOP_PEOPLE

GUEST_PORT, DESKTOP_PORT, FAST_INPUT_PORT = 7001, 7002, 7003
"""Where the guest serves commands, the desktop, the fast keyboard. On all addresses: no forward reaches loopback."""
TOKEN_FILE = "opt/gym-anything/token"
"""Name under which the guest finds the secret of its way in."""
SESSION_ENV = {"DISPLAY": ":1", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/user/1000/bus"}
"""Where commands find the desktop and its bus."""
_ATTEMPT_S = 2.0
_PROBE_S = 20.0
_LAST_WORDS_S = 0.5
_PANEL = ["/usr/bin/xdotool", "search", "--onlyvisible", "--name", "^panel$"]
_STILL_MS, _STILL_LIMIT_MS = 500, 20_000


class GuestMachine:
    """One machine. ``boot`` or ``wake``, and ``stop`` belong together in one ``try``.

    Attributes:
        running_at, answered_at: when a copy ran (again), and when its guest answered (monotonic clock, seconds).
        resting: it stands still, from ``doze`` to ``go_on``.
    """

    def __init__(self, process: MachineProcess, token: bytes) -> None:
        """Args: token: the secret of the way in, which the machine finds under ``TOKEN_FILE``."""
        self.process = process
        self.people = DESKTOP_PEOPLE
        self.exec_env = dict(SESSION_ENV)
        self.token = token
        self._ports: dict[int, int] = {}
        self._channel: GuestChannel | None = None
        self._desktop: Desktop | None = None
        self._screen: Screendump | None = None
        self._aborted = False
        self._open = OpenParts()
        self.running_at = self.answered_at = 0.0
        self.resting = False

    # --- coming up -----------------------------------------------------------------------------------------------

    def boot(self, spec: MachineSpec, emulator: Emulator, deadline: Deadline) -> None:
        """Start the machine from its disk and return when its desktop is usable.

        Raises: WorldStartFailed, BootTimedOut (with the console's last lines), Aborted.
        """
        self.process.start(spec, emulator, deadline)
        try:
            self._reach(deadline)
            panel = "the desktop's panel"
            await_guest_command(self.channel, _PANEL, deadline=deadline, awaited=panel, env=self.exec_env)
            self._connect_desktop(deadline)
            self.desktop.settle(_STILL_MS, _STILL_LIMIT_MS, deadline=deadline)
        except (DeadlineExceeded, Unreachable) as error:
            self._check_going_on()
            tail = self.process.log_tail()
            raise BootTimedOut(f"{self.process.name}: {error}; log tail:\n{tail}", detail={"log_tail": tail}) from error
        self.check_picture(deadline)

    def stand_by(self, spec: MachineSpec, emulator: Emulator, deadline: Deadline) -> None:
        """Start what a saved machine will be loaded into, and get it as far as is possible without.

        Raises: WorldStartFailed, Aborted.
        """
        self.process.start(spec, emulator, deadline)
        prepare(self.process, deadline, memory_in_file=True)
        self._ports = self.process.host_ports()

    def wake(self, state: Path, deadline: Deadline) -> None:
        """Load a saved machine after ``stand_by``, make it one of its own, probe it, and return when it is usable.

        Its memory is the template's, copied on write; its clock, network address and machine id are its own.

        Raises: CheckpointStale (naming what QEMU says), CheckpointError when it does not wake as it should, Aborted.
        """
        spec = self.process.spec
        assert spec is not None
        with turns().mine(lambda: self._aborted):
            self._wake(spec, state, deadline)

    def _wake(self, spec: MachineSpec, state: Path, deadline: Deadline) -> None:
        load(self.process, state, deadline, memory_in_file=True, prepared=True)
        resume(self.process, deadline)
        self.running_at = time.monotonic()
        soon = deadline.tightened(_PROBE_S)
        try:
            self._reach(soon)
            self.answered_at = time.monotonic()
            mac = b"" if spec.network is None else bytes.fromhex(spec.network.mac.replace(":", ""))
            # What is connected while the address changes loses packets, and a second each: so it is waited for.
            self.channel.awaken(time.time(), uuid.uuid4().hex, mac, deadline=soon).finish()
            self._screen = Screendump(self.process.qmp)
            # After the guest's last word, not beside it: QEMU's network acknowledges that some milliseconds later, and
            # where the machine stands still before, QEMU looks 500 times a second whether these are over.
            self._check_shows(self._screen.picture(soon)[0])
            if spec.frames == "qmp":
                self._desktop = self._open.keep(ScreenFirst(self._screen, self._reach_hands))
            else:
                self._desktop = self._reach_desktop(soon)
        except (DeadlineExceeded, Unreachable, WorldLost, GuestCommandFailed) as error:
            raise self._does_not_answer(error) from error

    def doze(self, deadline: Deadline, *, hands: bool = True) -> None:
        """Stand still until ``go_on``; it takes no processor time then.

        Args: hands: have all connected before that a user will want; else what is not yet comes with the first input.
        Raises: CheckpointError when it does not come so far, Aborted.
        """
        assert self._screen is not None
        try:
            if isinstance(self._desktop, ScreenFirst) and (hands or self._desktop.has_begun):
                self._desktop.hands(deadline)  # waits for its turn, too
            soon = deadline.tightened(_PROBE_S)
            if hands:
                self.desktop.frame(deadline=soon)
            self._screen.picture(soon)  # the guest's last word is acknowledged meanwhile: see ``wake``
            pause(self.process, soon)
            self.resting = True
        except (DeadlineExceeded, Unreachable, WorldLost) as error:
            raise self._does_not_answer(error) from error

    def go_on(self, deadline: Deadline) -> None:
        """Run again after ``doze``: it has the time of now, and has answered.

        Raises: CheckpointError when it does not, Aborted.
        """
        try:
            with turns().mine(lambda: self._aborted):
                soon = deadline.tightened(_PROBE_S)
                resume(self.process, soon)
                self.resting = False
                self.running_at = time.monotonic()
                self.channel.set_clock(time.time(), deadline=soon)
                self.answered_at = time.monotonic()
        except (DeadlineExceeded, Unreachable, WorldLost, GuestCommandFailed) as error:
            raise self._does_not_answer(error) from error

    def _does_not_answer(self, error: GymAnythingError) -> CheckpointError:
        """Return what a machine that was copied says of an error while it woke. Raises: Aborted when it was ended."""
        self._check_going_on()
        tail = self.process.log_tail()
        return CheckpointError(f"a machine made from a saved one does not answer: {error}; log tail:\n{tail}")

    def expect_input(self) -> None:
        """Have the hands ready soon after the first look; without it the first input waits for all of that."""
        if isinstance(self._desktop, ScreenFirst):
            self.after_first_look(self._desktop.begin)

    def after_first_look(self, act: Callable[[], object]) -> None:
        """Have something done that need not delay the first look; at once where nothing waits for that."""
        if isinstance(self._desktop, ScreenFirst):
            self._desktop.after_first_frame(act)
        else:
            act()

    def connect(self, deadline: Deadline) -> None:
        """Connect again to a machine that runs, after ``disconnect``."""
        self._reach(deadline)
        self._connect_desktop(deadline)

    def _reach(self, deadline: Deadline) -> None:
        """Connect to the guest, which may be far from listening yet."""
        self._ports = self._ports or self.process.host_ports()
        last = ""

        def attempt() -> bool:
            nonlocal last
            self._check_going_on()
            reason = self.process.died()
            if reason is not None:
                raise WorldStartFailed(reason, detail={"log_tail": self.process.log_tail()})
            try:
                self._channel = self._open.keep(self.new_channel(Deadline.after(_ATTEMPT_S)))
            except (Unreachable, DeadlineExceeded) as error:
                last = str(error)
                return False
            return True

        wait_until(attempt, deadline=deadline, awaited="the guest", poll_s=0.1, status=lambda: last)

    def _connect_desktop(self, deadline: Deadline) -> None:
        self._screen = Screendump(self.process.qmp)
        self._desktop = self._reach_desktop(deadline)

    def _reach_hands(self) -> GuestDesktop:
        """Connect when somebody is about to act, which may be long after the machine woke, or at once."""
        with turns().mine(lambda: self._aborted):
            return self._reach_desktop(Deadline.after(_PROBE_S))

    def _reach_desktop(self, deadline: Deadline) -> GuestDesktop:
        """Connect to the guest's hands, and eyes that are not the machine's screen."""
        assert self.process.spec is not None
        assert self._screen is not None
        way, port = self.process.spec.frames, self._ports[DESKTOP_PORT]
        desktop = connect_desktop(self.process.qmp, way, port, self._screen, token=self.token, deadline=deadline)
        self._open.keep(desktop)
        if self.process.spec.hands != "guest":
            port = self._ports[FAST_INPUT_PORT]
            witness = self._open.keep(FastKeyboard.connect(port, token=self.token, deadline=deadline))
            desktop.take_hands(FastHands(self.process.spec.hands, self.process.qmp, witness, desktop))
        return desktop

    def check_picture(self, deadline: Deadline) -> None:
        """Check that the screen shows something. Raises: WorldStartFailed."""
        self._check_shows(self.desktop.frame(deadline=deadline).array)

    def _check_shows(self, picture: RgbArray) -> None:
        sample = picture[::8, ::8]
        if (sample == sample[0, 0]).all():
            raise WorldStartFailed(f"{self.process.name}: its screen is empty; log tail:\n{self.process.log_tail()}")

    # --- use -----------------------------------------------------------------------------------------------------

    @property
    def channel(self) -> GuestChannel:
        """The way in. Raises: WorldLost when there is none (any more)."""
        if self._channel is None:
            raise WorldLost(f"{self.process.name} is not running")
        return self._channel

    @property
    def desktop(self) -> Desktop:
        """Eyes and hands. Raises: WorldLost when there are none (any more)."""
        if self._desktop is None:
            raise WorldLost(f"{self.process.name} is not running")
        return self._desktop

    def new_channel(self, deadline: Deadline) -> GuestChannel:
        """Return a further connection, whose closing ends the commands started over it."""
        self._check_going_on()
        return GuestChannel.connect(("127.0.0.1", self._ports[GUEST_PORT]), token=self.token, deadline=deadline)

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """Add to a ``WorldLost`` out of this block what QEMU said at its end."""
        try:
            yield
        except WorldLost as error:
            with contextlib.suppress(DeadlineExceeded):  # its sockets close a moment before it has ended
                self.process.await_end(Deadline.after(_LAST_WORDS_S))
            reason = self.process.died()
            if reason is None:
                raise
            raise WorldLost(f"{error}; {reason}", detail=error.detail) from error

    def keep_identity_in_memory(self, deadline: Deadline) -> None:
        """Have the machine id in memory from now on, where copies write their own. Raises: CheckpointError."""
        script = "cp /etc/machine-id /run/machine-id && mount --bind /run/machine-id /etc/machine-id"
        done = self.channel.exec(["/bin/sh", "-c", script], deadline=deadline)
        if not done.ok:
            raise CheckpointError(
                f"the guest's machine id stays on its disk: {done.stderr.decode(errors='replace')[-300:]}"
            )

    def try_hands(self, deadline: Deadline) -> None:
        """Move the pointer and back, press a key that does nothing: a guest's first input costs it more than others.

        All programs read the map of a keyboard that speaks for the first time. The desktop service's is one of its own.
        """
        desktop = self._desktop
        assert isinstance(desktop, GuestDesktop), "a machine that was booted, not copied"
        x, y = desktop.pointer(deadline=deadline)
        ops: list[InputOp] = [Move(x ^ 1, y), Move(x, y), PressKeys(("Shift_L",))]
        desktop.send_by_service(ops, deadline)
        desktop.send(ops, deadline=deadline)

    def flush(self, deadline: Deadline) -> None:
        """Have everything that the guest has written on its disk. Raises: CheckpointError."""
        done = self.channel.exec(["/bin/sync"], deadline=deadline)
        if not done.ok:
            raise CheckpointError(f"the guest cannot write its disk: {done.stderr.decode(errors='replace')[-300:]}")

    def switch_off(self, deadline: Deadline) -> None:
        """Have the guest end its programs, write its disk and switch the machine off. Raises: DeadlineExceeded."""
        with contextlib.suppress(GymAnythingError):  # the connection may go before the answer comes
            self.channel.exec(["/bin/systemctl", "poweroff"], deadline=deadline)
        self.disconnect()
        self.process.await_end(deadline)

    # --- end -----------------------------------------------------------------------------------------------------

    def disconnect(self) -> None:
        """Close every connection into the guest, so that it can be saved with none; idempotent."""
        desktop, self._desktop, self._channel = self._desktop, None, None
        if desktop is not None:
            desktop.close()  # what it is just connecting, too
        self._open.close()
        screen, self._screen = self._screen, None
        if screen is not None:
            screen.close()

    def abort(self) -> None:
        """End every blocked call. Any thread; returns at once."""
        self._aborted = True
        self.process.abort()
        self._open.abort()

    def stop(self) -> None:
        """End the machine at once; idempotent."""
        self.abort()
        self.process.stop()
        self._open.end()
        self.disconnect()

    def _check_going_on(self) -> None:
        if self._aborted:
            raise Aborted(f"{self.process.name}: ended by abort() or stop()")


def new_token() -> bytes:
    """Return a fresh secret for a way in."""
    return secrets.token_hex(32).encode()


def new_mac() -> str:
    """Return a fresh network address of QEMU's own range."""
    return "52:54:00:" + ":".join(f"{byte:02x}" for byte in secrets.token_bytes(3))
