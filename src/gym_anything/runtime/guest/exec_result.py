"""What a command in a guest came to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ExecResult:
    """The end of one guest command, as the guest itself reported it.

    A result exists only when the guest said so: a world that died raises ``WorldLost`` instead, so a lost world is
    never taken for output.

    Attributes:
        exit_code: the exit status; 128 + signal when a signal ended it.
        stdout: what it wrote to standard output (all of a pseudo-terminal's output when ``pty`` was asked).
        stderr: what it wrote to standard error; empty with ``pty``.
        truncated: more than ``max_output_bytes`` was written; head and tail are kept, a line between them says how
            many bytes were left out.
        timed_out: the deadline passed and the guest killed the whole process tree.
        signal: the number of the signal that ended it, or None.
        cancelled: it was cancelled by the caller.
        kill_incomplete: something of its tree survived the kill (it hangs in the kernel).
        duration_s: seconds from start to end on the guest's monotonic clock.
    """

    exit_code: int
    stdout: bytes
    stderr: bytes
    truncated: bool = False
    timed_out: bool = False
    signal: int | None = None
    cancelled: bool = False
    kill_incomplete: bool = False
    duration_s: float = 0.0

    @property
    def ok(self) -> bool:
        """True when it ended by itself with status 0."""
        return self.exit_code == 0 and not self.timed_out and not self.cancelled
