"""What a spec asks for that no world in a container can enforce, each with the reason."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from gym_anything.runtime.container.inside import INIT_CAPABILITIES
from gym_anything.runtime.runners.spec_promises import declared_promises
from gym_anything.specs.env_spec import EnvSpec


def unkept(
    spec: EnvSpec, noun: str, *, reasons: Mapping[str, str], other_groups: Collection[str]
) -> list[tuple[str, str]]:
    """Return (dotted field, reason) for the promises of the spec that are not kept.

    Args:
        noun: what people call such a world: ``a Docker world``.
        reasons: dotted field -> why this kind of world does not keep it.
        other_groups: parts of a spec that are for other kinds of worlds.
    """
    found = []
    for name in declared_promises(spec):
        group = name.partition(".")[0]
        if name in reasons:
            found.append((name, reasons[name]))
        elif group in other_groups:
            found.append((name, f"{noun} does not use {group}"))
    found += _capabilities(spec)
    for user in spec.user_accounts:
        place, rights = f"user_accounts.{user.name}.permissions", user.permissions
        if not rights.network_access:
            found.append((f"{place}.network_access", f"all accounts of {noun} share its network"))
        if rights.max_memory is not None:
            found.append((f"{place}.max_memory", "memory is limited for the whole world, by resources.mem_gb"))
        if rights.max_processes is not None:
            found.append((f"{place}.max_processes", "processes are limited for the whole world"))
    if spec.os_type != "linux":
        found.append(("os_type", f"{noun} is a Linux desktop"))
    return found


def _capabilities(spec: EnvSpec) -> list[tuple[str, str]]:
    dropped = {name.upper().removeprefix("CAP_") for name in spec.security.cap_drop}
    kept = INIT_CAPABILITIES if "ALL" in dropped else [name for name in INIT_CAPABILITIES if name in dropped]
    if not kept or spec.security.privileged:
        return []
    return [
        ("security.cap_drop", f"the world's init keeps {', '.join(kept)}: it runs hooks as root and others as users")
    ]
