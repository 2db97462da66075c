"""Any input whatever: a typed error or a spec that survives its round trip. Never a raw KeyError, TypeError or recursion."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gym_anything.errors import SpecError, SpecInvalid
from gym_anything.specs import EnvSpec, TaskSpec
from gym_anything.specs.beside import missing_beside_env, missing_beside_task
from gym_anything.specs.loading import LoadedEnv, LoadedTask, load_env, load_task
from gym_anything.specs.merging import merged
from gym_anything.specs.preset import preset_data, preset_names
from gym_anything.specs.problem import Problem
from gym_anything.specs.yaml_reading import parse_yaml
from tests.unit.specs.minimal import env_data, task_data

pytestmark = pytest.mark.unit

MANY = settings(max_examples=700, deadline=None, suppress_health_check=list(HealthCheck))
SOME = settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))

ODD_TEXT = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        ["", " ", "\x00", "\ud800", "../..", "/", "C:\\x", "-1", "null", "rgb_screen", "ro", "\u202e", "a" * 300]
    ),
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([0, -1, 1, 65536, 10**30, 2**63, 0.0, -0.5, 1e308, math.nan, math.inf]),
    st.floats(),
    ODD_TEXT,
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ODD_TEXT, inner, max_size=4), max_leaves=8
)
NOT_JSON = st.sampled_from([object(), {1}, b"x", Path("x"), {1: 2}, {None: 1}, (1, 2), 1j, range(3), "\udfff"])

RICH_ENV = env_data(
    base="ubuntu-gnome-systemd",
    version="1",
    category="c",
    entrypoint="/x",
    apptainer={"sif": "x", "binds": ["a"], "env": {"A": "b"}, "contain": True},
    resources={"cpu": 1, "mem_gb": 2, "gpu": 0, "net": True},
    mounts=[{"source": "s", "target": "/t", "mode": "rw"}],
    apks=["a.apk"],
    user_accounts=[
        {"name": "u", "password": "p", "uid": 1, "permissions": {"sudo": True, "groups": ["g"], "env_vars": {"A": "b"}}}
    ],
    observation=[{"type": "rgb_screen", "fps": 5, "resolution": [8, 6], "inline": True}],
    action=[{"type": "mouse", "events": ["move"]}],
    step_cycle_ms=1,
    save_paths=["/x"],
    default_cache_level="pre_start",
    security={"user": "u", "cap_drop": ["ALL"], "network_allowlist": ["h"], "secrets_ref": "s", "stop_timeout": 1},
    recording={"video_fps": 1, "video_resolution": [2, 2], "video_crf": 1},
    vnc={"enable": True, "host_port": -1, "password": "p"},
    ssh={"user": "u", "port": 22},
    adb={"guest_port": 1, "timeout": 1},
    avd={"api_level": 30},
    os_type="linux",
    runner="x",
    runner_options={"a": [{"b": 1}]},
    hooks={"pre_start": "x", "reset": "y"},
    multi_agent={"roles": ["a"], "turn_based": True},
    extras={"x": 1},
)
RICH_TASK = task_data(
    env_id="e",
    natural_language={"prompt": "p"},
    difficulty="easy",
    tags=["t"],
    init={"init_script": "x", "init_pyautogui": [{"type": "wait", "seconds": 1}], "timeout_sec": 1, "max_steps": 1,
          "reward_type": "dense", "reward_shaping": "f.py::f"},
    hooks={"pre_task": "x", "post_task": "y", "pre_task_timeout": 1},
    success={"mode": "multi", "spec": {"checks": [{"mode": "program"}]}},
    metadata={"a": {"b": [1]}},
    extras={"post_task_settle_sec": 1},
)  # fmt: skip


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of every value inside ``data``."""
    found = [path] if path else []
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        found += places(value, (*path, key))
    return found


