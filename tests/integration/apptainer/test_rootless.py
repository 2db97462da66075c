"""An ordinary user has Apptainer worlds, too: root of a world is that user, its users are the ids granted to him."""

from __future__ import annotations

import pwd
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gym_anything.runtime.apptainer.program import PROGRAM, require_program
from gym_anything.runtime.runners.apptainer.command import CAPABILITIES
from tests.docker_engine import built
from tests.ordinary_user import OrdinaryUser, facts, ordinary_user, what_lacks

pytestmark = [pytest.mark.real, pytest.mark.slow]

NAME = "ga-test-rootless"
_SHOW = """set -e
mkdir -p /mnt; mount -t tmpfs tmpfs /mnt; mkdir /mnt/it; mount --bind "$1" /mnt/it
mount -t tmpfs -o mode=755 tmpfs /root; mkdir -p "$1"; mount --move /mnt/it "$1"; umount /mnt
shift; exec "$@"
"""
"""Shows a folder below root's home, which only root may enter, to whoever is started by this."""


@pytest.fixture(scope="module")
def user(apptainer_backend: None, require_backend: Callable[[str, bool, str], None]) -> Iterator[OrdinaryUser]:
    lacking = what_lacks()
    require_backend("rootless", not lacking, lacking)
    image = built("debian-minimal", require_backend)
    program = Path(require_program())
    with ordinary_user(NAME, Path(__file__).with_name("rootless_program.py")) as made:
        made.give(image.path, f".cache/gym-anything/images/{image.path.name}")
        made.variables = {PROGRAM.name: str(program)}
        if Path("/root") in program.parents:
            folder = str(program.parents[2])
            made.before = ["unshare", "--mount", "--propagation", "private", "sh", "-c", _SHOW, "sh", folder]
        yield made


def test_an_ordinary_users_world_works_and_holds(user: OrdinaryUser) -> None:
    """Hooks as root, sudo, owners, a way out, a checkpoint of replaced folders; no view of the host; nothing is left."""
    found = facts(user.run("world"))
    assert found["doctor"] is None
    assert found["ids"] == ["0", "1000", "0", "shadow"]
    assert found["on_the_host"] == pwd.getpwnam(NAME).pw_uid
    assert bin(int(str(found["rights"]))).count("1") == len(CAPABILITIES) and found["mounts"] != 0
    assert found["takes_memory"] is True
    assert found["sees"] == "ga" and found["route"] is True
    assert found["restored"] == "kept\n65534"
    assert ("resources.mem_gb" in found["unenforced"]) == any("mem_gb" in n for n in found["notes"])  # type: ignore[operator, attr-defined]
    assert found["deleted"] is True and found["left"] == []


def test_what_a_killed_user_leaves_is_collected(user: OrdinaryUser) -> None:
    """L3: also files that belong to the user's granted ids."""
    done = user.run("die")
    assert done.returncode == -9, done.stderr
    found = facts(user.run("collect"))
    assert (found["left"], found["failed"], found["processes"]) == ([], [], [])
