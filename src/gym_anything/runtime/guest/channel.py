"""The one way into a guest: commands, files and the clock, over one authenticated connection to ``ga-guest``."""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from gym_anything._util.clock import GuestClock
from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.errors import GuestFileNotFound, Unreachable
from gym_anything.runtime.guest import commands, files, trees, wire
from gym_anything.runtime.guest.commands import GuestJob, OutputCallback
from gym_anything.runtime.guest.connection import Connection
from gym_anything.runtime.guest.exchange import Exchange
from gym_anything.runtime.guest.exec_result import ExecResult
from gym_anything.runtime.guest.files import GuestFile
from gym_anything.runtime.guest.handshake import Welcome, open_connection

Address = str | Path | tuple[str, int] | socket.socket

DEFAULT_MAX_OUTPUT_BYTES = 8 * 1024 * 1024


def _connected(address: Address, deadline: Deadline) -> socket.socket:
    if isinstance(address, socket.socket):
        return address
    timeout_s = max(0.001, min(deadline.remaining(), 3600.0))
    try:
        if isinstance(address, str | Path):
            return _connected_path(str(address), timeout_s, deadline)
        sock = socket.create_connection(address, timeout_s)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return sock
    except OSError as error:  # DeadlineExceeded is one, too
        raise Unreachable(f"cannot connect to the guest at {address}: {error}") from error


def _connected_path(path: str, timeout_s: float, deadline: Deadline) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(timeout_s)
    try:
        wait_until(lambda: _connect_once(sock, path), deadline=deadline, awaited="a place in the listener's queue")
    except BaseException:  # also Ctrl-C: the socket is ours already
        sock.close()
        raise
    return sock


def _connect_once(sock: socket.socket, path: str) -> bool:
    """Try once; False while the listener's queue is full, which a Unix socket with a time-out does not wait for."""
    try:
        sock.connect(path)
    except BlockingIOError:
        return False
    return True


