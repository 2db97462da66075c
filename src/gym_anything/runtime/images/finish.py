"""From the tar that ``mmdebstrap`` writes to the root file system: pure work on a stream, the same bytes every time.

What differs between two builds of the same packages is taken out (logs, caches, machine id, times after the epoch);
accounts, our programs and the recipe's own files are put in at the end, in a fixed order.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import IO

from gym_anything.errors import HostError
from gym_anything.runtime.images.recipe import ImageUser, Recipe
from gym_anything.runtime.session.account_texts import PATHS, AccountTexts, accounts_in, with_accounts
from gym_anything.specs.accounts import Permissions, UserAccount

EPOCH = 1735689600
"""Nothing in an image is younger: 2025-01-01. Also ``SOURCE_DATE_EPOCH`` of the build."""
PROGRAM_FOLDER = "opt/gym-anything"
_STATUS = "var/lib/dpkg/status"
_SALT = "gymanything"
_TEXTS = {path.lstrip("/"): name for name, path in PATHS.items()}
_LEFT_OUT = (
    "dev/*", "etc/group-", "etc/gshadow-", "etc/hostname", "etc/passwd-", "etc/resolv.conf", "etc/shadow-",
    "etc/ssh/ssh_host_*", "etc/subgid-", "etc/subuid-", "run/*", "tmp/*", "var/cache/apt/*", "var/cache/debconf/*-old",
    "var/cache/ldconfig/aux-cache", "var/lib/apt/lists/*", "var/lib/dbus/machine-id", "var/lib/dpkg/*-old",
    "var/lib/dpkg/lock*", "var/lib/systemd/random-seed", "var/log/*",
)  # fmt: skip


class Finisher:
    """Reads one tar stream, writes another; afterwards ``packages`` says what is in it."""

    def __init__(self, recipe: Recipe, programs: Mapping[str, bytes]) -> None:
        """Args: programs: name -> content of the programs of ours that the recipe names."""
        self._recipe = recipe
        self._programs = programs
        self._texts: dict[str, str] = {}
        self._folders: set[str] = set()
        self.packages: dict[str, str] = {}
        self.members = 0

    def run(self, source: IO[bytes], target: IO[bytes], *, tick: Callable[[], object] = lambda: None) -> None:
        """Copy; ``tick`` is called for every member. Raises: HostError when the stream is no whole root file system."""
        try:
            with (
                tarfile.open(fileobj=source, mode="r|") as old,
                tarfile.open(fileobj=target, mode="w|", format=tarfile.PAX_FORMAT) as new,
            ):
                for member in old:
                    tick()
                    self._take(old, new, member)
                self._add_ours(new)
        except tarfile.TarError as error:
            raise HostError(f"mmdebstrap wrote no whole archive: {error}") from error

    def _take(self, old: tarfile.TarFile, new: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        path = member.name.removeprefix("./")
        if any(fnmatchcase(path, pattern) for pattern in _LEFT_OUT):
            if member.isdir() and path.startswith("var/log/"):
                self._write(new, member, None)  # services expect their own log folder
            return
        content = old.extractfile(member) if member.isreg() else None
        if path in _TEXTS:
            assert content is not None
            self._texts[_TEXTS[path]] = content.read().decode()
            return
        if path == "etc/machine-id":
            return
        if path == _STATUS and content is not None:
            text = content.read()
            self.packages = package_versions(text.decode())
            content = io.BytesIO(text)
        self._write(new, member, content)

    def _write(self, new: tarfile.TarFile, member: tarfile.TarInfo, content: IO[bytes] | None) -> None:
        member.mtime = min(int(member.mtime), EPOCH)
        member.uname = member.gname = ""
        member.pax_headers = {key: value for key, value in member.pax_headers.items() if key.startswith("SCHILY.xattr")}
        if member.isdir():
            self._folders.add(member.name.removeprefix("./").rstrip("/"))
        self.members += 1
        new.addfile(member, content)

    def _add_ours(self, new: tarfile.TarFile) -> None:
        if not self.packages or "passwd" not in self._texts:
            raise HostError("what mmdebstrap wrote is no Debian root file system")
        texts = AccountTexts(**self._texts)
        people = accounts_in(texts, [_account(user) for user in self._recipe.users])
        done = with_accounts(texts, people, salt=_SALT)
        shadow_gid = texts.groups().get("shadow", 0)
        self._file(new, "etc/passwd", done.passwd.encode())
        self._file(new, "etc/group", done.group.encode())
        self._file(new, "etc/shadow", done.shadow.encode(), mode=0o640, gid=shadow_gid)
        self._file(new, "etc/gshadow", done.gshadow.encode(), mode=0o640, gid=shadow_gid)
        self._file(new, "etc/machine-id", b"")
        self._file(new, "etc/hostname", b"desktop\n")
        for user in self._recipe.users:
            self._home(new, user)
        for name in sorted(self._programs):
            self._file(new, f"{PROGRAM_FOLDER}/{name}", self._programs[name], mode=0o755)
        for target, mode, path in self._recipe.files():
            self._file(new, target, path.read_bytes(), mode=mode)

    def _home(self, new: tarfile.TarFile, user: ImageUser) -> None:
        home = f"home/{user.name}"
        for folder in (home, *(f"{home}/{name}" for name in ("Desktop", "Documents", "Downloads", ".config"))):
            self._folder(new, folder, uid=user.uid)
        if user.sudo:
            line = f"{user.name} ALL=(ALL:ALL) NOPASSWD: ALL\n"
            self._file(new, f"etc/sudoers.d/{user.name}", line.encode(), mode=0o440)

    def _folder(self, new: tarfile.TarFile, path: str, *, uid: int = 0) -> None:
        if path in self._folders:
            return
        parent = path.rpartition("/")[0]
        if parent:
            self._folder(new, parent)
        member = tarfile.TarInfo(f"./{path}")
        member.type, member.mode, member.uid, member.gid = tarfile.DIRTYPE, 0o755, uid, uid
        member.mtime = EPOCH
        self._write(new, member, None)

    def _file(self, new: tarfile.TarFile, path: str, content: bytes, *, mode: int = 0o644, gid: int = 0) -> None:
        self._folder(new, path.rpartition("/")[0])
        member = tarfile.TarInfo(f"./{path}")
        member.size, member.mode, member.gid, member.mtime = len(content), mode, gid, EPOCH
        self._write(new, member, io.BytesIO(content))


def package_versions(status: str) -> dict[str, str]:
    """Return package -> version from the text of dpkg's status file."""
    found = {}
    for paragraph in status.split("\n\n"):
        fields = dict(_fields(paragraph))
        if "Package" in fields and fields.get("Status", "").endswith(" installed"):
            found[fields["Package"]] = fields.get("Version", "")
    return dict(sorted(found.items()))


def _fields(paragraph: str) -> Iterator[tuple[str, str]]:
    for line in paragraph.splitlines():
        name, colon, value = line.partition(": ")
        if colon and not line.startswith(" "):
            yield name, value


def _account(user: ImageUser) -> UserAccount:
    rights = Permissions(sudo=user.sudo, sudo_nopasswd=user.sudo, groups=user.groups, shell=user.shell)
    return UserAccount(name=user.name, uid=user.uid, gid=user.uid, password=user.password, permissions=rights)
