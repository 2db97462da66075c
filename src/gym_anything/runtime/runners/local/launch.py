"""One running sandbox: started, waited for, reached and ended."""

from __future__ import annotations

import io
import secrets
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gym_anything._util import atomic_write, logs
from gym_anything._util.control_groups import MANIFEST_KEY
from gym_anything._util.deadline import Deadline
from gym_anything._util.python_program import python_argv
from gym_anything._util.state_dir import WorldDir
from gym_anything._util.supervised_process import StopPlan, SupervisedProcess
from gym_anything._util.supervisor import Supervisor
from gym_anything._util.waiting import wait_until
from gym_anything.errors import Aborted, BootTimedOut, MissingDependency, WorldLost, WorldStartFailed
from gym_anything.runtime.desktop.client import DesktopClient
from gym_anything.runtime.guest.channel import GuestChannel
from gym_anything.runtime.limits import ControlGroups, Limits
from gym_anything.runtime.open_parts import OpenParts
from gym_anything.runtime.runners.guest_world import DESKTOP_PEOPLE
from gym_anything.runtime.runners.local.reports import ReportLine
from gym_anything.runtime.runners.local.sandbox import identity
from gym_anything.runtime.runners.local.sandbox import launch as launcher
from gym_anything.runtime.runners.local.sandbox.plan import DirectPlan, SandboxPlan
from gym_anything.runtime.session.plan import SessionPlan
from gym_anything.runtime.session.ready import shows_something
from gym_anything.runtime.vnc.door import VncDoor

SANDBOX = "gym_anything.runtime.runners.local.sandbox.launch"
DIRECT = "gym_anything.runtime.runners.local.sandbox.direct"
"""The two launchers, by module."""
_READY_FD, _TOKEN_FD = 3, 4
_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
_LOG_LINES = 15
_STOP_S = 10.0


