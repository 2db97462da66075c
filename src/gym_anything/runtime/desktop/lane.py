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
_ANSWERED = frozenset({"action-invalid", "action-unsupported", "input-delivery-unknown", "capture-failed"})


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

    def begin(self, deadline: Deadline) -> Link:
        """Take the lane and return its open link."""
        if not self._lock.acquire(blocking=False) and not self._lock.acquire(
            timeout=-1 if deadline.remaining_or_none() is None else deadline.remaining()
        ):
            raise expired_error(f"another thread's use of the {self._role.lower()} connection")
        try:
            self._lanes.check()
            return self._link or self._open(deadline)
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

    def _open(self, deadline: Deadline) -> Link:
        connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        link = Link(connected, self._role)
        self._link = link
        try:
            self._lanes.check()  # an abort from now on finds the link
            connected.settimeout(deadline.remaining_or_none())
            connected.connect(str(self._lanes.path))
            link.open(self._lanes.token, deadline)
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

    def _drop(self, link: Link) -> None:
        link.close()
        self._link = None


class Turn:
    """One thread's use of a lane."""

    __slots__ = ("_deadline", "_lane", "_link")

    def __init__(self, lane: Lane, deadline: Deadline) -> None:
        self._lane = lane
        self._deadline = deadline

    def request(self, name: str, body: bytes, wanted: str) -> Answer:
        """Send one message and return its answer; see ``Link.request``."""
        return self._link.request(name, body, wanted, self._deadline)

    def __enter__(self) -> Self:
        self._link = self._lane.begin(self._deadline)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lane.end(error)


class Lanes:
    """What the lanes share: where the service is, the token, and whether it is over."""

    def __init__(self, path: Path, token: bytes | None) -> None:
        size = CONSTANTS["MIN_TOKEN_SIZE"], CONSTANTS["MAX_TOKEN_SIZE"]
        if token is not None and not size[0] <= len(token) <= size[1]:
            raise ValueError(f"a token has {size[0]} to {size[1]} bytes, got {len(token)}")
        self.path = path
        self.token = token
        self.frames, self.input, self.settle = Lane(self, "FRAMES"), Lane(self, "INPUT"), Lane(self, "FRAMES")
        self._over: type[StateError] | None = None
        self._was_reached = False

    @classmethod
    def open(cls, path: Path, token: bytes | None, deadline: Deadline) -> Lanes:
        """Open the lanes for frames and input, waiting until the service listens."""
        lanes = cls(path, token)
        last: list[Unreachable] = []

        def reached() -> bool:
            try:
                lanes.input.begin(deadline)
                lanes.input.end(None)
            except Unreachable as error:
                last[:] = [error]
                return False
            return True

        try:
            wait_until(reached, deadline=deadline, awaited=f"the desktop service at {path}", poll_s=0.02)
            lanes.frames.begin(deadline)
            lanes.frames.end(None)
            lanes._was_reached = True
        except DeadlineExceeded as error:
            lanes.close()
            if last:
                raise last[0] from error
            raise
        except BaseException:
            lanes.close()
            raise
        finally:
            last.clear()  # its traceback holds every caller's frame, and with them the pictures they keep
        return lanes

    def check(self) -> None:
        """Raise when the client was aborted or closed."""
        if self._over is not None:
            raise self._over(
                "the desktop client was aborted" if self._over is Aborted else "the desktop client is closed"
            )

    def unreachable(self, error: OSError) -> GymAnythingError:
        """Return the error of a service that does not answer: one that did before is lost."""
        if self._was_reached:
            return WorldLost(f"the desktop service at {self.path} is gone: {error}")
        return Unreachable(f"no desktop service listens at {self.path}: {error}")

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
