"""Whose turn it is while an agent owns the loop: the agent thinks, or the world does what it asked for."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from typing import Protocol

from gym_anything._util.deadline import Deadline
from gym_anything.benchmark import phases
from gym_anything.benchmark.phases import PhaseLimits


class _Phases(Protocol):
    def phase(self, name: str, limit_s: float) -> None:
        """See ``agent_loop.Monitor``."""
        ...


class TurnWatch:
    """Announces the phases, so that each party's time is counted as its own and bounded from outside.

    Attributes:
        is_in_world: a call of the world is running.
        answer_deadline: by when the agent must have called the world again; never while it is the world's turn.
    """

    def __init__(self, monitor: _Phases, limits: PhaseLimits, began: float, on_turn: Callable[[], None]) -> None:
        """Args: began: of the episode, monotonic. on_turn: told of each new ``answer_deadline``."""
        self._monitor = monitor
        self._limits = limits
        self._began = began
        self._on_turn = on_turn
        self._is_over = False
        self.is_in_world = False
        self.answer_deadline = Deadline.never()

    def agents_turn(self) -> None:
        """Begin the agent's turn."""
        left_s = self._limits.agent_s(time.monotonic() - self._began)
        answer_s = self._limits.answer_s
        self._monitor.phase(phases.AGENT, min(left_s, answer_s) + phases.AGENT_GRACE_S)
        self.answer_deadline = Deadline.after(answer_s if math.isfinite(answer_s) else None)
        self._on_turn()

    @contextlib.contextmanager
    def in_world(self, limit_s: float) -> Iterator[None]:
        """It is the world's turn, for at most ``limit_s`` seconds; then the agent's again. In the agent's thread."""
        self.is_in_world, self.answer_deadline = True, Deadline.never()
        self._monitor.phase(phases.WORLD, limit_s)
        try:
            yield
        finally:
            self.is_in_world = False
            if not self._is_over:
                self.agents_turn()

    def end(self) -> None:
        """Say nothing more: from here on the owner knows what it does."""
        self._is_over = True
