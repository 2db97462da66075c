"""The variables that the SDKs read by themselves, kept from sending anything to where it does not belong.

What is meant for a provider (its organisation, its project, headers that may hold a key) goes to the provider's own
address alone, and an address comes from the endpoint alone.

Source: the constructors of both SDKs, ``openai/_client.py`` and ``anthropic/_client.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gym_anything._util import env_vars
from gym_anything._util.settings import UNSET
from gym_anything.errors import ModelError, SettingInvalid
from gym_anything.models.endpoint import Endpoint, WireProtocol

PROVIDER_URLS: Mapping[WireProtocol, str] = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
}
_PROTOCOLS: tuple[WireProtocol, ...] = ("openai", "anthropic")
_BASE_URLS: Mapping[WireProtocol, env_vars.EnvVar[str | None]] = {
    protocol: env_vars.declare(
        f"{protocol.upper()}_BASE_URL",
        env_vars.text,
        None,
        "Not followed: a model is asked at the provider's address or at the one that its settings name. Where it names "
        "another than the provider's and the settings none, the call is refused.",
        "gym_anything.models",
    )
    for protocol in _PROTOCOLS
}
_CUSTOM_HEADERS: Mapping[WireProtocol, env_vars.EnvVar[str | None]] = {
    protocol: env_vars.declare(
        f"{protocol.upper()}_CUSTOM_HEADERS",
        env_vars.text,
        None,
        "Headers that the provider's SDK adds, `Name: value` a line; sent to the provider's own endpoint alone.",
        "gym_anything.models",
        secret=True,
    )
    for protocol in _PROTOCOLS
}
# Public attributes of the clients that become headers and come from variables.
_OF_THE_PROVIDER: Mapping[WireProtocol, tuple[str, ...]] = {
    "openai": ("organization", "project"),
    "anthropic": ("auth_token",),
}


def address_of(endpoint: Endpoint) -> str:
    """Return the address to give to an SDK: never None, which would have it read a variable.

    Raises: SettingInvalid when no address was given and the SDK's own variable names another than the provider's: the
        provider's key must not go there, and calls that were meant for it must not go to the provider.
    """
    if endpoint.base_url is not None:
        return endpoint.base_url
    provider = PROVIDER_URLS[endpoint.protocol]
    said, variable = _BASE_URLS[endpoint.protocol].get(), _BASE_URLS[endpoint.protocol].name
    if said is not None and not _same(said, provider):
        raise SettingInvalid(
            f"{variable} is set and is not followed: the provider's key goes to the provider alone; give the address "
            "and its key as settings (agents: base_url and api_key_env; judges: VLM_BASE_URL and VLM_API_KEY), or "
            f"unset {variable}",
            detail={"setting": variable, "fix": f"unset {variable}"},
        )
    return provider


def keep_to_ourselves(client: Any, endpoint: Endpoint) -> None:
    """Take out of a new client what the variables say for the provider, unless it speaks to the provider.

    Raises: ModelError for a version of the SDK that cannot be kept from sending the headers of its variable.
    """
    if endpoint.base_url is None or _same(endpoint.base_url, PROVIDER_URLS[endpoint.protocol]):
        return
    for name in _OF_THE_PROVIDER[endpoint.protocol]:
        setattr(client, name, None)
    variable = _CUSTOM_HEADERS[endpoint.protocol]
    if variable.lookup() is not UNSET:
        # We give no headers of our own, so all that are there come from the variable. There is no public way to say so.
        if not hasattr(client, "_custom_headers"):
            raise ModelError(
                f"the headers of {variable.name} would go to {endpoint.base_url}, which is not the provider's address: "
                f"unset {variable.name}",
                detail={"model": endpoint.model, "endpoint": endpoint.base_url},
            )
        client._custom_headers = {}


def _same(one: str, other: str) -> bool:
    return one.strip().rstrip("/").lower() == other.rstrip("/").lower()
