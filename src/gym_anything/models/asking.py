"""One question to one endpoint, whatever it speaks."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

from gym_anything.errors import MissingExtra
from gym_anything.models import anthropic_sdk, openai_sdk
from gym_anything.models.calls import CallLimits
from gym_anything.models.endpoint import Endpoint, WireProtocol
from gym_anything.models.messages import Message, Reply, Sampling


def ask(
    endpoint: Endpoint, messages: Sequence[Message], *, system: str = "", sampling: Sampling, limits: CallLimits
) -> Reply:
    """Return the model's answer.

    Blocks: until the answer, at most ``endpoint.attempts`` tries of ``endpoint.timeout_s`` and the deadline.
    Raises: MissingExtra (the SDK is not installed), SettingInvalid (``sdk_variables.address_of``), ModelUnavailable,
        ModelError, Aborted.
    """
    speak = anthropic_sdk.complete if endpoint.protocol == "anthropic" else openai_sdk.complete
    return speak(endpoint, messages, system=system, sampling=sampling, limits=limits)


def require_sdk(protocol: WireProtocol) -> None:
    """Check, without importing it, that the SDK of a protocol is installed. Raises: MissingExtra."""
    if find_spec(protocol) is None:
        raise MissingExtra(
            f"models that speak {protocol}'s protocol need its SDK: pip install 'gym-anything[models]'",
            detail={"extra": "models", "fix": "pip install 'gym-anything[models]'"},
        )
