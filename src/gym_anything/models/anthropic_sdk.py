"""The only file that imports the ``anthropic`` SDK, inside functions.

Source: the SDK's own types (Messages API, beta tools).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gym_anything.errors import MissingExtra
from gym_anything.models.calls import CallLimits, call_model, plain_answer
from gym_anything.models.endpoint import Endpoint
from gym_anything.models.messages import Message, Picture, Reply, Sampling
from gym_anything.models.sdk_variables import address_of, keep_to_ourselves
from gym_anything.models.usage import Usage


def make_client(endpoint: Endpoint) -> Any:
    """Return an SDK client without retries of its own. Raises: MissingExtra, SettingInvalid."""
    address = address_of(endpoint)
    try:
        import anthropic
    except ImportError as error:
        raise MissingExtra(
            "models that speak Anthropic's protocol need the anthropic SDK: pip install 'gym-anything[models]'",
            detail={"extra": "models", "fix": "pip install 'gym-anything[models]'"},
        ) from error
    client = anthropic.Anthropic(base_url=address, api_key=endpoint.api_key, max_retries=0)
    keep_to_ourselves(client, endpoint)
    return client


def complete(
    endpoint: Endpoint, messages: Sequence[Message], *, system: str = "", sampling: Sampling, limits: CallLimits
) -> Reply:
    """Ask for one message. Raises: MissingExtra, ModelError kinds, Aborted."""
    request = message_request(endpoint, messages, system=system, sampling=sampling)
    with make_client(endpoint) as client:
        answer, seconds = call_model(
            endpoint, lambda timeout_s: client.messages.create(**request, timeout=timeout_s), limits
        )
    plain = plain_answer(answer, endpoint)
    blocks = plain.get("content") or []
    text = "".join(str(b.get("text") or "") for b in blocks if b.get("type") == "text")
    usage = usage_of(endpoint, plain.get("usage")).with_seconds(seconds)
    return Reply(text, usage, str(plain.get("stop_reason") or ""))


def converse(endpoint: Endpoint, request: Mapping[str, Any], limits: CallLimits) -> tuple[dict[str, Any], Usage]:
    """Ask the beta Messages API (which knows the computer tools) and return its answer as plain data.

    Raises: as ``complete``.
    """
    with make_client(endpoint) as client:
        answer, seconds = call_model(
            endpoint, lambda timeout_s: client.beta.messages.create(**request, timeout=timeout_s), limits
        )
    plain = plain_answer(answer, endpoint)
    return plain, usage_of(endpoint, plain.get("usage")).with_seconds(seconds)


def message_request(
    endpoint: Endpoint, messages: Sequence[Message], *, system: str, sampling: Sampling
) -> dict[str, Any]:
    """Return the arguments of a message; pure."""
    spoken = [{"role": m.role, "content": [part_block(part) for part in m.parts]} for m in messages]
    request: dict[str, Any] = {"model": endpoint.model, "messages": spoken, "max_tokens": sampling.max_tokens}
    if system:
        request["system"] = system
    drawn = {"temperature": sampling.temperature, "top_p": sampling.top_p}
    drawn = {name: value for name, value in drawn.items() if value is not None}
    if drawn:
        request["extra_body"] = drawn  # newer SDKs have no argument for what only some models take
    return request


def part_block(part: str | Picture) -> dict[str, Any]:
    """Return the content block of a text or picture."""
    if isinstance(part, Picture):
        return {"type": "image", "source": {"type": "base64", "media_type": part.media_type, "data": part.base64}}
    return {"type": "text", "text": part}


def usage_of(endpoint: Endpoint, usage: Mapping[str, Any] | None) -> Usage:
    """Return what a message says it took. This provider counts cached tokens apart; here they are part of the input."""
    tokens = usage or {}
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
    fresh, read, written, made = (int(tokens[n]) if isinstance(tokens.get(n), int) else 0 for n in names)
    known = isinstance(tokens.get("input_tokens"), int) and isinstance(tokens.get("output_tokens"), int)
    given = fresh + read + written
    cost = endpoint.prices.cost_usd(given, read, made) if endpoint.prices is not None and known else None
    return Usage(1, given, read, made, 0.0, cost)
