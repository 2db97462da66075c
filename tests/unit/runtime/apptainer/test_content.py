"""Where the parts of an Apptainer world lie on this host does not count for its checkpoints; what is in them does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gym_anything.runtime.checkpoints.levels import CheckpointName
from gym_anything.runtime.runners.apptainer.checkpoint import ApptainerCheckpoints
from gym_anything.runtime.runners.apptainer.content import without_places
from gym_anything.specs.env_spec import EnvSpec

pytestmark = pytest.mark.unit


def key_of(folder: Path, **changes: Any) -> str:
    wish = {
        "sif": str(folder / "image.sif"),
        "cache_dir": str(folder / "cache"),
        "binds": [f"{folder}/data:/data:ro", f"{folder}/out:/out"],
        "overlays": [str(folder / "layer")],
        "extra_start_args": ["--security", f"--config={folder}/settings"],
    }
    spec = EnvSpec.from_dict({"id": "e@1", "base": "debian-desktop", "apptainer": {**wish, **changes}})
    checkpoints = ApptainerCheckpoints(spec, ())
    checkpoints.choose(CheckpointName.checked("pre_start", None), None)
    material = checkpoints.material()
    assert str(folder) not in json.dumps(dict(material.parts))
    return material.key


def laid_out(folder: Path) -> Path:
    for name in ("data", "out", "layer"):
        (folder / name).mkdir(parents=True)
        (folder / name / "file").write_text(name)
    for name in ("image.sif", "settings"):
        (folder / name).write_text(name)
    return folder


def test_a_copy_elsewhere_has_the_same_key_and_a_change_another(tmp_path: Path) -> None:
    here, there = laid_out(tmp_path / "here"), laid_out(tmp_path / "there" / "deep")
    first = key_of(here)
    assert key_of(there) == first
    (there / "out" / "file").write_text("written by a world")
    assert key_of(there) == first
    for name in ("data/file", "layer/file", "image.sif", "settings"):
        before = (there / name).read_text()
        (there / name).write_text("something else")
        assert key_of(there) != first, name
        (there / name).write_text(before)
    assert key_of(there, binds=[f"{there}/data:/elsewhere:ro"]) != first


def test_words_that_are_no_files_of_this_host_stay() -> None:
    wish = {"binds": ["/nowhere/at/all:/x:ro"], "extra_exec_args": ["--pwd", "/in/the/world"], "workdir": "/srv"}
    found = without_places(EnvSpec.from_dict({"id": "e@1", "base": "debian-desktop", "apptainer": wish})).apptainer
    assert found is not None and found.binds == ("/nowhere/at/all:/x:ro",)
    assert found.extra_exec_args == ("--pwd", "/in/the/world") and found.workdir == "/srv"
