"""``gym-anything image``: what it prints, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gym_anything.cli.main import run_command_line
from tests.unit.runtime.images.stored import store_image

pytestmark = pytest.mark.unit


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GYM_ANYTHING_IMAGE_DIR", str(tmp_path))
    return tmp_path


def test_list_shows_recipes_and_builds(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    image = store_image(store)
    assert run_command_line(["image", "list", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {row["name"] for row in document["recipes"]} >= {"debian-desktop", "debian-minimal", "windows-11"}
    assert next(row for row in document["recipes"] if row["name"] == "windows-11")["run"] == "nowhere"
    assert document["built"][0]["rootfs_sha256"] == image.digest
    assert run_command_line(["image", "list"]) == 0
    assert "debian-desktop" in capsys.readouterr().out


def test_verify_says_good_bad_and_missing(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    image = store_image(store)
    assert run_command_line(["image", "verify"]) == 0
    assert "as built" in capsys.readouterr().out
    image.rootfs.write_bytes(b"changed")
    assert run_command_line(["image", "verify", "tiny", "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["ok"] is False and document["images"][0]["problems"]
    assert run_command_line(["image", "verify", "debian-desktop"]) == 1
    assert "gym-anything image build debian-desktop" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["image", "build", "no-such"], 2, "there are: debian-desktop"),
        (["image", "build", "debian-minimal", "--suite", "sid"], 1, "bookworm or trixie"),
        (["image", "build", "debian-minimal", "--format", "floppy"], 2, "no image format 'floppy'"),
        (["image", "build", "debian-minimal", "--output", "x"], 2, "give --format"),
        (["image", "build", "debian-minimal", "--mirror", "x"], 2, "systems that install themselves"),
        (["image", "build", "windows-11", "--format", "qcow2"], 2, "have no meaning"),
        (["image", "build", "android-14", "--mirror", "/nowhere"], 1, "blissos-17.iso has no pin"),
        (["image", "import", "/nowhere/image.json"], 2, "/nowhere/image.json does not exist"),
        (["image", "import", "x.qcow2", "--sha256", "12"], 1, "is no SHA-256"),
    ],
)
def test_wrong_words_are_refused_before_anything_is_built(
    store: Path, capsys: pytest.CaptureFixture[str], words: list[str], code: int, said: str
) -> None:
    assert run_command_line(words) == code
    assert said in capsys.readouterr().err
    assert list(store.iterdir()) == []
