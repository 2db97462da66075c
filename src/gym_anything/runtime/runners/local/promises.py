"""What a spec asks for that a local world cannot enforce, each with the reason."""

from __future__ import annotations

from gym_anything.runtime.runners.local.options import LocalOptions, option_errors
from gym_anything.runtime.runners.spec_promises import declared_promises
from gym_anything.specs.env_spec import EnvSpec

_HOST_SOFTWARE = "a local world runs the software that this host has"
_ALWAYS_SANDBOXED = "the sandbox of a local world is what it is: all capabilities inside, none outside"
_REASONS = {
    "image": _HOST_SOFTWARE,
    "dockerfile": _HOST_SOFTWARE,
    "entrypoint": "a local world has its own init; start programs from a hook",
    "apks": "a local world is no Android device",
    "resources.gpu": "a local world has no GPU",
    "security.user": "hooks run as root, the desktop as its own user",
    "security.cap_drop": _ALWAYS_SANDBOXED,
    "security.cap_add": _ALWAYS_SANDBOXED,
    "security.devices": "a local world sees no device of the host",
    "security.seccomp_profile": "a local world has no seccomp filter",
    "security.network_allowlist": "a local world has all of the network or none",
    "security.privileged": _ALWAYS_SANDBOXED,
    "security.use_systemd": "the init of a local world is our own",
    "security.mount_cgroups": "a local world does not see control groups",
    "security.cgroupns_host": "a local world has its own cgroup namespace",
    "security.runtime": "a local world is no container of an OCI runtime",
}
_KEPT = frozenset(
    {"mounts", "user_accounts", "resources.cpu", "resources.mem_gb", "resources.net", "security.tmpfs_run",
     "security.stop_timeout", "vnc.enable", "vnc.host_port", "vnc.password", "vnc.view_only", "vnc.note",
     "vnc.container_port", "vnc.fallback_only"}
)  # fmt: skip
_UNSANDBOXED_KEPT = frozenset({"resources.net", "vnc.enable"})


def unenforced(spec: EnvSpec) -> list[tuple[str, str]]:
    """Return (dotted field, reason) for every promise of the spec that a local world does not keep."""
    found = [(name, _reason(name, spec)) for name in declared_promises(spec) if name not in _KEPT]
    found = [(name, reason) for name, reason in found if reason]
    for user in spec.user_accounts:
        place = f"user_accounts.{user.name}.permissions"
        if not user.permissions.network_access:
            found.append((f"{place}.network_access", "all accounts of a local world share its network"))
        if user.permissions.max_memory is not None:
            found.append((f"{place}.max_memory", "memory is limited for the whole world, by resources.mem_gb"))
        if user.permissions.max_processes is not None:
            found.append((f"{place}.max_processes", "processes are limited for the whole world"))
    if any(mount.mode == "rw" for mount in spec.mounts):
        found.append(("mounts.rw", "copied in at the start and back at the end; what the world deletes stays here"))
    if spec.os_type != "linux":
        found.append(("os_type", "a local world is a Linux desktop"))
    if not _is_sandboxed(spec):
        why = "without a sandbox programs run as this user on this host"
        found += [(name, why) for name in declared_promises(spec) if name in _KEPT - _UNSANDBOXED_KEPT]
        found.append(("resources.net", "without a sandbox a world has the host's network"))
    return found


def _reason(name: str, spec: EnvSpec) -> str:
    if name == "resources.gpu" and spec.resources.gpu == 0:
        return ""
    value = getattr(spec.security, name.removeprefix("security."), None) if name.startswith("security.") else True
    if value is False or (name, value) in (("security.user", "root"), ("security.user", "0")):
        return ""  # "not privileged" is a promise that is kept, and hooks do run as root
    group = name.split(".")[0]
    return _REASONS.get(name, f"a local world does not use {group}")


def _is_sandboxed(spec: EnvSpec) -> bool:
    return bool(option_errors(spec.runner_options)) or LocalOptions.model_validate(dict(spec.runner_options)).sandbox
