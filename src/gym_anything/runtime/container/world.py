"""A running container as its runner sees it: its shared folder, the ways in, the processes beside it, its end."""

from __future__ import annotations

import os
import secrets
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from gym_anything._util.deadline import Deadline
from gym_anything._util.state_dir import WorldDir
from gym_anything._util.supervised_process import StopPlan, SupervisedProcess
from gym_anything._util.supervisor import Supervisor
from gym_anything._util.waiting import wait_until
from gym_anything.errors import (
    Aborted,
    BootTimedOut,
    DeadlineExceeded,
    GymAnythingError,
    WorldLost,
    WorldStartFailed,
)
from gym_anything.runtime.container.inside import GUEST_SOCKET, GUEST_TOKEN, IO
from gym_anything.runtime.container.session import DESKTOP_SOCKET, DESKTOP_TOKEN, Session
from gym_anything.runtime.container.shared_folder import SharedFolder
from gym_anything.runtime.desktop.client import DesktopClient
from gym_anything.runtime.guest.channel import GuestChannel
from gym_anything.runtime.guest.readiness import await_guest
from gym_anything.runtime.open_parts import OpenParts
from gym_anything.runtime.runners.guest_world import DESKTOP_PEOPLE
from gym_anything.runtime.session.plan import SessionPlan
from gym_anything.runtime.session.ready import shows_something
from gym_anything.runtime.vnc.door import VncDoor

_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


