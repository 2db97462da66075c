"""One QEMU process: started by our supervisor, reached by inherited sockets, ended with all it is."""

from __future__ import annotations

import io
import socket
import threading
from collections.abc import Mapping
from pathlib import Path

from gym_anything._util import logs
from gym_anything._util.deadline import Deadline
from gym_anything._util.supervised_process import StopPlan, SupervisedProcess
from gym_anything._util.supervisor import Supervisor
from gym_anything.errors import Aborted, WorldLost, WorldStartFailed
from gym_anything.runtime.qemu import forwards
from gym_anything.runtime.qemu.command_line import AnyMachine
from gym_anything.runtime.qemu.console import ConsoleLog
from gym_anything.runtime.qemu.dbus_bus import WITH_BUS, PrivateBus
from gym_anything.runtime.qemu.emulator import Emulator
from gym_anything.runtime.qemu.machine_spec import MachineSpec
from gym_anything.runtime.qemu.qmp import QmpClient

_STOP_S = 10.0
_CALL_S = 20.0
_LOG_LINES = 15
_NICE = 5
"""Machines step back behind who manages them: a hundred busy ones leave no time for an answer to be read otherwise."""


class MachineProcess:
    """A machine from its start to its end. ``start`` and ``stop`` belong together in one ``try``.

    Its files are its own; what it keeps in memory goes with it. Nobody but this process holds its monitor.
    """

    def __init__(self, folder: Path, label_env: Mapping[str, str], name: str) -> None:
        """Args: folder: where its logs go. label_env: marks the process as part of a world. name: for messages."""
        self.name = name
        self._folder = folder
        self._env = dict(label_env)
        self._lock = threading.Lock()
        self._over = False
        self._process: SupervisedProcess | None = None
        self._console: ConsoleLog | None = None
        self._qmp: QmpClient | None = None
        self._bus: PrivateBus | None = None
        self.spec: MachineSpec | None = None
        self._emulator: Emulator | None = None

    def start(self, spec: AnyMachine, emulator: Emulator, deadline: Deadline) -> None:
        """Start QEMU and return when its monitor answers; the guest may then still boot, or wait for a saved state.

        Raises: WorldStartFailed with QEMU's own words, Aborted, DeadlineExceeded.
        """
        if isinstance(spec, MachineSpec) and spec.frames == "dbus" and WITH_BUS.get():
            spec = spec.with_(bus=self._start_bus(deadline))
        qmp, qmp_theirs = socket.socketpair()
        console, console_theirs = socket.socketpair()
        self.spec = spec if isinstance(spec, MachineSpec) else None
        self._emulator = emulator
        with qmp_theirs, console_theirs, io.FileIO(self._folder / "qemu.log", "a") as log:
            try:
                fds = {spec.qmp_fd: qmp_theirs.fileno(), spec.console_fd: console_theirs.fileno()}
                given = {n: fd for n, fd in fds.items() if n is not None}
                self._spawn(
                    emulator.machine_argv(spec), emulator.environment(self._env, self._folder), given, log.fileno()
                )
                self._console = ConsoleLog(console, self._folder / "console.log")
                self._qmp = QmpClient(qmp, self.log_tail)
            except BaseException:
                qmp.close()
                if self._console is None:
                    console.close()
                raise
        try:
            self._check_going_on()
            self._qmp.open(deadline)
        except Aborted:
            self._hang_up()  # a stop that came before they were there has not closed them
            raise
        except WorldLost as error:
            raise WorldStartFailed(f"QEMU did not start: {self.log_tail() or error}", detail=error.detail) from error

    def _start_bus(self, deadline: Deadline) -> Path:
        with self._lock:
            self._check_going_on()
            bus = self._bus = PrivateBus(self._folder, self._env, self.name)
            bus.start(deadline)
        return bus.socket

    def _spawn(self, argv: list[str], env: Mapping[str, str], fds: Mapping[int, int], stderr: int) -> None:
        with self._lock:
            self._check_going_on()
            self._process = Supervisor.shared().spawn(
                argv,
                name=self.name,
                env=env,
                stderr=stderr,
                pass_fds=fds,
                stop=StopPlan(signal=9, grace_s=0.0),  # what it leaves behind is thrown away
                nice=_NICE,
            )

    @property
    def qmp(self) -> QmpClient:
        """The monitor. Raises: WorldLost when there is none."""
        if self._qmp is None:
            raise WorldLost(f"{self.name} is not running")
        return self._qmp

    @property
    def pid(self) -> int:
        """The process that holds the machine's memory. Raises: WorldLost."""
        if self._process is None or self._emulator is None:
            raise WorldLost(f"{self.name} is not running")
        return self._emulator.qemu_pid(self._process.pid)

    @property
    def alive(self) -> bool:
        """True while the process runs."""
        return self._process is not None and self._process.returncode is None

    def died(self) -> str | None:
        """Return why the machine is gone, or None while it runs."""
        if self.alive:
            return None
        code = None if self._process is None else self._process.returncode
        return f"QEMU ended with {code}; the end of its log:\n{self.log_tail()}"

    def host_ports(self) -> dict[int, int]:
        """Return guest port -> port on 127.0.0.1, as QEMU chose them."""
        return forwards.parse_forwards(self.qmp.human(forwards.COMMAND, deadline=Deadline.after(_CALL_S)))

    def await_end(self, deadline: Deadline) -> None:
        """Wait until the machine has switched itself off. Raises: DeadlineExceeded."""
        if self._process is not None:
            self._process.wait(deadline)

    def log_tail(self) -> str:
        """Return the end of QEMU's own messages and of the guest's console."""
        parts = [("qemu", logs.tail(self._folder / "qemu.log", _LOG_LINES))]
        parts.append(("console", self._console.tail(_LOG_LINES) if self._console is not None else ""))
        return "\n".join(f"[{name}] {line}" for name, text in parts for line in text.splitlines())

    def abort(self) -> None:
        """End every blocked call, and refuse a start that has not come yet. Any thread; returns at once."""
        self._over = True
        if self._qmp is not None:
            self._qmp.abort()

    def stop(self) -> None:
        """End the process at once; idempotent. A guest that shall save its files is asked to switch off before."""
        self.abort()
        with self._lock:
            process, bus = self._process, self._bus
        if process is not None:
            process.stop(Deadline.after(_STOP_S))
        if bus is not None:
            bus.stop()
        self._hang_up()

    def _hang_up(self) -> None:
        if self._qmp is not None:
            self._qmp.close()
        if self._console is not None:
            self._console.close()

    def _check_going_on(self) -> None:
        if self._over:
            raise Aborted(f"the start of {self.name}: ended by abort() or stop()")
