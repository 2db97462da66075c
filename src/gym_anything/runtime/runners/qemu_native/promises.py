"""What a spec asks for that a QEMU world cannot enforce, each with the reason."""

from __future__ import annotations

from gym_anything.runtime.runners.spec_promises import declared_promises
from gym_anything.specs.env_spec import EnvSpec

_KEPT = frozenset(
    {"mounts", "user_accounts", "image", "resources.cpu", "resources.mem_gb", "resources.net", "vnc.enable",
     "vnc.host_port", "vnc.password", "vnc.note", "vnc.container_port", "vnc.fallback_only", "ssh.user",
     "ssh.password", "ssh.key_file", "ssh.port", "ssh.note"}
)  # fmt: skip
_REASONS = {
    "dockerfile": "a QEMU world boots an image of `gym-anything image build`",
    "entrypoint": "a QEMU world has an init of its own; start programs from a hook",
    "apks": "a QEMU world is no Android device",
    "resources.gpu": "a QEMU world has no GPU",
    "security.network_allowlist": "a QEMU world has all of the network or none",
    "ssh.shell": "SSH gives the account's own shell",
    "vnc.view_only": "QEMU's own VNC takes keys and clicks from everybody it shows the screen to",
}
_WHOLE_MACHINE = "a QEMU world is a whole machine, with its own kernel and its own root"


def unenforced(spec: EnvSpec) -> list[tuple[str, str]]:
    """Return (dotted field, reason) for every promise of the spec that a QEMU world does not keep."""
    found = [(name, _reason(name, spec)) for name in declared_promises(spec) if name not in _KEPT]
    found = [(name, reason) for name, reason in found if reason]
    for user in spec.user_accounts:
        place, rights = f"user_accounts.{user.name}.permissions", user.permissions
        if not rights.network_access:
            found.append((f"{place}.network_access", "all accounts of a QEMU world share its network"))
        if rights.max_memory is not None:
            found.append((f"{place}.max_memory", "memory is limited for the whole machine, by resources.mem_gb"))
        if rights.max_processes is not None:
            found.append((f"{place}.max_processes", "processes are not limited one by one"))
    if any(mount.mode == "rw" for mount in spec.mounts):
        found.append(("mounts.rw", "copied in at the start and back at the end; what the world deletes stays here"))
    return found


def _reason(name: str, spec: EnvSpec) -> str:
    if name == "resources.gpu" and not spec.resources.gpu:
        return ""
    group = name.partition(".")[0]
    if group == "security" and name not in _REASONS:
        return "" if name == "security.use_systemd" else _WHOLE_MACHINE
    return _REASONS.get(name, f"a QEMU world does not use {group}")
