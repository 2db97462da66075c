"""A real build has the digest of the last one; a build that fails or is ended says why and leaves nothing."""

from __future__ import annotations

import shutil
import tarfile
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from gym_anything._util.state_dir import Run
from gym_anything._util.supervisor import Supervisor
from gym_anything.errors import Aborted, HostError
from gym_anything.runtime.images import rootfs
from gym_anything.runtime.images.recipe import load_recipe
from gym_anything.runtime.images.rootfs import build_rootfs, plan_build
from gym_anything.runtime.images.store import ImageStore
from gym_anything.runtime.images.verify import verify_image
from gym_anything.testing.leaks import LeakCheck

pytestmark = pytest.mark.real

PLAN = plan_build(load_recipe("debian-minimal"))
BUILDS = [
    pytest.param("debian-minimal", marks=pytest.mark.slow),
    "debian-desktop",
]


@pytest.mark.soak
@pytest.mark.parametrize("name", BUILDS)
@pytest.mark.timeout(1800)
def test_a_new_build_of_the_same_packages_has_the_digest_of_the_one_this_machine_has(
    name: str, tmp_path: Path, require_backend: Callable[[str, bool, str], None]
) -> None:
    require_backend("mmdebstrap", shutil.which("mmdebstrap") is not None, "not installed: apt-get install mmdebstrap")
    told: list[str] = []
    plan = plan_build(load_recipe(name))
    new = build_rootfs(plan, store=ImageStore(tmp_path), progress=lambda stage, _: told.append(stage))
    known = build_rootfs(plan)
    if known.record["packages"] != new.record["packages"]:  # Debian has published newer ones meanwhile
        known = build_rootfs(plan, force=True)
    assert new.record["packages"] == known.record["packages"] and "sudo" in new.record["packages"]
    assert new.digest == known.digest
    assert verify_image(new).ok and not verify_image(new).outdated
    assert "writing the root file system" in told
    with tarfile.open(new.rootfs) as tar:
        found = {member.name: member for member in tar}
    assert found["./opt/gym-anything/ga-guest"].mode == 0o755 and found["./home/ga"].uid == 1000
    assert not [name for name in found if name.startswith(("./var/log/", "./tmp/")) and found[name].isfile()]


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ImageStore]:
    """Return ``use(script)``: a shell script in the place of mmdebstrap, and an empty store."""
    Supervisor.shared()  # stays for the whole session, so it is no leak of a test

    def use(script: str) -> ImageStore:
        program = tmp_path / "bin" / "mmdebstrap"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setattr(rootfs, "_SEARCH", str(program.parent))
        return ImageStore(tmp_path / "store")

    return use


@pytest.mark.parametrize(
    "script",
    [
        "echo 'E: Unable to locate package no-such' >&2; exit 25",
        "echo 'E: Unable to locate package no-such' >&2; head -c 20000 /dev/zero; exit 25",
        "echo 'E: Unable to locate package no-such' >&2; exec cat /etc/os-release",
    ],
)
def test_a_build_that_fails_says_why_and_leaves_nothing(
    stand_in: Callable[[str], ImageStore], script: str, no_leaks: LeakCheck
) -> None:
    store = stand_in(script)
    with pytest.raises(HostError, match="Unable to locate package no-such") as caught:
        build_rootfs(PLAN, store=store)
    assert "no-such" in caught.value.detail["log_tail"]
    assert store.all() == [] and not list(store.root.glob("*.partial"))
    assert Run.current().worlds == []


def test_a_build_that_is_given_up_ends_at_once(
    stand_in: Callable[[str], ImageStore], monkeypatch: pytest.MonkeyPatch, no_leaks: LeakCheck
) -> None:
    store = stand_in("echo 'I: running apt-get update...' >&2; exec sleep 1000")
    builds: list[rootfs._Build] = []
    make = rootfs._Build
    monkeypatch.setattr(rootfs, "_Build", lambda *args: builds.append(make(*args)) or builds[0])
    told = threading.Event()

    def end() -> None:
        told.wait(30)
        builds[0].give_up()

    ender = threading.Thread(target=end)
    ender.start()
    with pytest.raises(Aborted):
        build_rootfs(PLAN, store=store, progress=lambda stage, _: told.set())
    ender.join()
    assert store.all() == [] and not list(store.root.glob("*.partial"))
