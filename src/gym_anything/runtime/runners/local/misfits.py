"""What a spec asks for that no local world can be, found when the spec is loaded."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from gym_anything.runtime.session.accounts import SYSTEM_NAMES
from gym_anything.specs.accounts import UserAccount
from gym_anything.specs.env_spec import EnvSpec

_OWN_PLACES = ("/dev", "/proc", "/run", "/sys")
_OWN_FOLDERS = ("/", "/bin", "/etc", "/lib", "/lib64", "/sbin", "/usr", "/usr/bin", "/usr/lib", "/var")
_MAX_UID = 60_000
_MODE = re.compile(r"0?[0-7]{3}")


def misfits(spec: EnvSpec) -> list[str]:
    """Return what is wrong with ``user_accounts`` and ``mounts``, one sentence each; ``[]`` when all is well."""
    found: list[str] = []
    seen: set[str] = set()
    for number, account in enumerate(spec.user_accounts):
        place = f"user_accounts[{number}]"
        if account.name in seen:
            found.append(f"{place}.name: there is an account {account.name!r} already")
        seen.add(account.name)
        found += [f"{place}.{sentence}" for sentence in _account_misfits(account)]
    for number, mount in enumerate(spec.mounts):
        if is_own_place(mount.target):
            found.append(f"mounts[{number}].target: a local world keeps {mount.target} for itself; use /workspace/…")
    return found


def is_own_place(target: str) -> bool:
    """Tell whether nothing can be mounted at this guest path."""
    path = "/" + os.path.normpath(target).strip("/")
    return path in _OWN_FOLDERS or any(path == place or path.startswith(f"{place}/") for place in _OWN_PLACES)


def _account_misfits(account: UserAccount) -> Iterator[str]:
    rights = account.permissions
    if account.name in SYSTEM_NAMES:
        yield f"name: {account.name!r} is an account of the system; choose another name"
    if account.uid is not None and not 1 <= account.uid <= _MAX_UID:
        yield f"uid: {account.uid} is outside 1 to {_MAX_UID}, the ids of a local world"
    for field, path in (("home_dir", rights.home_dir), ("shell", rights.shell)):
        if path is not None and (not path.startswith("/") or ":" in path):
            yield f"permissions.{field}: {path!r} is not an absolute path without ':'"
    if rights.home_dir is not None and is_own_place(rights.home_dir):
        yield f"permissions.home_dir: a local world keeps {rights.home_dir} for itself; use a folder below /home"
    mode = rights.home_permissions
    if mode is not None and not _MODE.fullmatch(str(mode)):
        yield f"permissions.home_permissions: {mode!r} is not a mode in octal digits, such as 755"
