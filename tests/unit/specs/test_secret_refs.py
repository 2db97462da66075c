"""Secrets: loaded, handed to the runner, shown nowhere."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest

from gym_anything.errors import SpecInvalid, SpecNotFound
from gym_anything.specs import EnvSpec
from gym_anything.specs.secret_refs import SecretEnv, attach_secrets, load_secrets
from tests.unit.specs.minimal import env_data

pytestmark = pytest.mark.unit


def spec_with(ref: str | None) -> EnvSpec:
    return EnvSpec.from_dict(env_data(security={"secrets_ref": ref}))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("secrets.json", '{"API_KEY": "hunter2", "PORT": 8080}'),
        ("sub/secrets.yaml", "API_KEY: hunter2\nPORT: 8080\n"),
        ("secrets.yml", '"API_KEY": "hunter2"\nPORT: "8080"\n'),
    ],
)
def test_secrets_come_from_a_file_beside_the_environment(tmp_path: Path, name: str, content: str) -> None:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(content)
    assert dict(load_secrets(spec_with(name), tmp_path)) == {"API_KEY": "hunter2", "PORT": "8080"}


def test_without_a_reference_there_are_none(tmp_path: Path) -> None:
    assert dict(load_secrets(spec_with(None), tmp_path)) == {}


def test_attached_secrets_reach_the_runner_and_nothing_else() -> None:
    spec = spec_with("secrets.json")
    armed = attach_secrets(spec, {"API_KEY": "hunter2"})
    assert dict(armed.security.resolved_env) == {"API_KEY": "hunter2"} and not spec.security.resolved_env
    for text in (
        repr(armed),
        str(armed),
        str(armed.to_dict()),
        str(armed.public_dict()),
        armed.model_dump_json(),
        repr(armed.security),
    ):
        assert "hunter2" not in text
    assert armed.to_dict() == spec.to_dict()
    assert dict(copy.deepcopy(armed).security.resolved_env) == {"API_KEY": "hunter2"}
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(armed)


def test_the_mapping_shows_names_only() -> None:
    secrets = SecretEnv({"API_KEY": "hunter2"})
    assert repr(secrets) == "SecretEnv(API_KEY)" and "hunter2" not in f"{secrets} {secrets!r}"


@pytest.mark.parametrize("ref", ["../secrets.json", "/etc/passwd", "a/../../b.json", "x\0y"])
def test_a_reference_stays_inside_the_environments_folder(tmp_path: Path, ref: str) -> None:
    """N3: no host path outside the environment's own folders."""
    root = tmp_path / "env"
    root.mkdir()
    (tmp_path / "secrets.json").write_text("{}")
    with pytest.raises(SpecInvalid) as caught:
        load_secrets(spec_with(ref), root)
    assert caught.value.detail["key"] == "security.secrets_ref"


@pytest.mark.parametrize(
    ("content", "key"),
    [
        ('{"A": {"deep": "hunter2"}}', "A"),
        ('{"A": ["hunter2"]}', "A"),
        ('{"A": true}', "A"),
        ('{"A": null}', "A"),
        ('{"A": "hunter2\\u0000"}', "A"),
        ('{"NOT A NAME": "hunter2"}', "NOT A NAME"),
        ('{"1A": "hunter2"}', "1A"),
        ('["hunter2"]', ""),
        ('{"A": "hunter2"', "A"),
        ('{"A": hunter2}', "A"),
        ('{"A": "x", "A": "hunter2"}', "A"),
    ],
)
def test_a_wrong_file_is_named_without_showing_a_value(tmp_path: Path, content: str, key: str) -> None:
    (tmp_path / "s.json").write_text(content)
    with pytest.raises(SpecInvalid) as caught:
        load_secrets(spec_with("s.json"), tmp_path)
    error = caught.value
    assert error.detail["key"] == key and error.detail["file"].endswith("s.json")
    assert "hunter2" not in str(error) + str(error.detail) + repr(error.__cause__)


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(SpecNotFound, match=r"gone\.json"):
        load_secrets(spec_with("gone.json"), tmp_path)
