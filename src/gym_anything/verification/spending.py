"""What one verdict has asked of models, whichever of its judges asked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gym_anything.models.endpoint import Endpoint
from gym_anything.models.usage import Budget, Usage


class Spending:
    """The account of one verdict: one budget for all its judges, and a report whatever comes of them.

    For the thread that judges; nothing is locked.
    """

    def __init__(self) -> None:
        self.usage = Usage()
        self._models: dict[str, None] = {}

    def check(self, budget: Budget, endpoint: Endpoint) -> None:
        """Raise ModelBudgetSpent when nothing is left for a call of an endpoint."""
        budget.check(self.usage if endpoint.prices is not None else replace(self.usage, cost_usd=None))

    def add(self, model: str, usage: Usage) -> None:
        """Count one answer of a model, useful or not."""
        self._models[model] = None
        self.usage += usage

    def report(self) -> dict[str, Any]:
        """Return ``{"vlm": {model, calls, …, cost_usd}}`` for the verdict's report; nothing when none was asked."""
        if not self._models:
            return {}
        return {"vlm": {"model": ", ".join(sorted(self._models)), **self.usage.as_dict()}}
