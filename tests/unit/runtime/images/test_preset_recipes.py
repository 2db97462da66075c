"""The recipes that presets name are there, in the right form; a linter that finds nothing would be no proof."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import pytest

from gym_anything.runtime.runners.apptainer.images import image_of
from gym_anything.specs import EnvSpec
from gym_anything.specs.mounts import find_host_path, with_host_paths
from gym_anything.specs.preset import PRESET_FOLDER, preset_names
from tests.unit.runtime.images.dockerfile_lint import lint, packages, parsed, shell_problems

pytestmark = pytest.mark.unit

FOLDER = PRESET_FOLDER.parents[1] / "presets"
DOCKERFILES = sorted(FOLDER.glob("*/Dockerfile"))
SCRIPTS = sorted(FOLDER.glob("**/*.sh"))
DEFINITIONS = sorted(FOLDER.glob("*/*.def"))
NEEDED = {"dbus", "openbox", "python3", "sudo", "tigervnc-standalone-server", "tint2", "xauth", "xkb-data"}
"""What a world needs to bring a desktop up in an image."""


def data(name: str) -> dict[str, object]:
    return json.loads((PRESET_FOLDER / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", preset_names())
def test_what_a_preset_names_is_found_from_anywhere(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    spec = with_host_paths(EnvSpec.from_dict({"id": "x", "base": name}), tmp_path)
    assert spec.dockerfile is None or Path(spec.dockerfile).is_file()
    if spec.apptainer is not None and spec.apptainer.definition:
        assert Path(image_of(spec).source).is_file()
    (tmp_path / "gym_anything/presets/x11_lite").mkdir(parents=True)
    own = tmp_path / "gym_anything/presets/x11_lite/Dockerfile"
    own.write_text("FROM scratch\n")
    assert find_host_path("gym_anything/presets/x11_lite/Dockerfile", tmp_path) == own, "an environment's own first"
    assert find_host_path("gym_anything/presets/none/Dockerfile", tmp_path) is None


def test_every_recipe_belongs_to_a_preset() -> None:
    named = {str(data(name).get("dockerfile")) for name in preset_names()}
    named |= {str((data(name).get("apptainer") or {}).get("definition")) for name in preset_names()}  # type: ignore[attr-defined]
    assert {f"gym_anything/presets/{path.relative_to(FOLDER)}" for path in (*DOCKERFILES, *DEFINITIONS)} == named - {
        "None"
    }
    assert importlib.util.find_spec("gym_anything.presets") is None or not list(FOLDER.glob("**/*.py"))


@pytest.mark.parametrize("file", DOCKERFILES, ids=lambda path: path.parent.name)
def test_a_dockerfile_has_nothing_that_a_linter_names(file: Path) -> None:
    assert lint(file) == []
    preset = next(
        name
        for name in preset_names()
        if str(data(name).get("dockerfile", "")).endswith(f"{file.parent.name}/Dockerfile")
    )
    installed = {name for one in parsed(file.read_text()) if one.name == "RUN" for name in packages(one.rest)}
    assert installed >= NEEDED
    wants_sound = any(item["type"] == "audio_waveform" for item in data(preset)["observation"])  # type: ignore[attr-defined]
    assert ("pulseaudio" in installed) == wants_sound
    entrypoint = data(preset).get("entrypoint")
    assert entrypoint is None or f" {entrypoint}\n" in file.read_text()
    for hook in (data(preset).get("hooks") or {}).values():  # type: ignore[attr-defined]
        assert (file.parent / str(hook).removeprefix("/workspace/")).is_file()


@pytest.mark.parametrize("file", SCRIPTS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_script_is_one_that_its_shell_reads(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.startswith("#!/bin/sh\n") and file.stat().st_mode & 0o111 == 0o111
    assert shell_problems(text) == []


@pytest.mark.parametrize("file", DEFINITIONS, ids=lambda path: path.parent.name)
def test_a_definition_has_the_sections_of_one(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    head, *sections = re.split(r"^%", text, flags=re.MULTILINE)
    assert dict(line.split(": ") for line in head.split("\n") if line) == {
        "Bootstrap": "docker",
        "From": "ubuntu:22.04",
    }
    assert [section.split()[0] for section in sections] == ["help", "post", "environment", "runscript"]
    for section in sections[1:]:
        assert shell_problems(section.partition("\n")[2]) == []
    names = packages(sections[1].replace("\\\n", " ").replace("rm -rf", "; rm -rf"))
    assert set(names) >= NEEDED and names == sorted(set(names))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("RUN true\n", "must be FROM"),
        ("FROM ubuntu\n", "DL3006"),
        ("FROM ubuntu:latest\n", "DL3007"),
        ("FROM ubuntu:22.04\nRUM x\n", "'RUM' is no instruction"),
        ("FROM ubuntu:22.04\nRUN if true; then\n", "end of file"),
        ("FROM ubuntu:22.04\nRUN apt-get install -y --no-install-recommends x\n", "apt-get update belongs"),
        ("FROM ubuntu:22.04\nRUN apt-get update && apt-get install x && rm -rf /var/lib/apt/lists/*\n", "DL3014"),
        ("FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y zz aa\n", "sorted"),
        ("FROM ubuntu:22.04\nRUN apt-get update && apt upgrade\n", "DL3027"),
        ("FROM ubuntu:22.04\nRUN true && sudo true\n", "DL3004"),
        ("FROM ubuntu:22.04\nRUN curl x | sh\n", "DL4006"),
        ("FROM ubuntu:22.04\nADD a /a\n", "DL3020"),
        ("FROM ubuntu:22.04\nCOPY --chmod=0755 Dockerfile /a\n", "BuildKit"),
        ("FROM ubuntu:22.04\nCOPY ../x a\n", "is not there"),
        ("FROM ubuntu:22.04\nCMD run me\n", "DL3025"),
        ("FROM ubuntu:22.04\nWORKDIR here\n", "DL3000"),
        ('FROM ubuntu:22.04\nCMD ["a"]\nCMD ["b"]\n', "more than one CMD"),
        ("FROM ubuntu:22.04\nRUN a \\\n", "is continued|'\\?'"),
    ],
)
def test_the_linter_names_what_is_wrong(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "Dockerfile").write_text(text)
    assert re.search(said, "\n".join(lint(tmp_path / "Dockerfile")))
