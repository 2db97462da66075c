"""Adding accounts to the files of a system that has some: ``passwd``, ``group``, and their shadows. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gym_anything.runtime.session.accounts import DESKTOP_USER, AccountFiles, decide_accounts, hashed
from gym_anything.specs.accounts import UserAccount

PATHS = {"passwd": "/etc/passwd", "group": "/etc/group", "shadow": "/etc/shadow", "gshadow": "/etc/gshadow"}
"""Where each of the texts lies."""
_FOR_EVER = "19000:0:99999:7:::"


@dataclass(frozen=True)
class AccountTexts:
    """The four files as text. A system without shadow files has them empty, and gets them."""

    passwd: str
    group: str
    shadow: str = ""
    gshadow: str = ""

    def users(self) -> dict[str, tuple[int, int]]:
        """Return name -> (uid, gid)."""
        rows = (line.split(":") for line in self.passwd.splitlines())
        return {row[0]: (int(row[2]), int(row[3])) for row in rows if len(row) >= 4 and row[2].isdigit()}

    def groups(self) -> dict[str, int]:
        """Return name -> gid."""
        rows = (line.split(":") for line in self.group.splitlines())
        return {row[0]: int(row[2]) for row in rows if len(row) >= 3 and row[2].isdigit()}


def accounts_in(texts: AccountTexts, users: Sequence[UserAccount]) -> AccountFiles:
    """Decide numbers for these accounts (and the desktop's user); who exists keeps the numbers that files belong to."""
    existing = texts.users()
    names = {gid: name for name, gid in texts.groups().items()}
    asked = list(users)
    if DESKTOP_USER in existing and all(user.name != DESKTOP_USER for user in users):
        asked.append(UserAccount(name=DESKTOP_USER))
    kept = [_as_it_is(user, existing.get(user.name), names) for user in asked]
    return decide_accounts(kept, groups=texts.groups(), uids=(uid for uid, _ in existing.values()))


def _as_it_is(user: UserAccount, numbers: tuple[int, int] | None, group_names: Mapping[int, str]) -> UserAccount:
    if numbers is None:
        return user
    uid, gid = numbers
    primary = user.permissions.primary_group or group_names.get(gid)
    rights = user.permissions.model_copy(update={"primary_group": primary})
    return user.model_copy(update={"uid": uid, "gid": gid, "permissions": rights})


def with_accounts(texts: AccountTexts, people: AccountFiles, *, salt: str = "") -> AccountTexts:
    """Return the texts with these accounts in them, in place where they were, else at the end.

    An account that exists and has no password in the spec keeps the one it has.
    Args: salt: see ``accounts.hashed``.
    """
    accounts = {account.name: account for account in people.accounts}
    passwd = {a.name: f"{a.name}:x:{a.uid}:{a.gid}:{a.name}:{a.home}:{a.login_shell}" for a in accounts.values()}
    known = {line.split(":")[0] for line in texts.shadow.splitlines()}
    shadow = {
        name: f"{name}:{hashed(account.password, salt)}:{_FOR_EVER}"
        for name, account in accounts.items()
        if account.password is not None or name not in known
    }
    members = {name: _members(texts.group, name, people.members.get(name, ())) for name in people.groups}
    group = {name: f"{name}:x:{gid}:{','.join(members[name])}" for name, gid in people.groups.items()}
    gshadow = {name: f"{name}:!::{','.join(members[name])}" for name in people.groups}
    return AccountTexts(
        passwd=_replaced(texts.passwd, passwd),
        group=_replaced(texts.group, group),
        shadow=_replaced(texts.shadow, shadow),
        gshadow=_replaced(texts.gshadow, gshadow),
    )


def _members(group: str, name: str, added: Iterable[str]) -> list[str]:
    row = next((line.split(":") for line in group.splitlines() if line.split(":")[0] == name), [])
    present = [member for member in (row[3] if len(row) > 3 else "").split(",") if member]
    return list(dict.fromkeys([*present, *added]))


def _replaced(text: str, lines: Mapping[str, str]) -> str:
    left = dict(lines)
    kept = [left.pop(line.split(":")[0], line) for line in text.splitlines() if line]
    return "\n".join([*kept, *left.values()]) + "\n"