class LocalWorld:
    """A sandbox from its start to its end. ``start`` and ``stop`` belong together in one ``try``.

    Attributes:
        place: its folder in the state directory.
        facts: what the launcher said: ``pid`` of the world's init, ``base_uid``, ``id_count``, ``ids``.
        stages: seconds from the launch to each stage of the desktop.
        ids: whom its users are on this host; kept from its first launch to its end, since its files belong to them.
        people: whom its commands run as. exec_env: what its commands need to know of it.
        stop_plan: how its processes are ended: at once, since all they leave goes with them.
        groups: its resource limits. door: VNC for people.
    """

    def __init__(self, place: WorldDir) -> None:
        self.place = place
        self.facts: dict[str, Any] = {}
        self.stages: dict[str, float] = {}
        self._lock = threading.Lock()
        self._init: SupervisedProcess | None = None
        self._processes: list[SupervisedProcess] = []
        self._channel: GuestChannel | None = None
        self._desktop: DesktopClient | None = None
        self._open = OpenParts()
        self.ids = _reserved_ids()
        self._token = secrets.token_hex(32).encode()
        self._reports: ReportLine | None = None
        self._ended = threading.Event()
        self._stopped = False
        self._generations = 0
        self.groups = ControlGroups()
        self.exec_env: dict[str, str] = {}
        self.stop_plan = StopPlan(signal=9, grace_s=0.0)
        self.people = DESKTOP_PEOPLE
        self.door: VncDoor | None = None

    def next_generation(self) -> int:
        """Count the launches over the same written files."""
        self._generations += 1
        return self._generations - 1

    def spawn(
        self, argv: Sequence[str], *, name: str, stderr: int, pass_fds: Mapping[int, int] | None = None
    ) -> SupervisedProcess:
        """Start a process on the host that belongs to this world; it ends with it. Raises: Aborted when stopped."""
        with self._lock:
            self.check_going_on()
            process = Supervisor.shared().spawn(
                argv,
                name=f"{name} of world {self.place.id}",
                env={"PATH": _PATH, **self.place.env},
                stderr=stderr,
                pass_fds=pass_fds,
                stop=self.stop_plan,
            )
            self._processes.append(process)
        return process

    def limit(self, limits: Limits) -> None:
        """Make the control groups of the next launch."""
        with self._lock:
            self.check_going_on()
            self.groups = ControlGroups.create(self.place.label, limits, self._note_groups)

    def _note_groups(self, folders: list[str]) -> None:
        self.place.update_manifest(**{MANIFEST_KEY: folders})

    # --- start ---------------------------------------------------------------------------------------------------

    def start(self, launcher_module: str, plan: SandboxPlan | DirectPlan, deadline: Deadline) -> None:
        """Launch the world and return when its desktop is usable.

        Raises: MissingDependency (the host does not allow it; with the fix), WorldStartFailed, BootTimedOut, Aborted.
        """
        plan_path = self.place.path / "sandbox.json"
        atomic_write.write_json(plan_path, plan, mode=0o600)
        with ReportLine(self._launch(launcher_module, plan_path), self.check_going_on, self.log_tail) as reports:
            self._reports = reports
            self._await_launcher(reports, deadline)
            path = self._socket(launcher.GUEST_SOCKET)
            self._channel = self._open.keep(GuestChannel.connect(path, token=self._token, deadline=deadline))
            if plan["session"] is not None:
                self._await_desktop(reports, deadline)
        if plan["session"] is not None:
            path = self._socket(launcher.DESKTOP_SOCKET)
            self._desktop = self._open.keep(DesktopClient.connect(path, deadline=deadline, token=self._token))
            self._await_picture(plan["session"], deadline)

    def _launch(self, module: str, plan_path: Path) -> socket.socket:
        """Start the launcher under the supervisor and return the socket it reports on."""
        # Sockets and a file object, not numbers: they close themselves when an interrupt comes between two lines.
        ready_r, ready_w = socket.socketpair()
        token_r, token_w = socket.socketpair()
        with ready_w, token_r, token_w, io.FileIO(self.place.path / "launcher.log", "a") as log:
            token_w.sendall(self._token)
            self._init = self.spawn(
                python_argv(module, [str(plan_path), str(_READY_FD), str(_TOKEN_FD)]),
                name="sandbox",
                stderr=log.fileno(),
                pass_fds={_READY_FD: ready_w.fileno(), _TOKEN_FD: token_r.fileno()},
            )
        return ready_r

    def _await_launcher(self, reports: ReportLine, deadline: Deadline) -> None:
        facts = reports.next("launcher", deadline, "the sandbox")
        if "error" in facts:
            message = f"the sandbox could not be built: {facts['error']}"
            fix = str(facts.get("fix") or "")
            if fix:
                raise MissingDependency(f"{message}. Fix: {fix}", detail={"fix": fix})
            raise WorldStartFailed(f"{message}; log tail:\n{self.log_tail()}", detail={"log_tail": self.log_tail()})
        self.facts = dict(facts)
        self.place.update_manifest(**self.facts)

    def _await_desktop(self, reports: ReportLine, deadline: Deadline) -> None:
        stage = ""
        while stage != "ready":
            report = reports.next("session", deadline, f"the desktop (so far: {stage or 'nothing'})")
            stage = str(report.get("stage"))
            if stage == "failed":
                tail = self.log_tail()
                message = f"the desktop did not come up: {report.get('error')}"
                raise WorldStartFailed(f"{message}; log tail:\n{tail}", detail={"log_tail": tail})
            self.stages[stage] = float(report["after_s"])
            if "display" in report:
                self.exec_env["DISPLAY"] = f":{report['display']}"

    def _await_picture(self, session: SessionPlan, deadline: Deadline) -> None:
        """Wait for a screen that shows something."""
        pause = 0.002
        while True:
            if shows_something(self.desktop.frame(deadline=deadline).array, session):
                return
            if deadline.remaining() < 2 * pause:
                raise BootTimedOut(f"the screen stays empty; log tail:\n{self.log_tail()}", detail={})
            self._ended.wait(pause)
            self.check_going_on()
            pause = min(pause * 1.5, 0.05)

    # --- use -----------------------------------------------------------------------------------------------------

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """Name the reason in a ``WorldLost`` out of this block where the kernel knows it: no memory was left."""
        try:
            yield
        except WorldLost as error:
            explained = self.groups.explained(error)
            if explained is None:
                raise
            raise explained from error

    @property
    def channel(self) -> GuestChannel:
        """The way in. Raises: WorldLost when there is none (any more)."""
        if self._channel is None:
            raise WorldLost("the world is not running")
        return self._channel

    @property
    def desktop(self) -> DesktopClient:
        """Eyes and hands. Raises: WorldLost when there are none (any more)."""
        if self._desktop is None:
            raise WorldLost("the world is not running")
        return self._desktop

    def new_channel(self, deadline: Deadline) -> GuestChannel:
        """Return a further connection, whose closing ends the commands started over it."""
        return GuestChannel.connect(self._socket(launcher.GUEST_SOCKET), token=self._token, deadline=deadline)

    @property
    def init_pid(self) -> int:
        """Host process id of the world's init."""
        return int(self.facts["pid"])

    @property
    def usable(self) -> bool:
        """True while the world runs and can be reached."""
        return self.alive and self._channel is not None

    @property
    def alive(self) -> bool:
        """True while the sandbox's processes run."""
        return self._init is not None and self._init.returncode is None

    def log_tail(self) -> str:
        """Return the end of every log of the world, each line with its file's name."""
        files = [self.place.path / "launcher.log", *sorted((self.place.path / "log").glob("*.log"))]
        parts = [(path.stem, logs.tail(path, _LOG_LINES)) for path in files if path.exists()]
        return "\n".join(f"[{name}] {line}" for name, text in parts for line in text.splitlines())

    # --- end -----------------------------------------------------------------------------------------------------

    def abort(self) -> None:
        """End every blocked call. Any thread; returns at once."""
        self._ended.set()
        if self._reports is not None:
            self._reports.wake()
        self._open.abort()

    def check_going_on(self) -> None:
        """Raise Aborted when the world was told to end."""
        if self._ended.is_set():
            raise Aborted("start: ended by abort() or stop()")

    def shut_down(self, grace_s: float, deadline: Deadline) -> None:
        """Let the programs of the world end by themselves, and kill after the grace what has not; returns when done."""
        if self._channel is None or not self.alive:
            return
        self._channel.shutdown(grace_s=grace_s, deadline=deadline)  # asks, and may return before it is done
        aborted = self._ended.is_set
        wait_until(
            lambda: not self.alive, deadline=deadline, awaited="the end of the world's programs", aborted=aborted
        )

    def end_processes(self) -> None:
        """Kill every process of the world; its file system stays. Idempotent."""
        self._open.close()
        self._desktop = self._channel = self.door = None
        with self._lock:
            processes, self._processes = self._processes, []
        for process in reversed(processes):
            process.stop(Deadline.after(_STOP_S))
        self.groups.remove()

    def stop(self) -> None:
        """End the world and remove its folder. Idempotent."""
        with self._lock:
            if self._stopped:
                return
            self._stopped = True
            self._ended.set()
        if self._reports is not None:
            self._reports.wake()
        self._open.end()
        self.end_processes()
        Supervisor.shared().stop_world(self.place.id)
        self.place.remove()
        self.ids.release()

    def _socket(self, name: str) -> Path:
        return self.place.socket_path(name)


def _reserved_ids() -> identity.IdRange:
    try:
        return identity.choose_range()
    except OSError as error:
        raise WorldStartFailed(f"no ids for another world: {error}") from error
