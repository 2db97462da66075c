"""A program that the supervisor started, as its owner sees it."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from signal import SIGTERM
from typing import Protocol

from gym_anything._util.deadline import Deadline, expired_error
from gym_anything.errors import SupervisorLost


@dataclass(frozen=True, slots=True)
class StopPlan:
    """How a program wants to be ended.

    Attributes:
        signal: sent first, to its whole tree.
        grace_s: after this SIGKILL follows, to all that is left of the tree.
    """

    signal: int = SIGTERM
    grace_s: float = 2.0


class Keeper(Protocol):
    """What a program's handle asks of its supervisor."""

    def send_signal(self, key: int, signal_number: int) -> None:
        """Signal the program itself."""
        ...

    def stop_tree(self, key: int, name: str, plan: StopPlan, deadline: Deadline | None) -> None:
        """End the program and everything it started."""
        ...

    def open_pidfd(self, key: int, name: str) -> int:
        """Return a new process descriptor."""
        ...

    def lost_error(self, name: str) -> SupervisorLost:
        """Build the error for a program whose supervisor has died."""
        ...

    def check_process(self) -> None:
        """Raise StateError in a forked child."""
        ...


class SupervisedProcess:
    """A program started by the supervisor, with everything that it starts in turn (its *tree*).

    When the program itself ends, the rest of its tree is ended too, by its stop plan: a program that puts itself into
    the background is not for here. All methods may be called from any thread, at any time, any number of times.

    Attributes:
        pid: its process id; leader of its own session and process group.
        name: what the caller calls it, for messages.
    """

    def __init__(self, keeper: Keeper, key: int, pid: int, name: str, plan: StopPlan) -> None:
        self.pid = pid
        self.name = name
        self._keeper = keeper
        self._key = key
        self._plan = plan
        self._ended = threading.Event()
        self._returncode: int | None = None
        self._tree_gone = False

    @property
    def returncode(self) -> int | None:
        """The exit code, minus the signal's number if one ended it, or ``None`` while it runs."""
        return self._returncode

    def poll(self) -> int | None:
        """Return ``returncode``.

        Raises: SupervisorLost when the supervisor died, and the program with it.
        """
        self._keeper.check_process()
        if self._returncode is None and self._ended.is_set():
            raise self._keeper.lost_error(self.name)
        return self._returncode

    def wait(self, deadline: Deadline) -> int:
        """Wait for the program itself to end and return its exit code.

        What it left behind may take some milliseconds more; ``stop`` waits for that too.

        Raises: DeadlineExceeded; SupervisorLost.
        """
        self._keeper.check_process()
        if not self._ended.wait(deadline.remaining_or_none()):
            raise expired_error(f"the end of {self.name}", last_status=f"process {self.pid} is running")
        code = self.poll()
        assert code is not None
        return code

    def signal(self, signal_number: int) -> None:
        """Send a signal to the program itself, not to its children; one that has ended is fine."""
        if self.poll() is None:
            self._keeper.send_signal(self._key, signal_number)

    def stop(self, deadline: Deadline | None = None) -> int | None:
        """End the program and its whole tree: stop signal, grace, SIGKILL; also what left its group or session.

        Returns when nothing of the tree is left and it is reaped, with the program's exit code. Blocks at most the
        grace and some seconds; a deadline shortens the grace, down to SIGKILL at once. When the supervisor was lost it
        waits until everything has died with it, and returns ``None`` if the exit code was lost too.

        Raises: ProcessStuck when something hangs in the kernel; DeadlineExceeded.
        """
        if not self._tree_gone:
            self._keeper.stop_tree(self._key, self.name, self._plan, deadline)
            self._tree_gone = True
        return self._returncode

    def pidfd(self) -> int:
        """Return a new process descriptor (readable when the program has ended); the caller closes it.

        Raises: ProcessLookupError when the program has ended and is gone; SupervisorLost.
        """
        self.poll()
        return self._keeper.open_pidfd(self._key, self.name)

    def _note_end(self, returncode: int | None) -> None:
        """Called by the supervisor's link: the exit code, or ``None`` when the supervisor was lost."""
        self._returncode = returncode
        self._ended.set()

    def __repr__(self) -> str:
        state = "running" if self._returncode is None else f"exit {self._returncode}"
        return f"<SupervisedProcess {self.name!r} pid {self.pid} {state}>"