def changed(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    """Return a copy of ``data`` with one value replaced."""
    if not path:
        return value
    copy = dict(data) if isinstance(data, dict) else list(data)
    copy[path[0]] = changed(data[path[0]], path[1:], value)
    return copy


def check(cls: type[EnvSpec] | type[TaskSpec], data: Any) -> None:
    """A typed error with its facts, or a spec that survives the round trip through JSON text."""
    try:
        spec = cls.from_dict(data)
    except SpecError as error:
        assert str(error) and "\n" not in str(error.detail.get("key"))
        json.dumps(error.to_wire())
        if isinstance(error, SpecInvalid):
            assert error.detail["fix"]
        return
    env = spec if isinstance(spec, EnvSpec) else EnvSpec.from_dict(RICH_ENV)
    loaded = LoadedEnv(env, Path("/nonexistent/env"), Path("/nonexistent/env/env.json"))
    assert all(m.key and m.kind for m in missing_beside_env(loaded))
    if isinstance(spec, TaskSpec):
        task = LoadedTask(spec, "t", loaded.root / "tasks" / "t", loaded.root / "tasks" / "t" / "task.json")
        assert all(m.key and m.kind for m in missing_beside_task(loaded, task))
        assert spec.prompt and spec.reward_rule
    text = json.dumps(spec.to_dict(), allow_nan=False)
    assert cls.from_dict(json.loads(text)) == spec
    json.dumps(spec.public_dict(), ensure_ascii=False).encode("utf-8")


@MANY
@given(st.sampled_from(places(RICH_ENV)), VALUES | NOT_JSON)
def test_an_environment_with_any_value_anywhere(path: tuple[Any, ...], value: Any) -> None:
    check(EnvSpec, changed(RICH_ENV, path, value))


@MANY
@given(st.sampled_from(places(RICH_TASK)), VALUES | NOT_JSON)
def test_a_task_with_any_value_anywhere(path: tuple[Any, ...], value: Any) -> None:
    check(TaskSpec, changed(RICH_TASK, path, value))


@SOME
@given(VALUES, st.dictionaries(st.sampled_from(EnvSpec.known_keys()) | ODD_TEXT, VALUES, max_size=5))
def test_an_environment_made_of_anything(whole: Any, more: dict[str, Any]) -> None:
    check(EnvSpec, whole)
    check(EnvSpec, {**env_data(), **more})
    check(TaskSpec, {**task_data(), **more})


@SOME
@given(st.dictionaries(st.sampled_from(EnvSpec.known_keys()) | ODD_TEXT, VALUES, max_size=4))
def test_overrides_made_of_anything(overrides: dict[str, Any]) -> None:
    spec = EnvSpec.from_dict(RICH_ENV)
    try:
        spec = spec.with_overrides(overrides)
    except SpecError:
        return
    check(EnvSpec, spec.to_dict())


def spoilt(data: st.DataObject, text: bytes) -> bytes:
    """Return ``text`` with a slice cut out, doubled or replaced by anything."""
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 40)))
    middle = data.draw(
        st.sampled_from(
            [b"", text[start:end] * 2, b"NaN", b"True", b"\\", b'"', b"{", b"[" * 200, b"\xff", b"\r\n", b"*a", b"!x "]
        )
        | st.binary(max_size=6)
    )
    return text[:start] + middle + text[end:]


@MANY
@given(st.data(), st.sampled_from(["env.json", "env.yaml"]))
def test_a_spoilt_environment_file(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, name: str) -> None:
    folder = tmp_path_factory.mktemp("env")
    source = json.dumps(RICH_ENV, indent=1) if name == "env.json" else yaml.safe_dump(RICH_ENV)
    (folder / name).write_bytes(spoilt(data, source.encode()))
    try:
        loaded = load_env(folder)
    except SpecError as error:
        assert str(folder / name) in str(error)
        return
    check(EnvSpec, loaded.spec.to_dict())


@SOME
@given(st.data())
def test_a_spoilt_task_file(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    root = tmp_path_factory.mktemp("env")
    file = root / "tasks" / "t" / "task.json"
    file.parent.mkdir(parents=True)
    file.write_bytes(spoilt(data, json.dumps(RICH_TASK).encode()))
    try:
        loaded = load_task(root, "t")
    except SpecError as error:
        assert str(file) in str(error)
        return
    check(TaskSpec, loaded.spec.to_dict())


@SOME
@given(ODD_TEXT)
def test_any_task_name_is_found_or_refused(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    """N3: a task's name never leads out of the environment's folder."""
    root = tmp_path_factory.mktemp("env")
    (root.parent / "task.json").write_text(json.dumps(task_data()))
    with pytest.raises(SpecError):
        load_task(root, name)


@SOME
@given(st.text(max_size=40) | st.text(alphabet="ab:-[]{}&*!<\n '\"#|>1.~%", max_size=40))
def test_any_yaml_text_gives_plain_data_or_a_problem(text: str) -> None:
    try:
        json.dumps(parse_yaml(text), allow_nan=False)
    except Problem as problem:
        assert problem.what and problem.fix


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(alphabet=st.characters(codec="utf-8"), max_size=12)
    | st.sampled_from(["yes", "1e3", "0755", "~", "12:30", "2024-01-01", "null", "=", "<<", "- a", "a: b", "0x1f", ".5", "+1"]),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.text(alphabet=st.characters(codec="utf-8"), min_size=1, max_size=8), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@MANY
@given(st.dictionaries(st.text(alphabet="abcyno1_", min_size=1, max_size=6), PLAIN, max_size=4))
def test_what_pyyaml_writes_is_read_back_exactly(data: dict[str, Any]) -> None:
    assert parse_yaml(yaml.safe_dump(data)) == data
    assert parse_yaml(yaml.safe_dump(data, default_flow_style=True)) == data
    text = yaml.safe_dump(data, allow_unicode=True)
    assert parse_yaml(text) == yaml.safe_load(text)


@SOME
@given(st.sampled_from(preset_names()), st.dictionaries(st.sampled_from(EnvSpec.known_keys()), VALUES, max_size=4))
def test_merging_is_idempotent_and_changes_neither_side(name: str, over: dict[str, Any]) -> None:
    under = preset_data(name)
    before = repr((under, over))
    once = merged(under, over)
    assert repr(merged(under, once)) == repr(once)
    assert repr((under, over)) == before
