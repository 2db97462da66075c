"""What an Apptainer world does not keep is said when the spec is loaded, and what it keeps is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gym_anything.errors import SpecNotFound
from gym_anything.runtime.runners.apptainer.images import image_of
from gym_anything.runtime.runners.apptainer.options import ApptainerOptions, option_errors
from gym_anything.runtime.runners.apptainer.promises import unenforced
from gym_anything.runtime.runners.apptainer.runner import ApptainerRunner
from gym_anything.specs.env_spec import EnvSpec

pytestmark = pytest.mark.unit


def spec_of(**fields: Any) -> EnvSpec:
    return EnvSpec.from_dict({"id": "e@1", "base": "debian-desktop", **fields})


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"dockerfile": "Dockerfile"}, "dockerfile"),
        ({"apptainer": {"writable_tmpfs": True}}, "apptainer.writable_tmpfs"),
        ({"security": {"use_systemd": True}}, "security.use_systemd"),
        ({"security": {"cap_drop": ["SETUID"]}}, "security.cap_drop"),
        ({"resources": {"net": True}, "security": {"network_allowlist": ["a.org"]}}, "security.network_allowlist"),
        ({"os_type": "windows"}, "os_type"),
    ],
)
def test_what_is_not_kept_is_named(fields: dict[str, Any], name: str) -> None:
    assert name in [field for field, _ in unenforced(spec_of(**fields))]


def test_a_user_namespace_is_what_ordinary_users_have(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = spec_of(apptainer={"fakeroot": True})
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert "apptainer.fakeroot" in [field for field, _ in unenforced(asked)]
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert "apptainer.fakeroot" not in [field for field, _ in unenforced(asked)]


def test_limits_are_named_where_the_host_has_no_control_groups_for_us(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = spec_of(resources={"mem_gb": 2, "cpu": 1})
    monkeypatch.setattr("gym_anything.runtime.limits._mounts", list)
    assert ("resources.mem_gb", "this host offers no control group for memory") in unenforced(asked)
    assert "resources.cpu" in [field for field, _ in unenforced(asked)]


@pytest.mark.parametrize(
    "fields",
    [
        {"apptainer": {"sif": "/x.sif", "binds": ["/a:/b"], "contain_all": True, "enable_gpu": True}},
        {"resources": {"net": False, "gpu": 1}},
        {"security": {"cap_drop": ["NET_RAW"], "devices": ["/dev/dri"], "network_allowlist": []}},
        {"mounts": [{"source": "/a", "target": "/b"}], "image": "debian:12", "entrypoint": "true"},
    ],
)
def test_what_is_kept_is_not_named(fields: dict[str, Any]) -> None:
    of_the_preset = unenforced(spec_of())
    assert [found for found in unenforced(spec_of(**fields)) if found not in of_the_preset] == []


def test_only_a_spec_with_an_apptainer_section_is_taken_by_detection() -> None:
    assert ApptainerRunner.autodetect_eligible(spec_of(apptainer={"image": "docker://debian"}))
    assert not ApptainerRunner.autodetect_eligible(spec_of())
    assert not ApptainerRunner.autodetect_eligible(spec_of(apptainer={}, dockerfile="Dockerfile"))


def test_options_are_checked() -> None:
    assert option_errors({"panel": "none"}) == []
    assert "did you mean 'panel'" in option_errors({"pannel": "none"})[0]
    assert ApptainerOptions().image_timeout_s == 1800


def test_the_image_is_what_the_spec_says_first(tmp_path: Path) -> None:
    sif, recipe = tmp_path / "a.sif", tmp_path / "a.def"
    sif.write_bytes(b"content")
    recipe.write_text("Bootstrap: docker")
    wish = {"sif": str(sif), "definition": str(recipe), "image": "docker://x:1", "cache_dir": str(tmp_path)}
    first = image_of(spec_of(apptainer=wish))
    assert first.path == sif and first.source == "" and first.mark().startswith("sha256:")
    second = image_of(spec_of(apptainer={**wish, "sif": None}))
    assert second.source == str(recipe) and second.path.parent == tmp_path and second.path.suffix == ".sif"
    third = image_of(spec_of(image="debian:12", apptainer={"cache_dir": str(tmp_path)}))
    assert third.source == third.mark() == "docker://debian:12" and third.path.name == "docker___debian_12.sif"
    recipe.write_text("Bootstrap: debootstrap")
    assert image_of(spec_of(apptainer={**wish, "sif": None})).path != second.path
    with pytest.raises(SpecNotFound, match=r"apptainer\.sif"):
        image_of(spec_of(apptainer={"sif": str(tmp_path / "none")}))
