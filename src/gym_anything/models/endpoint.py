"""Where a vision model is reached, and what it may cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from gym_anything._util import env_vars

WireProtocol = Literal["openai", "anthropic"]

# Keys of the providers themselves, under the names their own programs read.
PROVIDER_KEYS: Mapping[WireProtocol, env_vars.EnvVar[str | None]] = {
    "openai": env_vars.declare(
        "OPENAI_API_KEY",
        env_vars.text,
        None,
        "Key for OpenAI's own endpoint; sent nowhere else.",
        "gym_anything.models",
        secret=True,
    ),
    "anthropic": env_vars.declare(
        "ANTHROPIC_API_KEY",
        env_vars.text,
        None,
        "Key for Anthropic's own endpoint; sent nowhere else.",
        "gym_anything.models",
        secret=True,
    ),
}
NO_KEY = "EMPTY"
"""What servers without keys are sent: the SDKs insist on some text."""


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars for a million tokens; ``cached_input`` of those read from the provider's cache (default: as input)."""

    input: float
    output: float
    cached_input: float | None = None

    def cost_usd(self, input_tokens: int, cached_input_tokens: int, output_tokens: int) -> float:
        """Return what a call cost; ``input_tokens`` includes the cached ones."""
        cached_price = self.input if self.cached_input is None else self.cached_input
        fresh = max(0, input_tokens - cached_input_tokens)
        return (fresh * self.input + cached_input_tokens * cached_price + output_tokens * self.output) / 1e6


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One model of one server.

    Attributes:
        protocol: how it is spoken to: ``openai`` (and whatever is compatible with it) or ``anthropic``.
        model: its name there.
        base_url: where; None is the provider's own address, whatever variables of its SDK say.
        api_key: never shown, never written; see ``key_for``.
        timeout_s: the longest that one try may take, from first byte sent to last byte read.
        attempts: the most tries of one call, at least 1; only what is worth it is tried again.
        prices: None when they are not known; costs are then unknown, too, never 0.
    """

    protocol: WireProtocol
    model: str
    base_url: str | None = None
    api_key: str = field(default=NO_KEY, repr=False)
    timeout_s: float = 120.0
    attempts: int = 3
    prices: Prices | None = None

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not be written anywhere."""
        return () if self.api_key == NO_KEY else (self.api_key,)


def key_for(
    protocol: WireProtocol, base_url: str | None, given: str | None, environ: Mapping[str, str] | None = None
) -> str | None:
    """Return the key to send: the one that was given, else the provider's for the provider's own address alone.

    A server elsewhere gets ``NO_KEY`` unless a key was given for it. None: the provider wants one and there is none.
    """
    if given:
        return given
    if base_url is not None:
        return NO_KEY
    return PROVIDER_KEYS[protocol].get(environ)
