"""Folders to specs: which file is read, what a task's key is, and what lies between the tasks."""

from __future__ import annotations

from pathlib import Path

import pytest

from gym_anything.errors import SpecInvalid, SpecNotFound
from gym_anything.specs.loading import list_tasks, load_env, load_task, scan_tasks, single_task
from tests.unit.specs.minimal import env_data, task_data, write_json

pytestmark = pytest.mark.unit


@pytest.fixture
def env_root(tmp_path: Path) -> Path:
    root = tmp_path / "some_env"
    write_json(root / "env.json", env_data())
    write_json(root / "tasks" / "b_task" / "task.json", task_data(id="b_task@1"))
    write_json(root / "tasks" / "a_task" / "task.json", task_data(id="something else"))
    return root


def test_a_folder_and_its_file_give_the_same_environment(env_root: Path) -> None:
    by_folder, by_file = load_env(env_root), load_env(str(env_root / "env.json"))
    assert by_folder == by_file
    assert (by_folder.root, by_folder.file) == (env_root, env_root / "env.json")
    assert by_folder.warnings == ()


@pytest.mark.parametrize(
    ("names", "read"),
    [
        (["env.yaml", "env.yml", "env.json"], "env.yaml"),
        (["env.yml", "env.json"], "env.yml"),
        (["env.json"], "env.json"),
        (["env.yaml"], "env.yaml"),
    ],
)
def test_yaml_comes_before_json_and_what_is_not_read_is_said(tmp_path: Path, names: list[str], read: str) -> None:
    for name in names:
        write_json(tmp_path / name, env_data(id=name))  # JSON is YAML
    loaded = load_env(tmp_path)
    assert loaded.spec.id == read
    assert [w.kind for w in loaded.warnings] == (["several-files"] if len(names) > 1 else [])


def test_a_task_goes_by_its_folder_whatever_its_id_says(env_root: Path) -> None:
    loaded = load_task(env_root, "a_task")
    assert (loaded.task_id, loaded.spec.id) == ("a_task", "something else")
    assert loaded.root == env_root / "tasks" / "a_task"
    assert list_tasks(env_root) == ["a_task", "b_task"]


@pytest.mark.parametrize("suffix", ["yaml", "yml", "json"])
def test_a_task_file_may_be_yaml_or_json(tmp_path: Path, suffix: str) -> None:
    write_json(tmp_path / "tasks" / "t" / f"task.{suffix}", task_data())
    assert load_task(tmp_path, "t").spec.id == "t@1"


def test_an_unknown_task_names_near_matches_and_what_exists(env_root: Path) -> None:
    for wrong, hint in (
        ("a_tsk", "did you mean 'a_task'?"),
        ("b_task@1", "did you mean 'b_task'?"),
        ("zzz", "a_task, b_task"),
    ):
        with pytest.raises(SpecNotFound) as caught:
            load_task(env_root, wrong)
        assert hint in str(caught.value)


@pytest.mark.parametrize("name", ["", ".", "..", "../tasks/a_task", "a_task/.", "/etc", "a\\b", "a\0b", "x" * 4000])
def test_a_task_name_never_leads_elsewhere(env_root: Path, name: str) -> None:
    """N3: no host path outside the environment's own folders."""
    with pytest.raises(SpecNotFound):
        load_task(env_root, name)


def test_stray_files_folders_without_a_task_and_caches_are_no_tasks(env_root: Path) -> None:
    tasks = env_root / "tasks"
    (tasks / "seed_tasks.json").write_text("[")
    (tasks / "README.md").write_text("x")
    (tasks / "empty").mkdir()
    write_json(tasks / "__pycache__" / "task.json", task_data())
    (tasks / "dangling").symlink_to(tasks / "nowhere")
    assert list_tasks(env_root) == ["a_task", "b_task"]


def test_tasks_may_be_a_link_to_another_environments(env_root: Path, tmp_path: Path) -> None:
    other = tmp_path / "fast_env"
    write_json(other / "env.json", env_data(id="fast"))
    (other / "tasks").symlink_to(env_root / "tasks")
    assert list_tasks(other) == ["a_task", "b_task"]
    assert load_task(other, "a_task").spec.id == "something else"


def test_an_environment_without_tasks_is_fine(tmp_path: Path) -> None:
    write_json(tmp_path / "env.json", env_data())
    assert list_tasks(tmp_path) == [] and single_task(tmp_path) is None


def test_only_an_only_task_is_meant_when_none_is_named(tmp_path: Path, env_root: Path) -> None:
    assert single_task(env_root) is None
    write_json(tmp_path / "tasks" / "lonely" / "task.json", task_data())
    assert single_task(tmp_path) == "lonely"


