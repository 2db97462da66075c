"""What a spec asks for that an Apptainer world cannot enforce, each with the reason."""

from __future__ import annotations

import os

from gym_anything.runtime import limits
from gym_anything.runtime.container.promises import unkept
from gym_anything.specs.env_spec import EnvSpec

_OTHER_GROUPS = ("ssh", "adb", "avd")
_LIMITS = {"resources.cpu": "cpu", "resources.mem_gb": "memory"}
"""Field -> the controller of the kernel that enforces it."""
_NO_FAKEROOT = (
    "root's worlds have root's own ids, with few capabilities; those of an ordinary user are in a user namespace"
)
_REASONS = {
    "apks": "an Apptainer world is no Android device",
    "dockerfile": "apptainer builds no Dockerfile; give apptainer.definition or apptainer.image",
    "apptainer.writable_tmpfs": "what the world writes lies in a folder that goes with it, not in memory",
    "security.use_systemd": "the init of an Apptainer world is our own",
    "security.mount_cgroups": "an Apptainer world sees no control groups",
    "security.cgroupns_host": "an Apptainer world sees no control groups",
    "security.tmpfs_run": "/run of an Apptainer world is part of what it writes",
    "security.runtime": "apptainer is a runtime by itself",
    "security.seccomp_profile": "an Apptainer world has no seccomp filter; its root has few capabilities instead",
}


def unenforced(spec: EnvSpec) -> list[tuple[str, str]]:
    """Return (dotted field, reason) for every promise of the spec that an Apptainer world does not keep."""
    no_limits = {name: why for name, controller in _LIMITS.items() if (why := limits.hindrance(controller))}
    as_root = {"apptainer.fakeroot": _NO_FAKEROOT} if os.geteuid() == 0 else {}
    reasons = {**_REASONS, **no_limits, **as_root}
    found = unkept(spec, "an Apptainer world", reasons=reasons, other_groups=_OTHER_GROUPS)
    if spec.security.network_allowlist and spec.resources.net:
        found.append(("security.network_allowlist", "an Apptainer world has all of the network or none"))
    return found
