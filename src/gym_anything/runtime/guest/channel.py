"""The one way into a guest: commands, files and the clock, over one authenticated connection to ``ga-guest``."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

from gym_anything._util.clock import GuestClock
from gym_anything._util.deadline import Deadline
from gym_anything.runtime.guest.exec_result import ExecResult

Address = str | Path | tuple[str, int] | socket.socket
OutputCallback = Callable[[str, bytes], None]

DEFAULT_MAX_OUTPUT_BYTES = 8 * 1024 * 1024


class GuestChannel:
    """A connection to the ``ga-guest`` of one world. Safe to use from many threads at once.

    Every call blocks at most until its deadline (plus two seconds for the guest's own report of it). A world that dies,
    or a connection that is cut, raises ``WorldLost`` in every blocked and every later call. ``abort`` ends every
    blocked call within a second with ``Aborted``. When the connection ends, however it ends, the guest kills the
    commands started over it by ``exec``; what ``spawn`` started goes on.
    """

    @classmethod
    def connect(cls, address: Address, *, token: bytes, deadline: Deadline) -> GuestChannel:
        """Connect once and prove both sides know ``token`` (it never travels).

        Args:
            address: path of a Unix socket, ``(host, port)``, or a connected socket (then owned by the channel).
        Raises: Unreachable, Unauthorized, VersionSkew, DeadlineExceeded. ``readiness.await_guest`` waits for a world that
            is still starting.
        """
        raise NotImplementedError

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

        The guest kills the whole process tree at the deadline and reports ``timed_out``. ``user`` is a name of the guest's
        ``/etc/passwd``, or ``uid`` or ``uid:gid``. The environment is that of ``ga-guest``, then ``HOME USER LOGNAME
        SHELL`` of the user, then ``env``. Without ``stdin`` the command reads end of file. A child left in the
        background does not hold the call. ``max_output_bytes`` bounds each stream. ``on_output("stdout"|"stderr",
        chunk)`` is called in this thread as output arrives.

        Raises: GuestCommandFailed (could not be started: no such program, user or folder), WorldLost, Aborted.
        """
        raise NotImplementedError

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
        """Start ``argv`` detached in its own session and return its pid; output is appended to ``log_path`` or dropped."""
        raise NotImplementedError

    def poll_spawned(self, pid: int, *, deadline: Deadline) -> int | None:
        """Return the exit status of what ``spawn`` started (128 + signal), or None while it runs."""
        raise NotImplementedError

    def kill(self, pid: int, signal: int, *, deadline: Deadline, tree: bool = False) -> bool:
        """Send a signal to a guest process (``tree``: to its descendants too); False when there is no such process."""
        raise NotImplementedError

    def put_file(
        self, source: bytes | Path, guest_path: str, *, deadline: Deadline, mode: int = 0o644, owner: str = "root"
    ) -> None:
        """Write a file atomically (parents are made, owned by ``owner``)."""
        raise NotImplementedError

    def get_file(self, guest_path: str, dest: Path | None = None, *, deadline: Deadline) -> bytes:
        """Return a file's content, or write it to ``dest`` (atomically) and return ``b""``.

        Raises: GuestFileNotFound.
        """
        raise NotImplementedError

    def put_tree(self, source: Path, guest_path: str, *, deadline: Deadline, owner: str | None = None) -> None:
        """Copy the content of a host folder into a guest folder (made when missing)."""
        raise NotImplementedError

    def get_tree(self, guest_path: str, dest: Path, *, deadline: Deadline) -> None:
        """Copy the content of a guest folder into ``dest``; extraction uses tar's data filter."""
        raise NotImplementedError

    def clock(self, *, deadline: Deadline) -> GuestClock:
        """Read the guest's wall clock."""
        raise NotImplementedError

    def ping(self, *, deadline: Deadline) -> float:
        """Return the round trip in seconds."""
        raise NotImplementedError

    def shutdown(self, *, grace_s: float = 2.0, deadline: Deadline) -> None:
        """End the world: TERM to every process, KILL after ``grace_s``, then ``ga-guest init`` exits."""
        raise NotImplementedError

    def abort(self) -> None:
        """End every blocked call within a second with ``Aborted``; the channel is of no use afterwards. Any thread."""
        raise NotImplementedError

    def close(self) -> None:
        """Close; idempotent. Commands still running over this channel are killed by the guest."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
