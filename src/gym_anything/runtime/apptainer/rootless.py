"""Apptainer for a user who is not root: root of a world is that user, its other users are the ids granted to him.

What a world writes lies in an overlay. In a user namespace the kernel's own overlay cannot note that a folder was
replaced (apptainer mounts it without ``userxattr``), and fails with an input/output error; ``fuse-overlayfs`` can. A
setting of apptainer's chooses it, which an installation without setuid programs reads from any file.
"""

from __future__ import annotations

import os
import pwd
import re
import shutil
import subprocess
from pathlib import Path

from gym_anything.errors import MissingDependency, WorldStartFailed
from gym_anything.runtime.apptainer.program import SEARCH, require_program

_OVERLAY = re.compile(r"^[ \t]*enable overlay[ \t]*=.*$", re.MULTILINE)
_BY_DRIVER = "enable overlay = driver"
_SETTINGS = "apptainer.conf"
_IDS = 65536
_LIMIT_S = 20.0
PACKAGES = {"newuidmap": "uidmap", "fuse-overlayfs": "fuse-overlayfs", "squashfuse": "squashfuse"}
"""Program that a world of an ordinary user needs -> Debian package that brings it."""


def settings_file(folder: Path) -> str:
    """Write apptainer's own settings, with the overlay by ``fuse-overlayfs``, into a folder; return where.

    Empty, which means its own settings, for an installation with setuid programs: that one reads no others.
    """
    facts = build_facts(require_program())
    if facts.get("APPTAINER_SUID_INSTALL") == "1":
        return ""
    path = folder / _SETTINGS
    path.write_text(with_driver(_own_settings(facts)), encoding="utf-8")
    return str(path)


def with_driver(settings: str) -> str:
    """Return apptainer's settings with the overlay by a program instead of the kernel. Pure."""
    changed, count = _OVERLAY.subn(_BY_DRIVER, settings)
    return changed if count else f"{settings}\n{_BY_DRIVER}\n"


def build_facts(program: str) -> dict[str, str]:
    """Return what an apptainer was built with: ``apptainer buildcfg``. Raises: MissingDependency."""
    try:
        done = subprocess.run([program, "buildcfg"], capture_output=True, text=True, timeout=_LIMIT_S, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise MissingDependency(f"{program} does not say how it was built: {error}", detail={"fix": ""}) from error
    return dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)


def owner_argv() -> list[str]:
    """Return what has a program see the owners of a world's files as they are in it, to be put before its command line.

    For an ordinary user: the ids granted to him, mapped as ``apptainer --fakeroot`` maps them. Empty for root.
    """
    return [] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--map-auto", "--"]


def lacking() -> dict[str, str]:
    """Return what an ordinary user lacks for worlds: in words -> how to get it; empty when nothing."""
    found = {
        f"{name} is not installed": f"apt-get install --no-install-recommends {package}"
        for name, package in PACKAGES.items()
        if shutil.which(name, path=SEARCH) is None
    }
    user = pwd.getpwuid(os.geteuid()).pw_name
    for kind in ("subuid", "subgid"):
        if _granted(Path("/etc", kind), user) < _IDS:
            fix = f"sudo usermod --add-{kind}s 100000-{100000 + _IDS - 1} {user}"
            found[f"/etc/{kind} grants {user} fewer than {_IDS} ids"] = fix
    return found


def _granted(path: Path, user: str) -> int:
    names = (user, str(os.geteuid()))
    try:
        rows = [line.split(":") for line in path.read_text(encoding="utf-8").splitlines()]
    except FileNotFoundError:
        return 0
    return max((int(row[2]) for row in rows if len(row) == 3 and row[0] in names and row[2].isdigit()), default=0)


def _own_settings(facts: dict[str, str]) -> str:
    path = Path(facts.get("APPTAINER_CONF_FILE", ""))
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise WorldStartFailed(f"apptainer's settings {path} cannot be read: {error}") from error