class ContainerWorld(ABC):
    """A container from its start to its end. Start and ``stop`` belong together in one ``try``.

    Attributes:
        place: its folder in the state directory. folder: what it shares with this process.
        host_uid: our own user's number in there, who is made the owner of its sockets; None for root, who needs not.
        name: what the program that runs containers knows it by.
        people, exec_env: see ``GuestWorld``. door: VNC for people.
        stages: seconds from the launch to each stage of its desktop.
    """

    def __init__(self, place: WorldDir) -> None:
        self.place = place
        self.name = f"gym-anything-{place.id}"
        self.host_uid: int | None = None
        self.people = DESKTOP_PEOPLE
        self.exec_env: dict[str, str] = {}
        self.door: VncDoor | None = None
        self.stages: dict[str, float] = {}
        self.folder: SharedFolder | None = None
        self._ended = threading.Event()
        self._channel: GuestChannel | None = None
        self._desktop: DesktopClient | None = None
        self._open = OpenParts()
        self._guest_path = ""
        self._token = secrets.token_hex(32).encode()
        self._lock = threading.Lock()
        self._stopped = False

    # --- what each kind of container says for itself -------------------------------------------------------------

    @abstractmethod
    def _death(self) -> str | None:
        """Say why the container does not run, or None; cheap, since it is asked often."""

    @abstractmethod
    def log_tail(self) -> str:
        """Return the end of what the world's init said."""

    @abstractmethod
    def memory_mib(self) -> float | None:
        """Return how much memory the world takes now; None when it does not run, or nobody may know."""

    @abstractmethod
    def shut_down(self, grace_s: float, deadline: Deadline) -> None:
        """Let the programs of the world end by themselves, and kill after the grace what has not; returns when done."""

    @abstractmethod
    def stop(self, grace_s: float | None = None) -> None:
        """Remove the container and the folder. Idempotent.

        Args: grace_s: how long programs may take to end by themselves (``security.stop_timeout``); None kills at once.
        """

    def _own_guest_socket(self, deadline: Deadline) -> None:
        """Have the world's init let us in, where its root is somebody else on this host."""

    # --- start ---------------------------------------------------------------------------------------------------

    def make_folder(self) -> SharedFolder:
        """Make the folder that the container will share with us."""
        with self._lock:
            self.check_going_on()
            folder = self.folder = SharedFolder(self.place.path / "io")
        return folder

    def _open_folder(self) -> None:
        """Make the shared folder ready for a start: nothing of an earlier one in it, and the token."""
        assert self.folder is not None
        self.folder.forget_sockets()
        self.folder.put_secret(GUEST_TOKEN, self._token)

    def _await_init(self, deadline: Deadline) -> None:
        """Wait until the world's init answers. Raises: WorldStartFailed, BootTimedOut, Aborted."""
        assert self.folder is not None
        try:
            self._guest_path = self.folder.await_socket(
                GUEST_SOCKET, deadline=deadline, awaited="the world's init", check=self._check_starting
            )
            self._own_guest_socket(deadline)
            # The socket is there a moment before anybody listens at it.
            channel = await_guest(
                self._guest_path,
                token=self._token,
                deadline=deadline,
                died=self._death,
                log_tail=self.log_tail,
                aborted=self._ended.is_set,
            )
            self._channel = self._open.keep(channel)
        except DeadlineExceeded as error:
            raise BootTimedOut(f"{error}; log tail:\n{self.log_tail()}", detail=error.detail) from error
        self.folder.forget(GUEST_TOKEN)

    def attach_desktop(self, session: Session, plan: SessionPlan, deadline: Deadline) -> None:
        """Start the desktop service, connect to it, and wait for a screen that shows something."""
        assert self.folder is not None
        token = secrets.token_hex(32).encode()
        path = session.start_service(token)
        self.own(f"{IO}/{DESKTOP_SOCKET}", deadline)
        desktop = self._desktop = self._open.keep(DesktopClient.connect(path, deadline=deadline, token=token))
        self.folder.forget(DESKTOP_TOKEN)
        pause = 0.002
        while not shows_something(desktop.frame(deadline=deadline).array, plan):
            if deadline.remaining() < 2 * pause:
                raise BootTimedOut(f"the screen stays empty; log tail:\n{session.log_tail()}", detail={})
            self._ended.wait(pause)
            self.check_going_on()
            pause = min(pause * 1.5, 0.05)

    def own(self, path: str, deadline: Deadline) -> None:
        """Have a socket that a user of the world has made let us in. Raises: WorldStartFailed."""
        if self.host_uid is None:
            return
        done = self.channel.exec(["chown", "-h", str(self.host_uid), path], deadline=deadline)
        if not done.ok:
            said = done.stderr[-500:].decode(errors="replace")
            raise WorldStartFailed(f"{path} cannot be made ours: {said}", detail={"log_tail": said})

    def spawn(
        self,
        argv: Sequence[str],
        *,
        name: str,
        stderr: int,
        pass_fds: Mapping[int, int] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> SupervisedProcess:
        """Start a process on the host that belongs to this world; it ends with it. ``env`` comes on top."""
        with self._lock:
            self.check_going_on()
            return Supervisor.shared().spawn(
                argv,
                name=f"{name} of world {self.place.id}",
                env={"PATH": _PATH, **(env or {}), **self.place.env},
                stderr=stderr,
                pass_fds=pass_fds,
                stop=StopPlan(signal=9, grace_s=0.0),
            )

    @contextmanager
    def coming_up(self) -> Iterator[None]:
        """Say of an error of the host in this block what it means: Aborted when our folder went, WorldStartFailed."""
        try:
            yield
        except OSError as error:
            self.check_going_on()  # its folder may have gone under our feet
            if isinstance(error, GymAnythingError):
                raise
            raise WorldStartFailed(f"the world could not be started: {error}") from error

    def _check_starting(self) -> None:
        """Raise when there is no use in waiting for the world's init: Aborted, WorldStartFailed."""
        self.check_going_on()
        reason = self._death()
        if reason is not None:
            tail = self.log_tail()
            raise WorldStartFailed(f"{reason}; log tail:\n{tail}", detail={"log_tail": tail})

    # --- use -----------------------------------------------------------------------------------------------------

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
        return GuestChannel.connect(self._guest_path, token=self._token, deadline=deadline)

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """Name the reason in a ``WorldLost`` out of this block where it is known; here it never is."""
        yield

    # --- end -----------------------------------------------------------------------------------------------------

    def abort(self) -> None:
        """End every blocked call. Any thread; returns at once."""
        self._ended.set()
        self._open.abort()

    def told_to_end(self) -> bool:
        """Tell whether ``abort`` or ``stop`` was called."""
        return self._ended.is_set()

    def check_going_on(self) -> None:
        """Raise Aborted when the world was told to end."""
        if self._ended.is_set():
            raise Aborted("start: ended by abort() or stop()")

    def _shut_down(self, runs: Callable[[], bool], grace_s: float, deadline: Deadline) -> None:
        """Let the programs of the world end by themselves, and kill after the grace what has not; returns when done.

        Args: runs: whether the container still does.
        """
        self.channel.shutdown(grace_s=grace_s, deadline=deadline)  # asks, and may return before it is done
        wait_until(
            lambda: not runs(),
            deadline=deadline,
            awaited="the end of the world's programs",
            aborted=self._ended.is_set,
        )
        self._hang_up()

    def _hang_up(self) -> None:
        """Close every connection."""
        self._desktop = self._channel = None
        self._open.close()

    def _begin_stop(self) -> bool:
        """Close every connection and let none come any more; False when that was done before."""
        with self._lock:
            if self._stopped:
                return False
            self._stopped = True
            self._ended.set()
        self._open.end()
        self._hang_up()
        return True

    def _end_stop(self) -> None:
        """End the processes beside the container and remove its folder."""
        Supervisor.shared().stop_world(self.place.id)
        if self.folder is not None:
            self.folder.close()
        self.place.remove()


def open_log(path: str) -> int:
    """Open a log file of the world's folder for a process on the host."""
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
