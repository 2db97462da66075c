"""The fields of a spec that promise something only a runner can keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gym_anything.specs.env_spec import EnvSpec

PROMISES = ("mounts", "apks", "user_accounts", "entrypoint", "dockerfile", "image")
"""Top-level fields that promise something when they are set at all."""
PROMISE_GROUPS = ("resources", "security", "vnc", "ssh", "adb", "avd", "apptainer")
"""Sub-objects of which every field that was set explicitly is a promise."""
_KEPT_BY_CORE = frozenset({"security.secrets_ref", "security.resolved_env"})


def declared_promises(spec: EnvSpec) -> list[str]:
    """Return the dotted names of the promises a spec makes explicitly, in a fixed order."""
    found = [name for name in PROMISES if getattr(spec, name, None)]
    for group in PROMISE_GROUPS:
        part = getattr(spec, group, None)
        for name in sorted(_fields_set(part)):
            dotted = f"{group}.{name}"
            if dotted not in _KEPT_BY_CORE and _promises(dotted, getattr(part, name, None)):
                found.append(dotted)
    return found


def _promises(dotted: str, value: Any) -> bool:
    """Tell whether a value asks for something; "off" does so only where off is a wall (no network, no host)."""
    if dotted == "resources.net" or dotted == "security.network_allowlist":
        return value is not None
    return value not in (None, False, "", [], {}, ())


def _fields_set(part: Any) -> set[str]:
    """Return what was written in the spec, as pydantic remembers it."""
    return set(getattr(part, "model_fields_set", None) or ())
