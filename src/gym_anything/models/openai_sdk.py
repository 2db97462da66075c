"""The only file that imports the ``openai`` SDK, inside functions. Speaks to whatever is compatible with it, too.

Source: the SDK's own types (chat completions, responses).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gym_anything.errors import MissingExtra, ModelError
from gym_anything.models.calls import CallLimits, call_model, plain_answer
from gym_anything.models.endpoint import Endpoint
from gym_anything.models.messages import Message, Picture, Reply, Sampling
from gym_anything.models.sdk_variables import address_of, keep_to_ourselves
from gym_anything.models.usage import Usage


def make_client(endpoint: Endpoint) -> Any:
    """Return an SDK client without retries of its own. Raises: MissingExtra, SettingInvalid."""
    address = address_of(endpoint)
    try:
        import openai
    except ImportError as error:
        raise MissingExtra(
            "models that speak OpenAI's protocol need the openai SDK: pip install 'gym-anything[models]'",
            detail={"extra": "models", "fix": "pip install 'gym-anything[models]'"},
        ) from error
    client = openai.OpenAI(base_url=address, api_key=endpoint.api_key, max_retries=0)
    keep_to_ourselves(client, endpoint)
    return client


def complete(
    endpoint: Endpoint, messages: Sequence[Message], *, system: str = "", sampling: Sampling, limits: CallLimits
) -> Reply:
    """Ask for one chat completion. Raises: MissingExtra, ModelError kinds, Aborted."""
    request = chat_request(endpoint, messages, system=system, sampling=sampling)
    with make_client(endpoint) as client:
        completion, seconds = call_model(
            endpoint, lambda timeout_s: client.chat.completions.create(**request, timeout=timeout_s), limits
        )
    plain = plain_answer(completion, endpoint)
    choice = (plain.get("choices") or [{}])[0]
    message = choice.get("message")
    if not isinstance(message, dict):
        raise ModelError(f"model {endpoint.model!r} answered without a choice", detail={"model": endpoint.model})
    text = message.get("content")
    usage = chat_usage(endpoint, plain.get("usage")).with_seconds(seconds)
    return Reply(text if isinstance(text, str) else "", usage, str(choice.get("finish_reason") or ""))


def respond(endpoint: Endpoint, request: Mapping[str, Any], limits: CallLimits) -> tuple[dict[str, Any], Usage]:
    """Ask for one response (the Responses API) and return it as plain data. Raises: as ``complete``."""
    with make_client(endpoint) as client:
        response, seconds = call_model(
            endpoint, lambda timeout_s: client.responses.create(**request, timeout=timeout_s), limits
        )
    plain = plain_answer(response, endpoint)
    tokens = plain.get("usage") or {}
    details = tokens.get("input_tokens_details") or {}
    usage = _usage(
        endpoint, tokens.get("input_tokens"), details.get("cached_tokens"), tokens.get("output_tokens")
    ).with_seconds(seconds)
    return plain, usage


def chat_request(endpoint: Endpoint, messages: Sequence[Message], *, system: str, sampling: Sampling) -> dict[str, Any]:
    """Return the arguments of a chat completion; pure."""
    spoken: list[dict[str, Any]] = [{"role": "system", "content": system}] if system else []
    for message in messages:
        if message.role == "assistant":
            spoken.append({"role": "assistant", "content": "".join(p for p in message.parts if isinstance(p, str))})
        else:
            spoken.append({"role": "user", "content": [_part(part) for part in message.parts]})
    # The provider's newer models refuse the old name; servers elsewhere may not know the new one.
    longest = "max_tokens" if endpoint.base_url else "max_completion_tokens"
    request: dict[str, Any] = {"model": endpoint.model, "messages": spoken, longest: sampling.max_tokens}
    if sampling.temperature is not None:
        request["temperature"] = sampling.temperature
    if sampling.top_p is not None:
        request["top_p"] = sampling.top_p
    return request


def _part(part: str | Picture) -> dict[str, Any]:
    if isinstance(part, Picture):
        return {"type": "image_url", "image_url": {"url": part.data_url}}
    return {"type": "text", "text": part}


def chat_usage(endpoint: Endpoint, usage: Mapping[str, Any] | None) -> Usage:
    """Return what a chat completion says it took; a server that says nothing counts one call of unknown cost."""
    tokens = usage or {}
    cached = (tokens.get("prompt_tokens_details") or {}).get("cached_tokens")
    return _usage(endpoint, tokens.get("prompt_tokens"), cached, tokens.get("completion_tokens"))


def _usage(endpoint: Endpoint, given: Any, cached: Any, made: Any) -> Usage:
    known = isinstance(given, int) and isinstance(made, int)
    counts = [int(n) if isinstance(n, int) else 0 for n in (given, cached, made)]
    cost = endpoint.prices.cost_usd(*counts) if endpoint.prices is not None and known else None
    return Usage(1, counts[0], counts[1], counts[2], 0.0, cost)
