"""One world with Windows or Android: its folder, its machine, the way in."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from gym_anything._util.deadline import Deadline
from gym_anything._util.state_dir import Run
from gym_anything._util.supervised_process import SupervisedProcess
from gym_anything._util.supervisor import Supervisor
from gym_anything._util.waiting import wait_until
from gym_anything.errors import Aborted, BootTimedOut, DeadlineExceeded, WorldLost, WorldStartFailed
from gym_anything.runtime.guest.other_shell import OtherShell
from gym_anything.runtime.qemu.blind_hands import BlindHands
from gym_anything.runtime.qemu.emulator import Emulator
from gym_anything.runtime.qemu.machine_process import MachineProcess
from gym_anything.runtime.qemu.other_machine_spec import OtherMachineSpec
from gym_anything.runtime.qemu.screendump import Screendump
from gym_anything.runtime.vnc.door import VncDoor, open_door
from gym_anything.specs.access import Vnc

DISK, VARIABLES = "disk.qcow2", "firmware-settings.fd"
_ATTEMPT_S, _POLL_S = 20.0, 1.0

MakeShell = Callable[[int], OtherShell]
"""Makes the way in, given the port of 127.0.0.1 behind which the guest's own is."""


class OtherWorld:
    """What a world has on the host. ``start`` and ``stop`` belong together in one ``try``."""

    def __init__(self, key: str, env_id: str) -> None:
        self.place = Run.current().new_world(key, env=env_id)
        self.process = MachineProcess(self.place.path, self.place.env, f"machine of world {self.place.id}")
        self.door: VncDoor | None = None
        self.port: int | None = None
        self._shell: OtherShell | None = None
        self._screen: Screendump | None = None
        self._hands: BlindHands | None = None
        self._ended = False

    def start(
        self, spec: OtherMachineSpec, emulator: Emulator, guest_port: int, make: MakeShell, deadline: Deadline
    ) -> None:
        """Start the machine and return when its guest can be used.

        Raises: WorldStartFailed, BootTimedOut (with QEMU's log and the console's), Aborted.
        """
        self.process.start(spec, emulator, deadline)
        self._screen = Screendump(self.process.qmp)
        self._hands = BlindHands(self.process.qmp, lambda: spec.screen)
        self.port = self.process.host_ports()[guest_port]
        self._shell = shell = make(self.port)
        last = ""

        def up() -> bool:
            nonlocal last
            reason = self.process.died()
            if reason is not None:
                raise WorldStartFailed(reason, detail={"log_tail": self.process.log_tail()})
            last = shell.is_up(deadline.tightened(_ATTEMPT_S))
            return not last

        try:
            awaited = f"{spec.family.capitalize()} to start"
            wait_until(
                up,
                deadline=deadline,
                awaited=awaited,
                poll_s=_POLL_S,
                status=lambda: last,
                log_tail=self.process.log_tail,
                aborted=lambda: self._ended,
            )
        except DeadlineExceeded as error:
            raise BootTimedOut(str(error), detail=error.detail) from error

    def firmware_settings(self, original: Path) -> Path:
        """Return the machine's own copy of UEFI's settings."""
        copy = self.place.path / VARIABLES
        if not copy.exists():
            shutil.copyfile(original, copy)
        return copy

    @property
    def shell(self) -> OtherShell:
        """The way in. Raises: WorldLost when there is none (any more)."""
        if self._shell is None or self._ended:
            raise WorldLost(f"{self.process.name} is not running")
        return self._shell

    @property
    def screen(self) -> Screendump:
        """The screen. Raises: WorldLost."""
        if self._screen is None:
            raise WorldLost(f"{self.process.name} is not running")
        return self._screen

    @property
    def hands(self) -> BlindHands:
        """Mouse and keyboard. Raises: WorldLost."""
        if self._hands is None:
            raise WorldLost(f"{self.process.name} is not running")
        return self._hands

    @property
    def ended(self) -> bool:
        """True once the world was told to end."""
        return self._ended

    @property
    def vnc_socket(self) -> Path:
        """Where QEMU serves VNC, for this world's door alone."""
        return self.place.socket_path("vnc")

    def open_door(self, vnc: Vnc) -> VncDoor:
        """Open the way in for people: a port of this host's loopback with a password."""
        socket = self.vnc_socket
        with (self.place.path / "vnc.log").open("ab") as log:
            self.door = open_door(vnc, (str(socket.parent), socket.name), self._spawn, log.fileno())
        return self.door

    def _spawn(self, argv: Sequence[str], *, name: str, stderr: int, pass_fds: Mapping[int, int]) -> SupervisedProcess:
        env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", **self.place.env}
        name = f"{name} of world {self.place.id}"
        return Supervisor.shared().spawn(argv, name=name, env=env, stderr=stderr, pass_fds=pass_fds)

    def check_going_on(self) -> None:
        """Raise Aborted when the world was told to end."""
        if self._ended:
            raise Aborted("start: ended by abort() or stop()")

    def abort(self) -> None:
        """End every blocked call. Any thread; returns at once."""
        self._ended = True
        self.process.abort()
        if self._shell is not None:
            self._shell.abort()

    def stop(self) -> None:
        """End the world and remove its folder. Idempotent."""
        self.abort()
        self.process.stop()
        if self._screen is not None:
            self._screen.close()
        Supervisor.shared().stop_world(self.place.id)
        self.place.remove()
