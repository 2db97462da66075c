"""What a spec asks for that a Docker world cannot enforce, each with the reason."""

from __future__ import annotations

from gym_anything.runtime.container.promises import unkept
from gym_anything.runtime.runners.docker import egress
from gym_anything.specs.env_spec import EnvSpec

_OTHER_GROUPS = ("ssh", "adb", "avd", "apptainer")
_REASONS = {
    "apks": "a Docker world is no Android device",
}


def unenforced(spec: EnvSpec) -> list[tuple[str, str]]:
    """Return (dotted field, reason) for every promise of the spec that a Docker world does not keep."""
    found = unkept(spec, "a Docker world", reasons=_REASONS, other_groups=_OTHER_GROUPS)
    hindrance = egress.hindrance(spec) if egress.is_asked(spec) else ""
    if hindrance:
        found.append(("security.network_allowlist", hindrance))
    return found