def test_a_broken_task_is_listed_gives_its_error_and_spoils_no_other(env_root: Path) -> None:
    (env_root / "tasks" / "b_task" / "task.json").write_text('{"id": "b", "description": "cut')
    assert list_tasks(env_root) == ["a_task", "b_task"], "listing parses no task"
    good, bad = scan_tasks(env_root)
    assert good.task is not None and good.error is None
    assert bad.task is None and bad.error is not None and "b_task" in str(bad.error)
    with pytest.raises(SpecInvalid, match="cut off"):
        load_task(env_root, "b_task")


def test_no_file_that_a_spec_names_needs_to_exist(tmp_path: Path) -> None:
    write_json(
        tmp_path / "env.json",
        env_data(
            mounts=[{"source": "gone", "target": "/workspace/x"}],
            apks=["gone.apk"],
            dockerfile="gone/Dockerfile",
            security={"secrets_ref": "gone.json"},
            hooks={"pre_start": "/workspace/x/gone.sh"},
        ),
    )
    write_json(tmp_path / "tasks" / "t" / "task.json", task_data())
    assert load_env(tmp_path).warnings == ()
    assert load_task(tmp_path, "t").warnings == ()


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("observations", "observation"), ("Mounts", "mounts"), ("desciption", "description"), ("license", "licence"),
        ("runnerOptions", "runner_options"), ("step-cycle-ms", "step_cycle_ms"), ("cache_level", "default_cache_level"),
    ],
)  # fmt: skip
def test_a_near_miss_of_a_known_key_is_kept_and_warned_about(tmp_path: Path, key: str, meant: str) -> None:
    write_json(tmp_path / "env.json", env_data(**{key: "x"}))
    loaded = load_env(tmp_path)
    assert loaded.spec.extras[key] == "x"
    (warning,) = loaded.warnings
    assert (warning.kind, warning.key) == ("near-miss", key) and f"did you mean {meant!r}?" in warning.message
    assert str(warning).startswith(str(tmp_path / "env.json"))


@pytest.mark.parametrize("key", ["base_qcow2", "base_iso", "title", "industry", "requirements", "notes", "x"])
def test_free_words_are_no_near_misses(tmp_path: Path, key: str) -> None:
    write_json(tmp_path / "env.json", env_data(**{key: "x"}))
    assert load_env(tmp_path).warnings == ()


def test_overrides_reach_the_loaded_spec_and_a_slip_in_them_is_warned_about(env_root: Path) -> None:
    loaded = load_env(env_root, {"resources": {"cpu": 3}, "runer": "x"})
    assert loaded.spec.resources.cpu == 3
    assert [w.key for w in loaded.warnings] == ["runer"]


@pytest.mark.parametrize(
    ("more", "kinds"),
    [
        ({"mounts": [{"source": "a", "target": "/x"}, {"source": "b", "target": "/x/"}]}, ["duplicate-target"]),
        (
            {
                "os_type": "windows",
                "mounts": [{"source": "a", "target": "/workspace"}, {"source": "b", "target": "C:\\workspace"}],
            },
            ["duplicate-target"],
        ),
        ({"observation": [{"type": "rgb_screen"}, {"type": "rgb_screen"}]}, ["duplicate-type"]),
        ({"security": {"network_allowlist": ["x"]}}, ["no-effect"]),
        ({"security": {"network_allowlist": ["x"]}, "resources": {"net": True}}, []),
    ],
)
def test_what_is_odd_but_accepted_is_said(tmp_path: Path, more: dict[str, object], kinds: list[str]) -> None:
    write_json(tmp_path / "env.json", env_data(**more))
    assert [w.kind for w in load_env(tmp_path).warnings] == kinds


def test_a_wrong_place_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpecNotFound, match="no such folder or file"):
        load_env(tmp_path / "nowhere")
    with pytest.raises(SpecNotFound, match=r"holds no env\.yaml"):
        load_env(tmp_path)
    with pytest.raises(SpecNotFound):
        load_env(tmp_path / ("x" * 5000))
    with pytest.raises(SpecNotFound):
        load_env("a\0b")


def test_an_error_names_the_file_and_the_key(tmp_path: Path) -> None:
    file = write_json(tmp_path / "env.json", env_data(vnc={"enabled": True}))
    with pytest.raises(SpecInvalid) as caught:
        load_env(tmp_path)
    assert caught.value.detail["file"] == str(file) and caught.value.detail["key"] == "vnc.enabled"


def test_loading_needs_no_picture_and_no_number_library(tmp_path: Path) -> None:
    """Loading a spec stays cheap: it must not drag in numpy, Pillow, PyAV, rich or click."""
    import subprocess
    import sys

    write_json(tmp_path / "env.json", env_data(base="debian-desktop"))
    code = (
        "import sys; from gym_anything.specs.loading import load_env; load_env(sys.argv[1]);"
        "print([m for m in ('numpy', 'PIL', 'av', 'rich', 'click', 'yaml') if m in sys.modules])"
    )
    out = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, timeout=60, check=True
    )
    assert out.stdout.strip() == "[]"
