"""What it means when the host refuses a step of building a sandbox, and what would help."""

from __future__ import annotations

import errno

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    T = TypeVar("T")


class Refusal(Exception):
    """The host does not let us build a sandbox; ``fix`` says what would help."""

    def __init__(self, message: str, fix: str = "") -> None:
        super().__init__(message)
        self.fix = fix


_NO_SANDBOX = 'or, for worlds you trust, set "runner_options": {"sandbox": false}'
_FIXES = {
    "user namespace": "sudo sysctl -w user.max_user_namespaces=15000 kernel.unprivileged_userns_clone=1 "
    f"kernel.apparmor_restrict_unprivileged_userns=0 (those of them that exist); {_NO_SANDBOX}",
    "ids": "sudo apt-get install uidmap, and a line for this user in /etc/subuid and /etc/subgid",
    "overlay": "set GYM_ANYTHING_STATE_DIR to a folder on ext4, xfs, btrfs or tmpfs (Linux 5.11 or newer)",
    "proc": "in a container: start it with an unmasked /proc (docker run --security-opt systempaths=unconfined); "
    f"{_NO_SANDBOX}",
    "devices": f"the host's /dev lacks a device every Linux has; in a container mount a /dev; {_NO_SANDBOX}",
    "seals": f"a kernel with CONFIG_SECCOMP_FILTER (every Debian kernel has it); {_NO_SANDBOX}",
    "inner namespaces": f"sudo sysctl -w user.max_net_namespaces=15000 user.max_mnt_namespaces=15000; {_NO_SANDBOX}",
}


def attempt(step: str, act: Callable[[], T]) -> T:
    """Do one step; an error of the kernel becomes a ``Refusal`` that names the step and its fix.

    Args: step: a key of the table of fixes.
    """
    try:
        return act()
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT) and step == "overlay":
            raise
        raise Refusal(f"{step}: {error}", _FIXES[step]) from error
