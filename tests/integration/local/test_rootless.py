"""An ordinary user has local worlds, too: with granted ids, and, with less, with one id only."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gym_anything.runtime.native.locate import cache_folder
from tests.integration.local.escapes import ESCAPES

pytestmark = [pytest.mark.real, pytest.mark.slow]

NAME = "ga-test-user"
PROGRAM = Path(__file__).with_name("rootless_program.py")


def _run(*argv: str) -> None:
    subprocess.run(argv, check=True, capture_output=True)


class OrdinaryUser:
    """A user of this machine, for the time of a test."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run our program as this user, on the system's Python with our packages."""
        packages = sysconfig.get_paths()["purelib"]
        source = Path(__file__).parents[3] / "src"
        env = [f"HOME={self.home}", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", f"PYTHONPATH={source}:{packages}"]
        identity = ["setpriv", f"--reuid={NAME}", f"--regid={NAME}", "--init-groups"]
        argv = [*identity, "env", "-i", *env, "PYTHONDONTWRITEBYTECODE=1", "/usr/bin/python3", str(PROGRAM), *words]
        return subprocess.run(argv, capture_output=True, text=True, timeout=110, check=False, cwd="/")


@pytest.fixture(scope="module")
def user(local_backend: None, require_backend: Callable[[str, bool, str], None]) -> Iterator[OrdinaryUser]:
    require_backend("rootless", os.geteuid() == 0, "making a user of this machine needs root")
    require_backend("rootless", shutil.which("newuidmap") is not None, "newuidmap is not installed (uidmap)")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    system = subprocess.run(["/usr/bin/python3", "-V"], capture_output=True, text=True, check=False).stdout
    require_backend("rootless", f" {version}." in system, f"the system's Python is not {version}")
    try:
        pwd.getpwnam(NAME)
    except KeyError:
        pass
    else:
        _run("userdel", "-rf", NAME)
    _run("useradd", "--create-home", "--shell", "/bin/bash", NAME)
    try:
        home = Path(pwd.getpwnam(NAME).pw_dir)
        built = home / ".cache" / "gym-anything" / "native"
        shutil.copytree(cache_folder(), built, ignore=shutil.ignore_patterns("*.lock"))
        _run("chown", "-R", f"{NAME}:{NAME}", str(home))
        yield OrdinaryUser(home)
    finally:
        _run("userdel", "-rf", NAME)


def facts(done: subprocess.CompletedProcess[str]) -> dict[str, object]:
    assert done.returncode == 0, done.stderr[-3000:]
    return dict(json.loads(done.stdout.splitlines()[-1]))


def test_an_ordinary_users_world_works_and_holds(user: OrdinaryUser) -> None:
    """Hooks as root, sudo, files, a checkpoint; nobody gets out; nothing is left."""
    found = facts(user.run("world"))
    assert found["ids"] == "newuidmap"
    assert found["root"] == "0" and found["desktop"] == "1000" and found["sudo"] == "0"
    assert found["restored"] == "kept"
    assert found["held"] == len(ESCAPES), found["out"]
    assert found["left"] == []


def test_without_granted_ids_a_world_has_one_and_says_so(user: OrdinaryUser) -> None:
    saved = {name: Path(f"/etc/{name}").read_text() for name in ("subuid", "subgid")}
    try:
        for name, text in saved.items():
            Path(f"/etc/{name}").write_text(
                "".join(line for line in text.splitlines(True) if not line.startswith(NAME))
            )
        found = facts(user.run("world"))
    finally:
        for name, text in saved.items():
            Path(f"/etc/{name}").write_text(text)
    assert found["ids"] == "single"
    assert found["root"] == found["desktop"] == "0"
    assert any("one id" in str(note) for note in found["notes"])  # type: ignore[attr-defined]
    owned = {escape.name for escape in ESCAPES if " init" in escape.name} | {"reopen the log it writes to"}
    assert set(found["out"]) <= owned, "its root is the launcher's own user: only what that user started is open to it"  # type: ignore[call-overload]
    assert found["restored"] == "kept"
    assert found["left"] == []


def test_what_a_killed_user_leaves_is_collected(user: OrdinaryUser) -> None:
    """L3: also files that belong to the user's granted ids."""
    done = user.run("die")
    assert done.returncode == -9
    found = facts(user.run("collect"))
    assert found["left"] == []
