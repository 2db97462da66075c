"""The inside of a container of ours: where our programs and sockets lie, how its init is called. Pure."""

from __future__ import annotations

from gym_anything.runtime.session.accounts import DESKTOP_USER
from gym_anything.runtime.session.environment import SUDO_SOCKET
from gym_anything.specs.env_spec import EnvSpec

HOME_OF_OURS = "/opt/gym-anything"
"""Where our own programs lie in the world."""
IO = "/run/gym-anything"
"""Where the world sees the folder that it shares with this process: sockets, nothing else."""
X_SOCKETS = "/tmp/.X11-unix"
GUEST_SOCKET, GUEST_TOKEN = "guest.sock", "guest.token"
HOSTNAME = "desktop"
INIT_CAPABILITIES = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID")
"""What our init needs to run hooks as root and programs as their users."""
_FIRST_UID = 1000


def guest_argv(spec: EnvSpec) -> list[str]:
    """Return the arguments of ``ga-guest``, the world's init."""
    argv = ["init", "--socket", f"{IO}/{GUEST_SOCKET}", "--token-file", f"{IO}/{GUEST_TOKEN}"]
    argv += ["--sudo-socket", SUDO_SOCKET]
    for uid in sudo_uids(spec):
        argv += ["--sudo-uid", str(uid)]
    if spec.security.stop_timeout is not None:
        argv += ["--grace-ms", str(int(spec.security.stop_timeout * 1000))]
    return argv


def entrypoint_argv(spec: EnvSpec) -> list[str]:
    """Return the command line of the spec's own program: a text is for the shell, a list is taken as it is."""
    if isinstance(spec.entrypoint, tuple):
        return list(spec.entrypoint)
    return ["/bin/sh", "-c", spec.entrypoint or ":"]


def sudo_uids(spec: EnvSpec) -> list[int]:
    """Return who may become root through our own ``sudo`` (for images without one)."""
    found = {_FIRST_UID}
    for user in spec.user_accounts:
        rights = user.permissions
        if rights.sudo or rights.sudo_nopasswd or "sudo" in rights.groups or user.name == DESKTOP_USER:
            found.add(_FIRST_UID if user.uid is None else user.uid)
    return sorted(found)


def has_network(spec: EnvSpec) -> bool:
    """Tell whether the world reaches anything: an empty allow-list is a wall."""
    return spec.resources.net and spec.security.network_allowlist != ()
