"""Determinism: only for specs that declare it; there the same seed and actions give the same world."""

from __future__ import annotations

import copy
from typing import Any

from gym_anything.testing.conformance.case import ConformanceCase

_SEED = 1234


class DeterminismChecks(ConformanceCase):
    """Gated on the spec's own ``deterministic``."""

    def trace(self) -> list[Any]:
        """Return what a world shows over the author's actions from a fixed seed."""
        runner = self.fresh(seed=_SEED)
        seen: list[Any] = []
        for action in [None, *self.subject.actions]:
            if action is not None:
                answer = self.bounded(lambda action=action: runner.inject_action(copy.deepcopy(dict(action))))  # type: ignore[misc]
                seen.append(repr(answer))
            seen.append(repr(self.bounded(runner.capture_observation)))
            if runner.has_screen():
                seen.append(self.bounded(runner.capture_frame).array.tobytes())
        return seen

    def test_the_same_seed_and_actions_show_the_same(self) -> None:
        self.needs(self.subject.spec().deterministic, "the spec does not declare itself deterministic")
        first, second = self.trace(), self.trace()
        for number, (one, two) in enumerate(zip(first, second, strict=True)):
            self.assertTrue(one == two, f"two runs of seed {_SEED} differ at observation {number}")
