"""Tokens, time and money: what calls of a model took, and how much they may take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gym_anything.errors import ModelBudgetSpent


@dataclass(frozen=True, slots=True)
class Usage:
    """What some calls took.

    Attributes:
        calls: answers received.
        input_tokens: as the provider counted them, cached ones included.
        cached_input_tokens: those of them that were read from the provider's cache.
        output_tokens: thinking included.
        seconds: waiting for answers, retries included.
        cost_usd: None when the prices are not known.
    """

    calls: int = 0
    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    cost_usd: float | None = 0.0

    def __add__(self, other: Usage) -> Usage:
        """Add up; a cost that is not known makes the sum unknown."""
        known = self.cost_usd is not None and other.cost_usd is not None
        return Usage(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.cached_input_tokens + other.cached_input_tokens,
            self.output_tokens + other.output_tokens,
            self.seconds + other.seconds,
            (self.cost_usd or 0.0) + (other.cost_usd or 0.0) if known else None,
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "calls": self.calls,
            "input_tokens": self.input_tokens,
            "cached_input_tokens": self.cached_input_tokens,
            "output_tokens": self.output_tokens,
            "seconds": round(self.seconds, 3),
            "cost_usd": None if self.cost_usd is None else round(self.cost_usd, 6),
        }

    @classmethod
    def total(cls, parts: Iterable[Mapping[str, Any]]) -> Usage:
        """Add up what ``as_dict`` returned."""
        return sum((cls(**part) for part in parts), cls())

    def with_seconds(self, seconds: float) -> Usage:
        """Return this with another time."""
        return replace(self, seconds=seconds)


@dataclass(frozen=True, slots=True)
class Budget:
    """How much may be spent; None: no bound. Checked before each call, so that the last one may go over it."""

    calls: int | None = None
    tokens: int | None = None
    cost_usd: float | None = None

    def check(self, used: Usage) -> None:
        """Raise ModelBudgetSpent when there is nothing left, or when a bound on money cannot be watched."""
        if self.cost_usd is not None and used.cost_usd is None:
            raise ModelBudgetSpent("there is a bound on cost, but the model's prices are not known; give both prices")
        spent = (
            ("calls", self.calls, float(used.calls)),
            ("tokens", self.tokens, float(used.input_tokens + used.output_tokens)),
            ("US dollars", self.cost_usd, used.cost_usd or 0.0),
        )
        for noun, most, count in spent:
            if most is not None and count >= most:
                raise ModelBudgetSpent(
                    f"the budget of {most:g} {noun} for the model is spent ({count:g})",
                    detail={"bound": noun, "most": most, "used": used.as_dict()},
                )
