"""Lanes to a gate: a connection that is cut is opened again, and its session goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.errors import (
    AdmissionRefused,
    DeadlineExceeded,
    GymAnythingError,
    InputDeliveryUnknown,
    InputNotDelivered,
    RemoteError,
    SessionLost,
    StateError,
    Unreachable,
    WorldLost,
)
from gym_anything.runtime.desktop.far_address import FarAddress
from gym_anything.runtime.desktop.far_link import FarLink, Session
from gym_anything.runtime.desktop.far_stream import Place, places_of, tls_context
from gym_anything.runtime.desktop.far_wire import CONSTANTS, batch_body
from gym_anything.runtime.desktop.lane import Lane, Lanes
from gym_anything.runtime.desktop.link import Answer, Link

PATIENCE_S = 10.0
"""How long a gate that does not answer is tried again, if the deadline leaves as much."""
_SHORT_PATIENCE_S = 1.0
_POLL_S = 0.25

T = TypeVar("T")


class FarLane(Lane):
    """One role's session with a gate."""

    _lanes: FarLanes
    _link: FarLink | None

    def __init__(self, lanes: FarLanes, role: str) -> None:
        super().__init__(lanes, role)
        self.session = Session()

    def request(self, name: str, body: bytes, wanted: str, deadline: Deadline) -> Answer:
        """See ``Lane``; asks again over a new connection when one is cut. The caller has the lane."""
        return self.attempt(lambda link: link.request(name, body, wanted, deadline), deadline)

    def attempt(self, act: Callable[[FarLink], T], deadline: Deadline) -> T:
        """Return what ``act`` makes of a connection; again with a new one when one is cut. The caller has the lane.

        Raises: Unreachable (no connection for ``PATIENCE_S``, or until the deadline), SessionLost, and what ``act``
            raises but for Unreachable.
        """
        while True:
            link = self._ready(deadline)
            try:
                return act(link)
            except Unreachable:
                self._drop(link)
            except WorldLost as error:
                raise self._lanes.note_end(error) from error

    def give_up(self) -> None:
        """End the session, now if that can be said without waiting; the next use begins another."""
        if self._link is not None:
            self._link.say_bye()
            self._drop(self._link)
        self.session = Session()

    def say_bye(self) -> None:
        """Let the gate hear that this is the end, if nothing is under way: it then keeps nothing for us."""
        if self._lock.acquire(blocking=False):
            try:
                self.give_up()
            finally:
                self._lock.release()

    def _ready(self, deadline: Deadline) -> FarLink:
        if self._link is not None:
            return self._link
        window = deadline.tightened(self._lanes.patience_s)
        last: list[GymAnythingError] = []

        def opened() -> bool:
            self._lanes.check()
            if last and window.expired():
                return False  # too late to learn more than the last try has told
            try:
                self._open(window)
            except (Unreachable, AdmissionRefused, DeadlineExceeded) as error:
                last[:] = [error]
                return False
            return True

        try:
            wait_until(opened, deadline=window, awaited=self._lanes.service, poll_s=_POLL_S)
        except DeadlineExceeded:
            raise self._lanes.lost(last[0]) from None
        finally:
            last.clear()  # its traceback holds every caller's frame, and with them the pictures they keep
        assert self._link is not None
        self._lanes.patience_s = PATIENCE_S
        return self._link

    def _new_link(self) -> Link:
        return FarLink(self._lanes.address, self._lanes.context, self._role, self.session)

    def _open_link(self, link: Link, deadline: Deadline) -> None:
        assert isinstance(link, FarLink)
        link.dial(self._lanes.places(), deadline)
        try:
            link.open(self._lanes.token, deadline)
        except SessionLost as error:
            raise self._lanes.note_end(error) from error


