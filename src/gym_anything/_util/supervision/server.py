"""The supervisor's loop: start what the owner asks for, tell what ended, end what must end. Never blocked."""

from __future__ import annotations

import _socket
import errno
import os
import select
import signal
import sys
import time

from gym_anything._util.supervision import child, wire
from gym_anything._util.supervision.channel import Channel
from gym_anything._util.supervision.entry import SPAWN_VARIABLE, Entry
from gym_anything._util.supervision.escalation import DONE, KILL, POLITE, STUCK, Escalation
from gym_anything._util.supervision.family import Family

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ORPHANED_GRACE_S = 1.0
"""Grace for every program once the owner is gone: nobody reads what a slow farewell would write."""
SWEEP_S = 0.005


class Server:
    """Owns every program; ``run`` returns when the owner is gone, or asked for the end, and nothing is left."""

    def __init__(self, sock: _socket.socket, deaths: list[int], token: bytes, nofile: tuple[int, int]) -> None:
        """Args: deaths: descriptors that become readable when owner or warden die; nofile: for every program."""
        self._poll = select.poll()
        self._channel = Channel(sock, self._poll)
        self._token = token
        self._nofile = nofile
        self._entries: dict[int, Entry] = {}
        self._family = Family()
        self._starting: dict[int, tuple[Entry, int]] = {}
        self._leader_fds: dict[int, Entry] = {}
        self._ending = False
        self._sweeping = False
        self._shutdown_request: int | None = None
        self._next_key = 1
        self._deaths = deaths
        self._wake = _wake_on_child()
        for fd in (self._wake, *deaths):
            self._poll.register(fd, select.POLLIN)

    def run(self) -> bool:
        """Serve until the end; tell whether the owner asked for it."""
        while not self._ending or self._entries or self._sweeping:
            for fd, events in self._poll.poll(self._timeout_ms()):
                self._on_ready(fd, events)
            if not self._channel.open and not self._ending:
                self._begin_end(ORPHANED_GRACE_S)
            self._escalate(time.monotonic())
            if self._sweeping and not self._entries:
                self._sweeping = self._family.kill_strays()
        if self._shutdown_request is not None and self._channel.open:
            self._channel.answer(self._shutdown_request, None)
            return True
        return False

    def _timeout_ms(self) -> float | None:
        if self._sweeping and not self._entries:
            return SWEEP_S * 1000
        looks = [entry.escalation.next_look for entry in self._entries.values() if entry.escalation]
        return max(0.0, (min(looks) - time.monotonic()) * 1000) if looks else None

    # --- what woke us ------------------------------------------------------------------------------------------

    def _on_ready(self, fd: int, events: int) -> None:
        if fd == self._channel.fd:
            self._on_messages(events)
        elif fd == self._wake:
            os.read(self._wake, 4096)
            self._family.reap()
        elif fd in self._leader_fds:
            self._on_leader_exit(fd)
        elif fd in self._starting:
            self._on_start_report(fd)
        elif fd in self._deaths:
            self._poll.unregister(fd)
            self._begin_end(ORPHANED_GRACE_S)

    def _on_messages(self, events: int) -> None:
        for message, own in self._channel.ready(events):
            try:
                self._on_request(message, own)
            except OSError as error:
                self._channel.answer(message[0], None, (error.errno or 0, message[1]))
            except Exception as error:  # noqa: BLE001 - the boundary: one bad request must not end everybody's programs
                sys.excepthook(*sys.exc_info())
                self._channel.answer(message[0], None, (errno.EINVAL, f"{type(error).__name__}: {error}"))
            finally:
                for passed in own:
                    os.close(passed)

    def _on_request(self, message: wire.Message, fds: list[int]) -> None:
        number, operation, *rest = message
        if operation == wire.SPAWN:
            self._spawn(number, rest, fds)
        elif operation == wire.STOP:
            self._on_stop(number, *rest)
        elif operation == wire.STOP_WORLD:
            self._on_stop_world(number, *rest)
        elif operation == wire.SIGNAL:
            self._on_signal(number, *rest)
        elif operation == wire.PIDFD:
            self._on_pidfd(number, *rest)
        elif operation == wire.SHUTDOWN:
            self._shutdown_request = number
            self._begin_end(*rest)

    # --- starting ----------------------------------------------------------------------------------------------

    def _spawn(self, number: int, request: list[Any], fds: list[int]) -> None:
        program, argv, env, cwd, targets, nice, stop_signal, grace_s, world, name = request
        if self._ending:
            raise OSError(errno.ESHUTDOWN, "the supervisor is ending")
        key = self._next_key
        self._next_key += 1
        mark = self._token + b"." + str(key).encode("ascii")
        placed = {1: 0, 2: 0, **dict(zip(targets, fds, strict=True))}  # ours: 0 is the null device, 2 the log
        env[SPAWN_VARIABLE] = mark
        pid, told = child.fork_and_exec(program, argv, env, cwd, placed, self._nofile, nice)
        try:
            pidfd = os.pidfd_open(pid)
        except OSError:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(told)
            raise
        entry = Entry(key, pid, (stop_signal, grace_s), world, name)
        self._entries[key] = self._leader_fds[pidfd] = entry
        self._family.add(entry, mark)
        self._starting[told] = (entry, number)
        self._poll.register(told, select.POLLIN)
        self._poll.register(pidfd, select.POLLIN)

    def _on_start_report(self, told: int) -> None:
        entry, number = self._starting.pop(told)
        self._poll.unregister(told)
        failure = child.failure_of(os.read(told, 100))
        os.close(told)
        entry.starting = False
        if failure is not None:
            self._channel.answer(number, None, failure)
            return
        entry.announced = True
        self._channel.answer(number, (entry.key, entry.pid))
        if entry.returncode is not None:
            self._channel.tell(wire.EXITED, entry.key, entry.returncode)

    # --- ending ------------------------------------------------------------------------------------------------

    def _on_leader_exit(self, pidfd: int) -> None:
        """Note how it ended but leave it unreaped: as long as it is there, no stranger can get its number."""
        entry = self._leader_fds.pop(pidfd)
        self._poll.unregister(pidfd)
        os.close(pidfd)
        result = os.waitid(os.P_PID, entry.pid, os.WEXITED | os.WNOWAIT)
        assert result is not None
        entry.returncode = result.si_status if result.si_code == os.CLD_EXITED else -result.si_status
        if entry.announced:
            self._channel.tell(wire.EXITED, entry.key, entry.returncode)
        self._begin_stop(entry, entry.grace_s)

    def _begin_stop(self, entry: Entry, grace_s: float) -> None:
        now = time.monotonic()
        if entry.escalation is None:
            entry.escalation = Escalation(now, grace_s)
        else:
            entry.escalation.hurry(now, grace_s)

    def _begin_end(self, grace_s: float) -> None:
        self._ending = self._sweeping = True
        for entry in self._entries.values():
            self._begin_stop(entry, min(entry.grace_s, grace_s))

    def _escalate(self, now: float) -> None:
        for entry in list(self._entries.values()):
            escalation = entry.escalation
            if escalation is None or now < escalation.next_look:
                continue
            if entry.starting and now < escalation.kill_at:
                escalation.wait(now)  # it is not yet a session of its own: a signal to its group would be lost
                continue
            step = escalation.look(now, self._family.look(entry))
            if step == POLITE:
                self._family.signal(entry, entry.stop_signal)
                self._family.signal(entry, signal.SIGCONT)
            elif step in (KILL, STUCK):
                self._family.signal(entry, signal.SIGKILL)
            if step == DONE and not entry.starting:
                self._finish(entry)
            elif step == STUCK:
                self._answer_stuck(entry)

    def _finish(self, entry: Entry) -> None:
        self._family.reap()
        os.waitpid(entry.pid, 0)  # it has ended: this does not block
        del self._entries[entry.key]
        self._family.remove(entry)
        self._sweeping = True
        for number in entry.waiting:
            self._channel.answer(number, entry.returncode)

    def _answer_stuck(self, entry: Entry) -> None:
        pids = [*([] if entry.returncode is not None else [entry.pid]), *entry.members]
        for number in entry.waiting:
            self._channel.answer(number, pids, (0, wire.STUCK))
        entry.waiting = []

    # --- requests about one program ----------------------------------------------------------------------------

    def _on_stop(self, number: int, key: int, grace_s: float | None) -> None:
        entry = self._entries.get(key)
        if entry is None:
            self._channel.answer(number, None)
            return
        entry.waiting.append(number)
        self._begin_stop(entry, entry.grace_s if grace_s is None else grace_s)

    def _on_stop_world(self, number: int, world: str, grace_s: float | None) -> None:
        """Begin to stop all of a world and say which; the owner then waits for each."""
        entries = [entry for entry in self._entries.values() if entry.world == world]
        for entry in entries:
            self._begin_stop(entry, entry.grace_s if grace_s is None else grace_s)
        self._channel.answer(number, [(entry.key, entry.name, entry.stop_signal, entry.grace_s) for entry in entries])

    def _on_signal(self, number: int, key: int, signal_number: int) -> None:
        entry = self._entries.get(key)
        if entry is not None:
            os.kill(entry.pid, signal_number)  # unreaped, so certainly this one
        self._channel.answer(number, None)

    def _on_pidfd(self, number: int, key: int) -> None:
        entry = self._entries.get(key)
        if entry is None:
            raise ProcessLookupError(errno.ESRCH, "it has ended and is gone")
        self._channel.answer(number, None, fds=[os.pidfd_open(entry.pid)])


def _wake_on_child() -> int:
    """Return a descriptor that becomes readable when a child or adopted process has ended."""
    readable, writable = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
    return readable
