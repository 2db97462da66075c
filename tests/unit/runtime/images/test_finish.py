"""Finishing a root file system: what differs between two builds goes, what is ours comes, the same bytes every time."""

from __future__ import annotations

import io
import tarfile

import pytest

from gym_anything.errors import HostError
from gym_anything.runtime.images.finish import EPOCH, Finisher, package_versions
from gym_anything.runtime.images.recipe import ImageUser, Recipe

pytestmark = pytest.mark.unit

STATUS = (
    "Package: dash\nStatus: install ok installed\nVersion: 0.5-1\n\nPackage: gone\nStatus: deinstall ok config-files\n"
)
FILES = {
    "etc/group": "root:x:0:\nsudo:x:27:\nshadow:x:42:\n",
    "etc/gshadow": "root:*::\nsudo:*::\nshadow:*::\n",
    "etc/passwd": "root:x:0:0:root:/root:/bin/bash\n",
    "etc/shadow": "root:*:19000:0:99999:7:::\n",
    "var/lib/dpkg/status": STATUS,
}
RECIPE = Recipe(
    name="tiny", about="", users=(ImageUser(name="ga", uid=1000, password="password123", groups=("sudo",), sudo=True),)
)


def built(extra: dict[str, str], mtime: int) -> io.BytesIO:
    """Return what mmdebstrap would write."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for folder in ("etc", "home", "var", "var/log", "var/log/apt", "tmp"):
            member = tarfile.TarInfo(f"./{folder}")
            member.type, member.mtime, member.mode = tarfile.DIRTYPE, mtime, 0o755
            tar.addfile(member)
        for path, text in sorted({**FILES, **extra}.items()):
            member = tarfile.TarInfo(f"./{path}")
            member.size, member.mtime, member.uname = len(text), mtime, "root"
            tar.addfile(member, io.BytesIO(text.encode()))
    out.seek(0)
    return out


def finished(source: io.BytesIO, recipe: Recipe = RECIPE) -> tuple[bytes, Finisher]:
    finisher, out = Finisher(recipe, {"ga-guest": b"program"}), io.BytesIO()
    finisher.run(source, out)
    return out.getvalue(), finisher


def members(data: bytes) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        return {member.name.removeprefix("./"): member for member in tar}


def text_of(data: bytes, path: str) -> str:
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        file = tar.extractfile(f"./{path}")
        assert file is not None
        return file.read().decode()


def test_two_builds_that_differ_in_times_logs_and_caches_become_the_same_bytes() -> None:
    noise = {
        "etc/machine-id": "0123", "var/log/dpkg.log": "a", "tmp/x": "a", "var/cache/apt/pkgcache.bin": "a",
        "var/cache/ldconfig/aux-cache": "a", "etc/passwd-": "a", "etc/resolv.conf": "nameserver 1.2.3.4",
    }  # fmt: skip
    one, _ = finished(built(noise, mtime=EPOCH + 1000))
    two, _ = finished(built({**dict.fromkeys(noise, "other"), "etc/hostname": "builder"}, mtime=EPOCH + 2000))
    assert one == two


def test_another_content_gives_other_bytes() -> None:
    assert finished(built({"etc/motd": "a"}, EPOCH))[0] != finished(built({"etc/motd": "b"}, EPOCH))[0]


def test_the_accounts_their_homes_and_the_way_to_root_are_there() -> None:
    data, _ = finished(built({}, EPOCH))
    assert text_of(data, "etc/passwd").splitlines()[1] == "ga:x:1000:1000:ga:/home/ga:/bin/bash"
    assert "sudo:x:27:ga" in text_of(data, "etc/group").splitlines()
    assert text_of(data, "etc/shadow").splitlines()[1].startswith("ga:$6$")
    assert text_of(data, "etc/sudoers.d/ga") == "ga ALL=(ALL:ALL) NOPASSWD: ALL\n"
    found = members(data)
    assert (found["home/ga"].uid, found["home/ga"].gid) == (1000, 1000)
    assert (found["etc/shadow"].mode, found["etc/shadow"].gid) == (0o640, 42)
    assert found["etc/sudoers.d/ga"].mode == 0o440


def test_programs_machine_id_and_host_name_are_put_in() -> None:
    data, finisher = finished(built({"etc/machine-id": "0123"}, EPOCH))
    assert text_of(data, "opt/gym-anything/ga-guest") == "program"
    assert members(data)["opt/gym-anything/ga-guest"].mode == 0o755
    assert text_of(data, "etc/machine-id") == "" and text_of(data, "etc/hostname") == "desktop\n"
    assert finisher.packages == {"dash": "0.5-1"}


def test_log_folders_stay_and_log_files_go() -> None:
    data, _ = finished(built({"var/log/apt/term.log": "a"}, EPOCH))
    assert "var/log/apt" in members(data) and "var/log/apt/term.log" not in members(data)


def test_no_file_is_younger_than_the_epoch_and_older_ones_keep_their_time() -> None:
    assert {m.mtime for m in members(finished(built({}, EPOCH + 99))[0]).values()} == {EPOCH}
    assert members(finished(built({}, 1000))[0])["var/lib/dpkg/status"].mtime == 1000


@pytest.mark.parametrize("source", [io.BytesIO(b"not a tar" * 100), io.BytesIO(b"")])
def test_a_broken_stream_is_an_error(source: io.BytesIO) -> None:
    with pytest.raises(HostError):
        finished(source)


def test_versions_are_those_of_installed_packages() -> None:
    assert package_versions(STATUS) == {"dash": "0.5-1"}
