"""The supervisor: every process we start is started, watched and ended by one small process beside us.

Why beside us: a program tied to the thread that started it dies with that thread, and a program tied to nothing
outlives a ``kill -9`` of its owner. The supervisor has one thread that lives as long as it does, adopts whatever
escapes from a program's process group, and ends everything when its owner dies, however it dies. Its inside is in
``supervision/``.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import threading
from collections.abc import Mapping, Sequence
from typing import ClassVar

from gym_anything._util import logs
from gym_anything._util.deadline import Deadline
from gym_anything._util.state_dir import Run
from gym_anything._util.supervised_process import StopPlan as StopPlan
from gym_anything._util.supervised_process import SupervisedProcess as SupervisedProcess
from gym_anything._util.supervision import wire
from gym_anything._util.supervision.link import Call, Link
from gym_anything._util.supervision.start import LOG, spawn_request, start_error, start_warden
from gym_anything.errors import DeadlineExceeded, ProcessStuck, StateError, SupervisorLost

CLOSE_GRACE_S = 2.0
_BEYOND_GRACE_S = 8.0  # SIGKILL, reaping and the verdict "stuck" (5 s) fit into this
_SPAWN_S = 60.0  # a start takes milliseconds; this bounds a machine that thrashes


class Supervisor:
    """The one supervisor process of this process. Use ``Supervisor.shared()``.

    Any number of threads may use it at once; one program's slow end never delays another's start.
    """

    _shared: ClassVar[Supervisor | None] = None
    _guard: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self) -> None:
        """Start a supervisor process. A test may make its own and ``close`` it."""
        self._run = Run.current()
        self._log = self._run.path / LOG
        self._pid = os.getpid()
        self._processes: dict[int, SupervisedProcess] = {}
        sock, self._warden = start_warden(self._run.label, self._run.path)
        self._link = Link(sock, on_event=self._on_event, on_answer=self._on_answer)

    @classmethod
    def shared(cls) -> Supervisor:
        """Return this process's supervisor: started on first use, anew in a forked child and after it was lost."""
        with cls._guard:
            if cls._shared is None or cls._shared._link.lost:
                cls._shared = cls()
            return cls._shared

    def spawn(
        self,
        argv: Sequence[str | os.PathLike[str]],
        *,
        name: str,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        stdin: int | None = None,
        stdout: int | None = None,
        stderr: int | None = None,
        pass_fds: Mapping[int, int] | None = None,
        stop: StopPlan | None = None,
        nice: int = 0,
    ) -> SupervisedProcess:
        """Start a program as the leader of a session of its own; returns when it has been executed.

        Args:
            argv: program and arguments; a name without a slash is looked up in the ``PATH`` of ``env``.
            name: what to call it in messages.
            env: its whole environment (default: ours). A world's programs get ``world.env`` merged in by the caller,
                so that ``stop_world`` finds them; without that the run's own label is added.
            cwd: its working directory (default: ours).
            stdin, stdout, stderr: descriptors; ``None`` is the null device. The caller closes its own copies.
            pass_fds: child's descriptor -> ours. All others are closed in the child.
            stop: how to end it (default: SIGTERM, 2 s).
            nice: how far it steps back behind others for a processor, 0 (as we do) to 19.
        Raises: ProcessStartFailed (no such program, no permission, bad ``cwd``, no more processes); SupervisorLost.
        """
        plan = stop or StopPlan()
        fds = {number: fd for number, fd in enumerate((stdin, stdout, stderr)) if fd is not None}
        fds |= pass_fds or {}
        request, own_fds = spawn_request(argv, name, env, cwd, fds, plan, self._run.label, nice)
        call = self._call(request, Deadline.after(_SPAWN_S), own_fds)
        if call.error is not None:
            raise start_error(call.error, os.fsdecode(request[1]), name)
        process = call.value
        assert isinstance(process, SupervisedProcess)
        return process

    def stop_world(self, world: str, deadline: Deadline | None = None) -> None:
        """End everything started with this world's label, also what an interrupted caller never got hold of.

        Raises: as ``SupervisedProcess.stop``.
        """
        try:
            call = self._call((wire.STOP_WORLD, world, _grace_s(deadline)), Deadline.after(_BEYOND_GRACE_S))
        except SupervisorLost:
            self._join_warden(deadline)
            return
        for key, name, signal_number, grace_s in call.value:
            self.stop_tree(key, name, StopPlan(signal_number, grace_s), deadline)

    @property
    def running(self) -> list[SupervisedProcess]:
        """The programs that have not ended."""
        return list(self._processes.values())

    @property
    def warden_pid(self) -> int:
        """Process id of our direct child; the supervisor proper is its child."""
        return self._warden.pid

    def close(self, deadline: Deadline | None = None) -> None:
        """End every program and then the supervisor; idempotent. Done at exit by itself.

        Raises: ProcessStuck when it does not end.
        """
        deadline = deadline or Deadline.after(CLOSE_GRACE_S + _BEYOND_GRACE_S)
        self.check_process()
        try:
            self._call((wire.SHUTDOWN, _grace_s(deadline.tightened(CLOSE_GRACE_S))), deadline)
        except (SupervisorLost, DeadlineExceeded):
            pass  # hanging up has the same effect
        self._link.close(deadline)
        self._join_warden(deadline)

    # --- what a program's handle asks ----------------------------------------------------------------------------

    def send_signal(self, key: int, signal_number: int) -> None:
        """See ``SupervisedProcess.signal``."""
        self._call((wire.SIGNAL, key, int(signal_number)), Deadline.after(_BEYOND_GRACE_S))

    def stop_tree(self, key: int, name: str, plan: StopPlan, deadline: Deadline | None) -> None:
        """See ``SupervisedProcess.stop``."""
        grace_s = _grace_s(deadline)
        longest = Deadline.after((plan.grace_s if grace_s is None else min(plan.grace_s, grace_s)) + _BEYOND_GRACE_S)
        if deadline is not None:  # even a deadline that has passed leaves the second that a SIGKILL needs
            longest = longest.tightened(max(deadline.remaining(), 1.0))
        try:
            call = self._call((wire.STOP, key, grace_s), longest)
        except SupervisorLost:
            self._join_warden(deadline)
            return
        if call.error is not None:
            raise ProcessStuck(
                f"{name} does not end even by SIGKILL (it hangs in the kernel or changed its user): {call.value}",
                detail={"name": name, "pids": call.value},
            )

    def open_pidfd(self, key: int, name: str) -> int:
        """See ``SupervisedProcess.pidfd``."""
        call = self._call((wire.PIDFD, key), Deadline.after(_BEYOND_GRACE_S))
        if not call.fds:
            raise ProcessLookupError(3, f"{name} has ended")
        return call.fds[0]

    def lost_error(self, name: str) -> SupervisorLost:
        """Build the error that says what died, with the end of the supervisor's log."""
        tail = logs.tail(self._log, 20)
        message = f"the supervisor process has died, and {name} with it" + (f"; its log:\n{tail}" if tail else "")
        return SupervisorLost(message, detail={"name": name, "log_tail": tail})

    def check_process(self) -> None:
        """Raise StateError in a forked child: this supervisor is the parent's."""
        if os.getpid() != self._pid:
            raise StateError("this supervisor belongs to the parent process; use Supervisor.shared() in the child")

    def _call(self, request: wire.Message, deadline: Deadline, fds: list[int] | None = None) -> Call:
        self.check_process()
        call = self._link.call(request, fds)
        try:
            call.wait(deadline)
        except BaseException:  # an interrupted caller must not leave a program that nobody knows
            self._link.abandon(call)
            raise
        return call

    # --- in the link's thread ------------------------------------------------------------------------------------

    def _on_answer(self, call: Call) -> None:
        if call.request[0] == wire.SPAWN and call.error is None:
            if not isinstance(call.value, SupervisedProcess):
                key, pid = call.value
                *_, stop_signal, grace_s, _, name = call.request
                call.value = SupervisedProcess(self, key, pid, name, StopPlan(stop_signal, grace_s))
                self._processes[key] = call.value
            if call.abandoned:
                self._link.call((wire.STOP, call.value._key, None))
        elif call.abandoned:
            for fd in call.fds:
                os.close(fd)

    def _on_event(self, event: wire.Message) -> None:
        if event and event[0] == wire.EXITED:
            self._processes.pop(event[1])._note_end(event[2])
        elif not event:
            for process in list(self._processes.values()):
                process._note_end(None)
            self._processes.clear()

    def _join_warden(self, deadline: Deadline | None) -> None:
        """Wait until supervisor and warden have ended, and with them all that they had started."""
        longest = Deadline.after(_BEYOND_GRACE_S) if deadline is None else deadline
        try:
            self._warden.wait(max(longest.remaining(), 1.0))
        except subprocess.TimeoutExpired:
            raise ProcessStuck(
                f"the supervisor (process {self._warden.pid}) does not end", detail={"pids": [self._warden.pid]}
            ) from None

    # --- the process's own end and fork --------------------------------------------------------------------------

    @classmethod
    def _close_at_exit(cls) -> None:
        supervisor = cls._shared
        if supervisor is not None and supervisor._pid == os.getpid():
            try:
                supervisor.close()
            except ProcessStuck as error:  # at exit nobody can catch it
                os.write(2, f"gym-anything: {error}\n".encode(errors="replace"))

    @classmethod
    def _after_fork_in_child(cls) -> None:
        cls._guard = threading.Lock()
        supervisor, cls._shared = cls._shared, None
        if supervisor is not None:
            supervisor._link.forget()
            supervisor._warden.returncode = 0  # it is the parent's child, not ours to wait for


def _grace_s(deadline: Deadline | None) -> float | None:
    """Leave a part of a caller's time for SIGKILL and reaping."""
    remaining = None if deadline is None else deadline.remaining_or_none()
    return None if remaining is None else remaining * 0.6


atexit.register(Supervisor._close_at_exit)
os.register_at_fork(after_in_child=Supervisor._after_fork_in_child)
