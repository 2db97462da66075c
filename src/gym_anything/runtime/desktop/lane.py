"""The three lanes to a desktop service: frames, input and settle never wait for each other."""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

from gym_anything._util.deadline import Deadline, expired_error
from gym_anything._util.waiting import wait_until
from gym_anything.errors import Aborted, DeadlineExceeded, GymAnythingError, StateError, Unreachable, WorldLost
from gym_anything.runtime.desktop.link import Answer, Link
from gym_anything.runtime.desktop.wire import CONSTANTS

# Answers after which the connection goes on; after any other error it is closed and the next call opens a new one.
_ANSWERED = frozenset(
    {"action-invalid", "action-unsupported", "input-not-delivered", "input-delivery-unknown", "capture-failed"}
)


class Lane:
    """One role's connection, opened when first used and again after a failure; one request at a time."""

    def __init__(self, lanes: Lanes, role: str) -> None:
        self._lanes = lanes
        self._role = role
        self._lock = threading.Lock()
        self._link: Link | None = None
        self.welcome = Answer(0, 0, (), b"")

    def turn(self, deadline: Deadline) -> Turn:
        """Return a context in which this thread has the lane. Entering raises Aborted, StateError, DeadlineExceeded."""
        return Turn(self, deadline)

    def cut(self) -> None:
        """End what is blocked in the lane. Any thread."""
        link = self._link
        if link is not None:
            link.cut()

    def begin(self, deadline: Deadline) -> None:
        """Take the lane, with its link open."""
        if not self._lock.acquire(blocking=False) and not self._lock.acquire(
            timeout=-1 if deadline.remaining_or_none() is None else deadline.remaining()
        ):
            raise expired_error(f"another thread's use of the {self._role.lower()} connection")
        try:
            self._lanes.check()
            self._ready(deadline)
        except BaseException:
            self._lock.release()
            raise

    def end(self, error: BaseException | None) -> None:
        """Give the lane back; a link that failed is dropped."""
        answered = isinstance(error, GymAnythingError) and error.code in _ANSWERED
        if error is not None and not answered and self._link is not None:
            self._link.close()
            self._link = None
        self._lock.release()

    def close(self) -> None:
        """Close the link once nobody uses the lane; ``cut`` comes before."""
        with self._lock:
            if self._link is not None:
                self._link.close()
            self._link = None

    def request(self, name: str, body: bytes, wanted: str, deadline: Deadline) -> Answer:
        """Send one message and return its answer; see ``Link.request``. The caller has the lane."""
        return self._ready(deadline).request(name, body, wanted, deadline)

    def _ready(self, deadline: Deadline) -> Link:
        return self._link or self._open(deadline)

    def _open(self, deadline: Deadline) -> Link:
        link = self._new_link()
        self._link = link
        try:
            self._lanes.check()  # an abort from now on finds the link
            self._open_link(link, deadline)
        except OSError as error:
            self._drop(link)
            if isinstance(error, GymAnythingError):
                raise
            raise self._lanes.unreachable(error) from error
        except BaseException:
            self._drop(link)
            raise
        self.welcome = link.welcome
        return link

    def _new_link(self) -> Link:
        """Return a link that is not connected yet."""
        raise NotImplementedError

    def _open_link(self, link: Link, deadline: Deadline) -> None:
        """Connect it and prove the token. Raises: OSError, and as ``Link.open``."""
        raise NotImplementedError

    def _drop(self, link: Link) -> None:
        link.close()
        self._link = None


class Turn:
    """One thread's use of a lane."""

    __slots__ = ("_lane", "deadline")

    def __init__(self, lane: Lane, deadline: Deadline) -> None:
        self._lane = lane
        self.deadline = deadline

    def request(self, name: str, body: bytes, wanted: str) -> Answer:
        """Send one message and return its answer; see ``Link.request``."""
        return self._lane.request(name, body, wanted, self.deadline)

    def __enter__(self) -> Self:
        self._lane.begin(self.deadline)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lane.end(error)


class Lanes:
    """What the lanes share: whom they reach and how, and whether it is over."""

    def __init__(self, service: str, token: bytes | None) -> None:
        """Args: service: whom they reach, in words."""
        size = CONSTANTS["MIN_TOKEN_SIZE"], CONSTANTS["MAX_TOKEN_SIZE"]
        if token is not None and not size[0] <= len(token) <= size[1]:
            raise ValueError(f"a token has {size[0]} to {size[1]} bytes, got {len(token)}")
        self.service = service
        self.token = token
        self.frames, self.input, self.settle = self.new_lane("FRAMES"), self.new_lane("INPUT"), self.new_lane("FRAMES")
        self._over: type[StateError] | None = None
        self._was_reached = False

    def new_lane(self, role: str) -> Lane:
        """Return a lane in its role."""
        raise NotImplementedError

    def reach(self, deadline: Deadline) -> Self:
        """Open the lanes for input and frames, waiting until the service listens; what fails leaves nothing open."""
        last: list[Unreachable] = []

        def reached() -> bool:
            if last and deadline.expired():
                return False  # too late to learn more than the last try has told
            try:
                self.input.begin(deadline)
                self.input.end(None)
            except Unreachable as error:
                last[:] = [error]
                return False
            return True

        try:
            wait_until(reached, deadline=deadline, awaited=self.service, poll_s=0.02)
            self.frames.begin(deadline)
            self.frames.end(None)
            self._was_reached = True
        except DeadlineExceeded as error:
            self.close()
            if last:
                raise last[0] from error
            raise
        except BaseException:
            self.close()
            raise
        finally:
            last.clear()  # its traceback holds every caller's frame, and with them the pictures they keep
        return self

    def check(self) -> None:
        """Raise when the client was aborted or closed."""
        if self._over is not None:
            raise self._over(
                "the desktop client was aborted" if self._over is Aborted else "the desktop client is closed"
            )

    def unreachable(self, error: OSError) -> GymAnythingError:
        """Return the error of a service that does not answer: one that did before is lost."""
        if self._was_reached:
            return WorldLost(f"{self.service} is gone: {error}")
        return Unreachable(f"{self.service} does not listen: {error}")

    def abort(self) -> None:
        """End every blocked call with Aborted, now and later."""
        self._over = Aborted
        for lane in (self.frames, self.input, self.settle):
            lane.cut()

    def close(self) -> None:
        """End every call and close; idempotent."""
        self._over = self._over or StateError
        for lane in (self.frames, self.input, self.settle):
            lane.cut()
            lane.close()


class UnixLanes(Lanes):
    """The lanes to a service on this host."""

    def __init__(self, path: Path, token: bytes | None) -> None:
        super().__init__(f"the desktop service at {path}", token)
        self.path = path

    def new_lane(self, role: str) -> Lane:
        """See ``Lanes``."""
        return UnixLane(self, role)

    def unreachable(self, error: OSError) -> GymAnythingError:
        """See ``Lanes``."""
        if self._was_reached:
            return super().unreachable(error)
        return Unreachable(f"no desktop service listens at {self.path}: {error}")


class UnixLane(Lane):
    """One role's connection to a service on this host."""

    _lanes: UnixLanes

    def _new_link(self) -> Link:
        return Link(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM), self._role)

    def _open_link(self, link: Link, deadline: Deadline) -> None:
        link.connect(str(self._lanes.path), deadline)
        link.open(self._lanes.token, deadline)