class FarInputLane(FarLane):
    """The lane for input: every batch has a number, and the gate does each number at most once."""

    def __init__(self, lanes: FarLanes, role: str) -> None:
        super().__init__(lanes, role)
        self._batch = 0
        self._released = False

    def request(self, name: str, body: bytes, wanted: str, deadline: Deadline) -> Answer:
        """See ``FarLane``.

        Raises: for INPUT also InputDeliveryUnknown (it may have arrived and no answer came), InputNotDelivered (what
            was held down had been released before it arrived).
        """
        if name != "INPUT":
            answer = super().request(name, body, wanted, deadline)
            self._released = self._released and name != "RELEASE"  # who lets go of all knows that nothing is held
            return answer
        self._batch += 1
        sent = False

        def act(link: FarLink) -> Answer:
            nonlocal sent
            sent = link.batch >= self._batch  # a connection opened since then knows whether it had arrived
            self._check_held(link)
            sent = True
            return link.request(name, batch_body(self._batch, body), wanted, deadline)

        try:
            answer = self.attempt(act, deadline)
        except (RemoteError, DeadlineExceeded) as error:
            if not sent:
                raise
            if self._link is not None:
                self.give_up()  # the gate hears it and stops typing; one that does not does the next batch after this
            raise InputDeliveryUnknown(
                f"the input may have been done in part or whole, no answer came: {error}; look at a new frame",
                detail={"cause": error.code},
            ) from error
        except GymAnythingError:
            if sent:
                self.session.acknowledged = self._batch  # it was answered, if by a refusal
            raise
        self.session.acknowledged = self._batch
        return Answer(answer.message, answer.request, answer.fields[2:], answer.tail)

    def _open_link(self, link: Link, deadline: Deadline) -> None:
        super()._open_link(link, deadline)
        assert isinstance(link, FarLink)
        self._released = self._released or bool(link.flags & CONSTANTS["WELCOME_RELEASED"])

    def _check_held(self, link: FarLink) -> None:
        """Refuse, once, a batch that was written for keys which are not held down any more."""
        if self._released and link.batch < self._batch:
            self._released = False
            raise InputNotDelivered(
                "the connection was cut for so long that the gate released the keys and buttons that were held; "
                "nothing of this input was done: hold them again and send it again"
            )


class FarLanes(Lanes):
    """The lanes to one gate."""

    def __init__(self, address: FarAddress) -> None:
        """Raises: OSError (the file of authorities cannot be read)."""
        self.address = address
        self.patience_s = PATIENCE_S
        self._end: GymAnythingError | None = None
        self._places: list[Place] = []
        self.context = tls_context(address.tls) if address.tls is not None else None
        super().__init__(f"the gate at {address}", address.token)

    def new_lane(self, role: str) -> FarLane:
        """See ``Lanes``."""
        return FarInputLane(self, role) if role == "INPUT" else FarLane(self, role)

    def places(self) -> list[Place]:
        """Return where the host is: looked up until it was found once. Raises: OSError."""
        self._places = self._places or places_of(self.address)
        return self._places

    def unreachable(self, error: OSError) -> GymAnythingError:
        """See ``Lanes``."""
        return Unreachable(f"{self.service} cannot be reached: {error}")

    def check(self) -> None:
        """See ``Lanes``; raises also what has ended the world or our part in it."""
        super().check()
        if self._end is not None:
            raise type(self._end)(self._end.message, detail=self._end.detail)

    def note_end(self, error: WorldLost | SessionLost) -> GymAnythingError:
        """Remember what no new connection of ours can mend, and return the error that says what can."""
        self._end = type(error)(f"{error}; connect anew once there is a desktop again", detail=error.detail)
        return self._end

    def close(self) -> None:
        """See ``Lanes``."""
        self._over = self._over or StateError
        for lane in (self.frames, self.input, self.settle):
            assert isinstance(lane, FarLane)
            lane.say_bye()
        super().close()

    def lost(self, last: GymAnythingError) -> GymAnythingError:
        """Return the error of a gate that has not answered for so long; the next call will not wait as long."""
        self.patience_s = _SHORT_PATIENCE_S
        return Unreachable(
            f"{self.service} does not answer ({last}); see that it runs and that its port can be reached, "
            "then try again, or connect anew if it was started again"
        )