class GuestChannel:
    """A connection to the ``ga-guest`` of one world. Safe to use from many threads at once.

    Every call blocks at most until its deadline (plus two seconds for the guest's own report of it). A world that dies,
    or a connection that is cut, raises ``WorldLost`` in every blocked and every later call. ``abort`` ends every
    blocked call within a second with ``Aborted``. When the connection ends, however it ends, the guest kills the
    commands started over it by ``exec``; what ``spawn`` started goes on.
    """

    def __init__(self, connection: Connection, welcome: Welcome) -> None:
        """Use ``connect``."""
        self._connection = connection
        self._welcome = welcome

    @classmethod
    def connect(cls, address: Address, *, token: bytes, deadline: Deadline, line: bool = False) -> GuestChannel:
        """Connect once and prove both sides know ``token`` (it never travels).

        Args:
            address: path of a Unix socket, ``(host, port)``, or a connected socket (then owned by the channel).
            line: a serial line is behind it; what an earlier peer of the line did not read any more is skipped.
        Raises: Unreachable, Unauthorized, VersionSkew, DeadlineExceeded. ``readiness.await_guest`` waits for a world
            that is still starting.
        """
        sock = _connected(address, deadline)
        try:
            welcome = open_connection(sock, token, deadline, line=line)
        except BaseException:  # also Ctrl-C: the socket is ours already
            sock.close()
            raise
        return cls(Connection(sock, "socket" if isinstance(address, socket.socket) else str(address)), welcome)

    def exec(
        self,
        argv: Sequence[str | bytes],
        *,
        deadline: Deadline,
        user: str = "root",
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        stdin: bytes = b"",
        max_output_bytes: int = DEFAULT_MAX_OUTPUT_BYTES,
        pty: bool = False,
        on_output: OutputCallback | None = None,
    ) -> ExecResult:
        """Run ``argv`` (exactly, no shell) and return its end.

        The guest kills the whole process tree at the deadline and reports ``timed_out``. ``user`` is a name of the
        guest's ``/etc/passwd``, or ``uid`` or ``uid:gid``. The environment is that of ``ga-guest``, then ``HOME USER
        LOGNAME SHELL`` of the user, then ``env``. Without ``stdin`` the command reads end of file. A child left in the
        background does not hold the call. ``max_output_bytes`` bounds each stream. ``on_output("stdout"|"stderr",
        chunk)`` is called in this thread as output arrives.

        Raises: GuestCommandFailed (could not be started: no such program, user or folder), WorldLost, Aborted.
        """
        job = self.start(
            argv,
            deadline=deadline,
            user=user,
            env=env,
            cwd=cwd,
            stdin=stdin,
            max_output_bytes=max_output_bytes,
            pty=pty,
            on_output=on_output,
        )
        return job.wait()

    def start(
        self,
        argv: Sequence[str | bytes],
        *,
        deadline: Deadline,
        user: str = "root",
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        stdin: bytes = b"",
        max_output_bytes: int = DEFAULT_MAX_OUTPUT_BYTES,
        pty: bool = False,
        interactive: bool = False,
        window: tuple[int, int] = (24, 80),
        on_output: OutputCallback | None = None,
    ) -> GuestJob:
        """Start like ``exec`` and return at once; ``wait`` on the job gives the result, any thread may ``cancel`` it.

        ``interactive``: input comes by ``write`` and ``end_input`` of the job instead of ``stdin``. ``window`` is rows
        and columns of the pseudo-terminal.
        """
        return commands.start_command(
            self._connection,
            argv,
            deadline=deadline,
            user=user,
            env=env,
            cwd=cwd,
            stdin=stdin,
            interactive=interactive,
            max_output_bytes=max_output_bytes,
            pty=pty,
            window=window,
            on_output=on_output,
        )

    def spawn(
        self,
        argv: Sequence[str | bytes],
        *,
        deadline: Deadline,
        user: str = "root",
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        log_path: str | None = None,
    ) -> int:
        """Start ``argv`` detached in its own session and return its pid.

        Its output is appended to ``log_path``, or dropped. Arguments as in ``exec``.
        """
        return commands.spawn_command(
            self._connection, argv, deadline=deadline, user=user, env=env, cwd=cwd, log_path=log_path
        )

    def poll_spawned(self, pid: int, *, deadline: Deadline) -> int | None:
        """Return the exit status of what ``spawn`` started (128 + signal), or None while it runs."""
        return commands.poll_spawned(self._connection, pid, deadline)

    def kill(self, pid: int, signal: int, *, deadline: Deadline, tree: bool = False) -> bool:
        """Send a signal to a guest process (``tree``: to its descendants too); False when there is no such process."""
        return commands.kill_process(self._connection, pid, signal, tree=tree, deadline=deadline)

    def put_file(
        self, source: bytes | Path, guest_path: str, *, deadline: Deadline, mode: int = 0o644, owner: str = "root"
    ) -> None:
        """Write a file atomically (parents are made, owned by ``owner``)."""
        files.put_file(self._connection, source, guest_path, mode=mode, owner=owner, deadline=deadline)

    def get_file(self, guest_path: str, dest: Path | None = None, *, deadline: Deadline) -> bytes:
        """Return a file's content, or write it to ``dest`` (atomically) and return ``b""``.

        Raises: GuestFileNotFound.
        """
        if dest is not None:
            files.get_file(self._connection, guest_path, dest, deadline)
            return b""
        parts: list[bytes] = []
        files.read_file(self._connection, guest_path, parts.append, deadline)
        return b"".join(parts)

    def stat(self, guest_path: str, *, deadline: Deadline, follow: bool = True) -> GuestFile:
        """Describe one file (``follow``: what a symbolic link points to). Raises: GuestFileNotFound."""
        flags = wire.CONSTANTS["STAT_FOLLOW"] if follow else 0
        return files.look_at(self._connection, guest_path, flags, deadline)[0]

    def exists(self, guest_path: str, *, deadline: Deadline) -> bool:
        """Tell whether a file of any kind is there."""
        try:
            self.stat(guest_path, deadline=deadline, follow=False)
        except GuestFileNotFound:
            return False
        return True

    def list_folder(self, guest_path: str, *, deadline: Deadline) -> list[GuestFile]:
        """Describe what lies in a folder, sorted by name; links are described, not followed."""
        return files.look_at(self._connection, guest_path, wire.CONSTANTS["STAT_CHILDREN"], deadline)

    def make_folder(self, guest_path: str, *, deadline: Deadline, mode: int = 0o755, owner: str = "root") -> None:
        """Make a folder and what is missing above it; one that exists stays as it is."""
        files.make_folder(self._connection, guest_path, mode=mode, owner=owner, deadline=deadline)

    def remove(self, guest_path: str, *, deadline: Deadline, tree: bool = False) -> None:
        """Remove a file, a link, an empty folder, or with ``tree`` a folder and all in it.

        Raises: GuestFileNotFound.
        """
        files.remove(self._connection, guest_path, tree=tree, deadline=deadline)

    def put_tree(self, source: Path, guest_path: str, *, deadline: Deadline, owner: str = "root") -> None:
        """Copy the content of a host folder into a guest folder (made when missing), all of it given to ``owner``."""
        trees.put_tree(self._connection, source, guest_path, owner=owner, deadline=deadline)

    def get_tree(self, guest_path: str, dest: Path, *, deadline: Deadline) -> list[str]:
        """Copy the content of a guest folder into ``dest``; extraction uses tar's data filter.

        Returns: names that were left out because they would lead out of ``dest``.
        """
        return trees.get_tree(self._connection, guest_path, dest, deadline)

    def clock(self, *, deadline: Deadline) -> GuestClock:
        """Read the guest's wall clock."""
        sent = time.monotonic()
        answer = self._ping(deadline)
        return GuestClock.from_round_trip(sent, answer["realtime_ns"] / 1e9, time.monotonic())

    def set_clock(self, realtime_s: float, *, deadline: Deadline) -> None:
        """Set the guest's wall clock (a virtual machine after a restore).

        Raises: GuestCommandFailed where the guest may not do that.
        """
        exchange = Exchange(self._connection, "set the guest's clock", deadline)
        exchange.request("SET_CLOCK", realtime_ns=round(realtime_s * 1e9))
        exchange.finish()

    def awaken(
        self, realtime_s: float, machine_id: str, address: bytes, *, interface: str = "eth0", deadline: Deadline
    ) -> Exchange:
        """Make a machine that has just been woken from a saved state one of its own: time, machine id, network address.

        Args: machine_id: 32 hexadecimal digits. address: 6 bytes, or none to leave the interface as it is.
        Returns: the request under way; its ``finish()`` waits, and raises GuestCommandFailed where the guest may not.
        """
        exchange = Exchange(self._connection, "wake the machine", deadline)
        exchange.request(
            "AWAKEN",
            realtime_ns=round(realtime_s * 1e9),
            machine_id=machine_id.encode(),
            interface=interface.encode() if address else b"",
            address=address,
        )
        return exchange

    def _ping(self, deadline: Deadline) -> wire.Message:
        exchange = Exchange(self._connection, "ping the guest", deadline)
        exchange.request("PING")
        return exchange.finish()

    def ping(self, *, deadline: Deadline) -> float:
        """Return the round trip in seconds."""
        sent = time.monotonic()
        self._ping(deadline)
        return time.monotonic() - sent

    def shutdown(self, *, grace_s: float = 2.0, deadline: Deadline) -> None:
        """End the world: TERM to every process, KILL after ``grace_s``, then ``ga-guest init`` exits."""
        exchange = Exchange(self._connection, "end the world", deadline)
        exchange.request("SHUTDOWN", grace_ms=round(grace_s * 1000))
        exchange.finish()

    def abort(self) -> None:
        """End every blocked call within a second with ``Aborted``; the channel is of no use afterwards. Any thread."""
        self._connection.abort()

    def close(self) -> None:
        """Close; idempotent. Commands still running over this channel are killed by the guest."""
        self._connection.close()

    @property
    def guest(self) -> Welcome:
        """What the guest said about itself when the connection opened."""
        return self._welcome

    @property
    def ended(self) -> bool:
        """Tell whether the connection has ended (closed, aborted or lost)."""
        return self._connection.ended

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
