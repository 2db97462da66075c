"""Telling when a step turns into judging: a step that completes the episode may take as long as a verdict may."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

from gym_anything.benchmark import phases
from gym_anything.benchmark.phases import PhaseLimits


class _Phases(Protocol):
    def phase(self, name: str, limit_s: float) -> None:
        """See ``agent_loop.Monitor``."""
        ...


class JudgePhase:
    """Hears the environment's reports and begins the phase of judging when the environment completes the episode."""

    def __init__(self, monitor: _Phases, present: Callable[[], str], limits: PhaseLimits) -> None:
        """Args: present: the phase that there is; an agent that owns the loop gets its own back after the verdict."""
        self._monitor = monitor
        self._present = present
        self._limits = limits
        self._before = phases.WORLD

    def hear(self, event: str, **_facts: Any) -> None:
        """Take one report; see ``set_reporter``."""
        if event == "completing":
            self._before = self._present()
            self._monitor.phase(phases.JUDGE, self._limits.judge_s)
        elif event == "judging" and math.isfinite(self._limits.verdict_s):
            self._monitor.phase(phases.JUDGE, self._limits.verdict_s)
        elif event == "finished" and self._before == phases.AGENT:
            self._monitor.phase(phases.AGENT, self._limits.episode_s + phases.AGENT_GRACE_S)
