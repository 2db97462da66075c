"""Clocks: the episode's own time, and what is known of a guest's."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol


class Clock(Protocol):
    """Seconds that only go forward; what an episode measures its time with."""

    def now(self) -> float:
        """Return the present time in seconds."""
        ...


class MonotonicClock:
    """The host's monotonic clock."""

    def now(self) -> float:
        return time.monotonic()


class ManualClock:
    """A clock that a test moves by hand."""

    def __init__(self, start: float = 0.0) -> None:
        self._now = start

    def now(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        """Move forward; going back is refused."""
        if seconds < 0:
            raise ValueError(f"a clock does not go back: {seconds} s")
        self._now += seconds


@dataclass(frozen=True, slots=True)
class GuestClock:
    """How a guest's wall clock maps to the host's monotonic clock.

    Measured by one question: the guest's time was read at some point between two host readings.

    Attributes:
        offset_s: guest wall-clock seconds minus host monotonic seconds.
        error_s: half of the round trip; the mapping is exact to plus or minus this.
        measured_at: host monotonic seconds of the measurement.
    """

    offset_s: float
    error_s: float
    measured_at: float

    @classmethod
    def from_round_trip(cls, sent: float, guest_time: float, received: float) -> GuestClock:
        """Build from host time before, guest time, host time after (seconds)."""
        if received < sent:
            raise ValueError("the answer cannot come before the question")
        middle = (sent + received) / 2
        return cls(offset_s=guest_time - middle, error_s=(received - sent) / 2, measured_at=received)

    def to_host(self, guest_time: float) -> float:
        """Convert guest wall-clock seconds to host monotonic seconds."""
        return guest_time - self.offset_s

    def to_guest(self, host_time: float) -> float:
        """Convert host monotonic seconds to guest wall-clock seconds."""
        return host_time + self.offset_s
