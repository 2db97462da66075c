"""A user of this machine who is not root, for the time of a test: made, used to run a program of the tests, removed."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from gym_anything.runtime.native.locate import cache_folder

ROOT = Path(__file__).parents[1]


def what_lacks() -> str:
    """Say why this machine cannot make such a user; empty when it can."""
    if os.geteuid() != 0:
        return "making a user of this machine needs root"
    if shutil.which("newuidmap") is None:
        return "newuidmap is not installed (uidmap)"
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    system = subprocess.run(["/usr/bin/python3", "-V"], capture_output=True, text=True, check=False).stdout
    return "" if f" {version}." in system else f"the system's Python is not {version}"


class OrdinaryUser:
    """A user of this machine.

    Attributes:
        before: a command line that the user's programs are started by, still as root.
        variables: of their environment.
    """

    def __init__(self, name: str, program: Path) -> None:
        self.name = name
        self.home = Path(pwd.getpwnam(name).pw_dir)
        self.before: Sequence[str] = ()
        self.variables: Mapping[str, str] = {}
        self._program = program

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run the test's program as this user, on the system's Python with our packages."""
        paths = f"{ROOT / 'src'}:{ROOT}:{sysconfig.get_paths()['purelib']}"
        env = [f"HOME={self.home}", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", f"PYTHONPATH={paths}"]
        env += [f"{name}={value}" for name, value in self.variables.items()]
        identity = ["setpriv", f"--reuid={self.name}", f"--regid={self.name}", "--init-groups"]
        argv = [*self.before, *identity, "env", "-i", *env, "PYTHONDONTWRITEBYTECODE=1", "/usr/bin/python3"]
        argv += [str(self._program), *words]
        return subprocess.run(argv, capture_output=True, text=True, timeout=110, check=False, cwd="/")

    def give(self, source: Path, place: str) -> None:
        """Give the user a copy of a file or folder, at a path below the home."""
        target = self.home / place
        target.parent.mkdir(parents=True, exist_ok=True)
        _run("cp", "--archive", str(source), str(target))
        _run("chown", "-R", f"{self.name}:{self.name}", str(self.home))


@contextmanager
def ordinary_user(name: str, program: Path, groups: Sequence[str] = ()) -> Iterator[OrdinaryUser]:
    """Make the user, with our native programs in the home, for the block. ``groups``: further ones, that exist."""
    try:
        pwd.getpwnam(name)
    except KeyError:
        pass
    else:
        _run("userdel", "-rf", name)
    _run("useradd", "--create-home", "--shell", "/bin/bash", *(["--groups", ",".join(groups)] if groups else []), name)
    try:
        user = OrdinaryUser(name, program)
        built = user.home / ".cache" / "gym-anything" / "native"
        shutil.copytree(cache_folder(), built, ignore=shutil.ignore_patterns("*.lock"))
        _run("chown", "-R", f"{name}:{name}", str(user.home))
        yield user
    finally:
        _run("userdel", "-rf", name)


def facts(done: subprocess.CompletedProcess[str]) -> dict[str, object]:
    """Return the JSON object that is the last line a program of the tests printed."""
    assert done.returncode == 0, done.stderr[-3000:]
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _run(*argv: str) -> None:
    subprocess.run(argv, check=True, capture_output=True)
