"""What every desktop of ours has inside: the user, sudo, the display, fonts for the scripts of the world."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from gym_anything.runtime.images.recipe import load_recipe, recipe_root
from gym_anything.runtime.images.store import ImageStore, StoredImage

pytestmark = pytest.mark.real

LANGUAGES = [
    "am", "ar", "bn", "bo", "chr", "dv", "el", "en", "gu", "he", "hi", "hy", "ii", "ja", "ka", "km", "kn", "ko", "lo", "ml",
    "mn-cn", "my", "nqo", "or", "pa", "ru", "si", "syr", "ta", "te", "th", "ug", "und-zsye", "ur", "vi", "yi", "zh-cn",
    "zh-hk", "zh-tw",
]  # fmt: skip
"""One for every script that is in daily use, and emoji. As fontconfig names them."""
_TAKEN = ("./etc/", "./usr/share/fonts/", "./home", "./opt/gym-anything", "./usr/bin/")


@pytest.fixture(scope="module")
def desktop(require_backend: Callable[[str, bool, str], None]) -> StoredImage:
    built = [image for image in ImageStore().all() if image.name in ("debian-desktop", "debian-desktop-vm")]
    built.sort(key=lambda image: float(image.record["built_at"]))
    require_backend("images", bool(built), "not built: gym-anything image build debian-desktop")
    return built[-1]


@pytest.fixture(scope="module")
def root(desktop: StoredImage, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with what these tests look at."""
    folder = tmp_path_factory.mktemp("root")
    with tarfile.open(desktop.rootfs) as tar:
        for member in tar:
            if member.name.startswith(_TAKEN) and (member.isdir() or member.isreg()):
                tar.extract(member, folder, filter="fully_trusted")
    return folder


def test_the_user_and_sudo_are_there(root: Path) -> None:
    people = [line.split(":") for line in (root / "etc/passwd").read_text().splitlines()]
    assert [line for line in people if line[0] == "ga"] == [["ga", "x", "1000", "1000", "ga", "/home/ga", "/bin/bash"]]
    sudoers = root / "etc/sudoers.d/ga"
    assert sudoers.read_text() == "ga ALL=(ALL:ALL) NOPASSWD: ALL\n" and sudoers.stat().st_mode & 0o777 == 0o440
    groups = {
        line.split(":")[0]: line.split(":")[3].split(",") for line in (root / "etc/group").read_text().splitlines()
    }
    assert all("ga" in groups[name] for name in ("sudo", "audio", "video"))
    shadow = {line.split(":")[0]: line.split(":")[1] for line in (root / "etc/shadow").read_text().splitlines()}
    assert shadow["ga"].startswith("$")


def test_a_login_of_its_own_finds_the_display(root: Path) -> None:
    script = root / "etc/profile.d/gym-anything-display.sh"
    for given, found in (("", ":1"), (":99", ":99")):
        env = {"PATH": "/usr/bin:/bin", **({"DISPLAY": given} if given else {})}
        said = subprocess.run(
            ["sh", "-c", f". {script}; echo $DISPLAY"], env=env, capture_output=True, text=True, check=True
        )
        assert said.stdout == f"{found}\n"


def test_the_programs_that_a_person_would_look_for_are_there(root: Path) -> None:
    for program in (
        "chromium",
        "gnumeric",
        "mousepad",
        "pcmanfm",
        "sudo",
        "xterm",
        "Xtigervnc",
        "openbox",
        "tint2",
        "curl",
    ):
        assert (root / "usr/bin" / program).is_file(), program
    for program in load_recipe("debian-desktop").programs:
        assert (root / "opt/gym-anything" / program).stat().st_mode & 0o111


def test_there_are_fonts_for_all_scripts(root: Path, require_backend: Callable[[str, bool, str], None]) -> None:
    require_backend("fontconfig", shutil.which("fc-scan") is not None, "not installed: apt-get install fontconfig")
    argv = ["fc-scan", "--format", "%{lang}\n", str(root / "usr/share/fonts")]
    said = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    covered = {language for line in said.splitlines() for language in line.split("|")}
    assert [language for language in LANGUAGES if language not in covered] == []


def test_every_image_that_extends_the_desktop_has_its_files() -> None:
    assert (recipe_root() / "debian-desktop/files/etc/profile.d/gym-anything-display.sh").is_file()
    targets = [target for target, _, _ in load_recipe("debian-desktop-vm").files()]
    assert "etc/profile.d/gym-anything-display.sh" in targets
