"""The accounts of a Linux world: the text of its passwd, group and shadow files."""

from __future__ import annotations

import ctypes
import ctypes.util
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from gym_anything.specs.accounts import UserAccount

DESKTOP_USER = "ga"
DESKTOP_PASSWORD = "password123"
_SYSTEM_USERS = {
    "daemon": (1, 1, "/usr/sbin"),
    "bin": (2, 2, "/bin"),
    "sys": (3, 3, "/dev"),
    "man": (6, 12, "/var/cache/man"),
    "mail": (8, 8, "/var/mail"),
    "www-data": (33, 33, "/var/www"),
    "nobody": (65534, 65534, "/nonexistent"),
}
SYSTEM_NAMES = frozenset({"root", *_SYSTEM_USERS})
_GROUPS = (
    "root:0 daemon:1 bin:2 sys:3 adm:4 tty:5 disk:6 lp:7 mail:8 man:12 kmem:15 dialout:20 cdrom:24 floppy:25 "
    "sudo:27 audio:29 www-data:33 src:40 shadow:42 utmp:43 video:44 plugdev:46 staff:50 games:60 users:100 "
    "input:105 render:106 netdev:107 docker:108 nogroup:65534"
)
_SYSTEM_GROUPS = {name: int(gid) for name, _, gid in (word.partition(":") for word in _GROUPS.split())}
_FIRST_UID = 1000
_FIRST_OWN_GID = 900


@dataclass(frozen=True)
class Account:
    """One account with its numbers decided."""

    name: str
    uid: int
    gid: int
    home: str
    login_shell: str
    home_mode: int = 0o755
    make_home: bool = True
    groups: tuple[int, ...] = ()
    may_sudo: bool = False
    password: str | None = field(default=None, repr=False)
    max_processes: int | None = None
    env: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class AccountFiles:
    """All accounts of a world and the files that name them."""

    accounts: tuple[Account, ...]
    groups: dict[str, int]
    members: dict[str, list[str]]

    @property
    def desktop(self) -> Account:
        """The account the desktop runs as."""
        return next(account for account in self.accounts if account.name == DESKTOP_USER)

    def passwd(self) -> str:
        """Return ``/etc/passwd``."""
        lines = ["root:x:0:0:root:/root:/bin/bash"]
        lines += [f"{n}:x:{u}:{g}:{n}:{home}:/usr/sbin/nologin" for n, (u, g, home) in _SYSTEM_USERS.items()]
        lines += [f"{a.name}:x:{a.uid}:{a.gid}:{a.name}:{a.home}:{a.login_shell}" for a in self.accounts]
        return "\n".join(lines) + "\n"

    def group(self) -> str:
        """Return ``/etc/group``."""
        return "".join(f"{n}:x:{gid}:{','.join(self.members.get(n, ()))}\n" for n, gid in self.groups.items())

    def shadow(self) -> str:
        """Return ``/etc/shadow``; accounts without a password, and those the C library cannot hash for, are locked."""
        lines = [f"{name}:*:19000:0:99999:7:::" for name in ("root", *_SYSTEM_USERS)]
        lines += [f"{a.name}:{hashed(a.password)}:19000:0:99999:7:::" for a in self.accounts]
        return "\n".join(lines) + "\n"

    def gshadow(self) -> str:
        """Return ``/etc/gshadow``."""
        return "".join(f"{n}:*::{','.join(self.members.get(n, ()))}\n" for n in self.groups)


def decide_accounts(
    users: Sequence[UserAccount],
    *,
    single_id: bool = False,
    groups: Mapping[str, int] = _SYSTEM_GROUPS,
    uids: Iterable[int] = (),
) -> AccountFiles:
    """Give every account its numbers; the desktop user is always there.

    Args:
        single_id: the host grants the world one id only, so everybody is 0.
        groups, uids: those that are there already; new accounts get others.
    """
    by_name = {user.name: user for user in users}
    wanted = [by_name.pop(DESKTOP_USER, UserAccount(name=DESKTOP_USER, password=DESKTOP_PASSWORD)), *by_name.values()]
    taken = {user.uid for user in wanted if user.uid is not None} | {0, *uids}
    groups = dict(groups)
    members: dict[str, list[str]] = {}
    accounts = []
    for user in wanted:
        uid = _uid(user, taken)
        taken.add(uid)
        accounts.append(_account(user, uid, groups, members, single_id=single_id))
    return AccountFiles(tuple(accounts), groups, members)


def _uid(user: UserAccount, taken: set[int]) -> int:
    if user.uid is not None:
        return user.uid
    uid = _FIRST_UID if not user.permissions.system_user else 200
    while uid in taken:
        uid += 1
    return uid


def _account(
    user: UserAccount, uid: int, groups: dict[str, int], members: dict[str, list[str]], *, single_id: bool
) -> Account:
    rights = user.permissions
    primary = rights.primary_group or user.name
    gid = groups.setdefault(primary, user.gid if user.gid is not None else _free_gid(groups, uid))
    extra = list(rights.groups)
    sudo = rights.sudo or rights.sudo_nopasswd or "sudo" in extra or user.name == DESKTOP_USER
    if sudo and "sudo" not in extra:
        extra.append("sudo")
    for name in extra:
        groups.setdefault(name, _free_gid(groups, _FIRST_OWN_GID))
        members.setdefault(name, []).append(user.name)
    shell = rights.shell or "/bin/bash"
    password = str(user.password) if user.password is not None else None
    return Account(
        name=user.name,
        uid=0 if single_id else uid,
        gid=0 if single_id else gid,
        home=rights.home_dir or f"/home/{user.name}",
        login_shell=shell if rights.login_shell else "/usr/sbin/nologin",
        home_mode=int(str(rights.home_permissions or "755"), 8),
        make_home=rights.create_home,
        groups=() if single_id else tuple(sorted({gid, *(groups[name] for name in extra)})),
        may_sudo=sudo,
        password=password,
        max_processes=rights.max_processes,
        env=tuple(rights.env_vars.items()),
    )


def _free_gid(groups: dict[str, int], first: int) -> int:
    gid, taken = first, set(groups.values())
    while gid in taken:
        gid += 1
    return gid


def hashed(password: str | None, salt: str = "") -> str:
    """Return a SHA-512 crypt hash by the C library, or ``*`` (nothing matches).

    Args: salt: for who needs the same hash again (an image); by default a new one.
    """
    library = ctypes.util.find_library("crypt") if password is not None else None
    if library is None or password is None:
        return "*"
    crypt = ctypes.CDLL(library).crypt
    crypt.restype = ctypes.c_char_p
    answer = crypt(password.encode(), f"$6${salt or secrets.token_hex(8)}$".encode())
    return answer.decode() if isinstance(answer, bytes) and answer.startswith(b"$6$") else "*"
