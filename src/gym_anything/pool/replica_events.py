"""What can happen to a replica, and what its state manager then wants done. Data only.

An event of a world names the generation it belongs to: what an earlier world of the same replica still has to say is
noted and changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Cause = Literal["world", "limit", "silent"]
"""Why a lease is over that was not given back: its world was lost, its task over its limit, its owner silent."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something happened.

    Attributes:
        at: seconds on a monotonic clock; never decreases from one event of a replica to the next.
    """

    at: float


@dataclass(frozen=True, slots=True)
class Wanted(Event):
    """The pool wants a world here."""


@dataclass(frozen=True, slots=True)
class Admitted(Event):
    """The guard has set resources aside for one creation."""


@dataclass(frozen=True, slots=True)
class Refused(Event):
    """The guard has not. Ask again after ``retry_after_s``."""

    reason: str
    retry_after_s: float


@dataclass(frozen=True, slots=True)
class OfWorld(Event):
    """Something about the world of one generation."""

    generation: int


@dataclass(frozen=True, slots=True)
class Created(OfWorld):
    """It is up and answers."""


@dataclass(frozen=True, slots=True)
class CreateFailed(OfWorld):
    """It did not come up."""

    reason: str


@dataclass(frozen=True, slots=True)
class ResetDone(OfWorld):
    """It is as it was before its last task."""


@dataclass(frozen=True, slots=True)
class ResetFailed(OfWorld):
    """It could not be brought back to its beginning."""

    reason: str


@dataclass(frozen=True, slots=True)
class Lost(OfWorld):
    """It is gone: its process ended, its connection broke."""

    reason: str


@dataclass(frozen=True, slots=True)
class ProbeAnswered(OfWorld):
    """It answered the cheap probe, after ``took_s``; it uses ``memory_mib`` (None: not measured)."""

    took_s: float
    memory_mib: float | None = None


@dataclass(frozen=True, slots=True)
class ProbeMissed(OfWorld):
    """It did not answer in time."""

    reason: str


@dataclass(frozen=True, slots=True)
class Doubted(OfWorld):
    """Something it was told to do failed by its fault, or takes long: the next probe should ask more."""


@dataclass(frozen=True, slots=True)
class Destroyed(OfWorld):
    """Nothing of it is left."""


@dataclass(frozen=True, slots=True)
class Assigned(Event):
    """The pool has given the replica to a task.

    Attributes:
        lease: name of the lease, unique in the pool.
        task_limit_s: how long the task may take at all; None: as long as its owner shows signs of life.
    """

    lease: str
    task_limit_s: float | None = None


@dataclass(frozen=True, slots=True)
class Heartbeat(Event):
    """The owner of a lease is alive."""

    lease: str


@dataclass(frozen=True, slots=True)
class Released(Event):
    """The owner of a lease is done. ``broken``: the world failed it, so it is not used again."""

    lease: str
    broken: bool = False


@dataclass(frozen=True, slots=True)
class Retire(Event):
    """The pool wants no more of this replica, once its task is over."""

    reason: str


@dataclass(frozen=True, slots=True)
class Tick(Event):
    """Time has passed. ``busy``: an operation of its task is being done."""

    busy: bool = False


@dataclass(frozen=True, slots=True)
class Instruction:
    """Something to be done now. Its outcome comes back as an event."""


@dataclass(frozen=True, slots=True)
class AskAdmission(Instruction):
    """Ask the guard for room for one creation: answered by ``Admitted`` or ``Refused``."""


@dataclass(frozen=True, slots=True)
class GiveAdmissionBack(Instruction):
    """The creation is over: what was set aside for it is measured from now on, or free."""


@dataclass(frozen=True, slots=True)
class Create(Instruction):
    """Make the world of this generation: ``Created`` or ``CreateFailed``."""

    generation: int


@dataclass(frozen=True, slots=True)
class Probe(Instruction):
    """Ask the world cheaply for a sign of life: ``ProbeAnswered`` or ``ProbeMissed``. ``deep``: ask its agent, too."""

    generation: int
    deep: bool = False


@dataclass(frozen=True, slots=True)
class Reset(Instruction):
    """Bring the world back to its beginning: ``ResetDone`` or ``ResetFailed``."""

    generation: int


@dataclass(frozen=True, slots=True)
class Destroy(Instruction):
    """Abort whatever the world is doing and remove all of it: ``Destroyed``, however it was."""

    generation: int


@dataclass(frozen=True, slots=True)
class EndLease(Instruction):
    """Tell the owner that its lease is over, in words and by kind."""

    lease: str
    reason: str
    cause: Cause = "world"
