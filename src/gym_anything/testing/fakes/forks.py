"""The fake world's forks: a branch point is a copy of all that the world is."""

from __future__ import annotations

import copy
from dataclasses import dataclass

from gym_anything._util.clock import ManualClock
from gym_anything.errors import StateError
from gym_anything.runtime.runners.base_forks import BranchPoint
from gym_anything.testing.fakes.core import FakeCore
from gym_anything.testing.fakes.files import GuestFiles
from gym_anything.testing.fakes.screen import FakeScreen


@dataclass
class FakeBranch:
    """One moment of a fake world."""

    files: GuestFiles
    screen: FakeScreen
    typed: str
    now: float
    seed: int
    snapshots: dict[str, tuple[tuple[str, ...], GuestFiles]]
    released: bool = False

    def release(self) -> None:
        """See ``BranchPoint``."""
        self.released = True


class FakeForks(FakeCore):
    """Forks of a fake world."""

    def supports_fork(self) -> bool:
        """As the option says."""
        return self.options.fork

    def why_no_fork(self) -> str:
        """It was told not to."""
        return "its option fork is off"

    def branch(self) -> BranchPoint:
        """See ``ForkAccess``."""
        self.require_ready("branch")
        if not self.supports_fork():
            raise self.no_fork()
        screen, snapshots = copy.deepcopy(self.screen), dict(self.snapshots)
        return FakeBranch(self.files.snapshot(), screen, self.typed, self.clock.now(), self.seed, snapshots)

    def start_from_branch(self, point: BranchPoint, seed: int | None = None) -> None:
        """See ``ForkAccess``."""
        assert isinstance(point, FakeBranch)
        if point.released:
            raise StateError("start_from_branch: this branch point was released")
        self._begin(point.seed if seed is None else seed)
        self.boot()
        self.files, self.screen = point.files.snapshot(), copy.deepcopy(point.screen)
        self.typed, self.snapshots = point.typed, dict(point.snapshots)
        self.clock = ManualClock()
        self.clock.advance(point.now)
        self._become_ready()
