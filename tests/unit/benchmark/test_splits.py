"""Which tasks belong to which split, from files as untidy as the real ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gym_anything.benchmark.layout import Benchmark
from gym_anything.benchmark.splits import load_splits
from gym_anything.errors import SpecInvalid, SpecNotFound
from tests.unit.specs.minimal import env_data, task_data, write_json

pytestmark = pytest.mark.unit


@pytest.fixture
def benchmark(tmp_path: Path) -> Benchmark:
    for env, tasks in {"gimp_env": "abcd", "chrome_env_all": "xy", "bare_env": "pq"}.items():
        write_json(tmp_path / "environments" / env / "env.json", env_data())
        for task in tasks:
            write_json(tmp_path / "environments" / env / "tasks" / task / "task.json", task_data())
    return Benchmark("b", tmp_path)


def write_split(benchmark: Benchmark, name: str, data: Any) -> Path:
    return write_json(benchmark.splits_dir / f"{name}_split.json", data)


def test_a_split_file_names_its_environment_by_the_last_component(benchmark: Benchmark) -> None:
    for folder in (
        "examples/gimp_env",
        "benchmarks/b/environments/gimp_env",
        "gimp_env",
        "examples/gimp_env/",
        "x\\gimp_env",
    ):
        write_split(
            benchmark,
            "gimp",
            {"env_folder": folder, "train_tasks": ["b", "a"], "test_tasks": ["c"], "train_ratio": 0.8},
        )
        splits = load_splits(benchmark)
        assert splits.select("gimp_env", "train").tasks == ("b", "a"), "in the order of the file"
        assert splits.select("gimp_env", "test").tasks == ("c",)
        assert splits.select("gimp_env").tasks == ("b", "a", "c")
        assert splits.select("gimp_env", "disk").tasks == ("a", "b", "c", "d")


def test_additional_splits_add_tasks_that_no_other_list_has(benchmark: Benchmark) -> None:
    write_split(
        benchmark,
        "gimp",
        {
            "env_folder": "examples/gimp_env",
            "all_tasks": ["a", "b"],
            "train_tasks": ["a"],
            "test_tasks": ["b"],
            "hard_tasks": ["c"],
            "additional_splits": {"long_horizon": ["d"]},
        },
    )
    splits = load_splits(benchmark)
    assert set(splits.names("gimp_env")) == {"all", "train", "test", "hard", "long_horizon", "disk"}
    assert splits.select("gimp_env", "long_horizon").tasks == ("d",)
    assert splits.select("gimp_env", "hard").tasks == ("c",)
    assert splits.select("gimp_env", "all").tasks == ("a", "b", "c", "d")


def test_two_files_may_name_one_environment(benchmark: Benchmark) -> None:
    write_split(benchmark, "gimp", {"env_folder": "gimp_env", "train_tasks": ["a", "b"], "test_tasks": []})
    write_split(
        benchmark, "gimp_more", {"env_folder": "examples/gimp_env", "train_tasks": ["b", "c"], "test_tasks": ["d"]}
    )
    splits = load_splits(benchmark)
    assert splits.select("gimp_env", "train").tasks == ("b", "c", "a"), "files by name, each task once"
    assert splits.select("gimp_env", "test").tasks == ("d",)


def test_an_environment_without_a_split_file_trains_on_its_folders(benchmark: Benchmark) -> None:
    splits = load_splits(benchmark)
    assert splits.names("bare_env") == ["all", "train", "test", "disk"]
    for name in ("all", "train", "disk"):
        assert splits.select("bare_env", name).tasks == ("p", "q")
    assert splits.select("bare_env", "test").tasks == ()


def test_listed_tasks_that_are_gone_are_reported_and_not_fatal(benchmark: Benchmark) -> None:
    write_split(
        benchmark,
        "gimp",
        {"env_folder": "gimp_env", "train_tasks": ["a", "gone", "__pycache__", "a"], "test_tasks": []},
    )
    selection = load_splits(benchmark).select("gimp_env", "train")
    assert (selection.tasks, selection.gone) == (("a",), ("gone", "__pycache__"))


def test_the_verified_surface_keeps_what_verified_json_lists(benchmark: Benchmark) -> None:
    write_json(
        benchmark.splits_dir / "verified.json",
        {"by_environment": {"gimp_env": ["c", "a", "zz"]}, "schema_version": 1, "tasks": [], "root": "x"},
    )
    splits = load_splits(benchmark)
    assert splits.select("gimp_env", "all", "verified").tasks == ("a", "c"), "in the order of the split"
    assert splits.select("bare_env", "all", "verified").tasks == ()
    assert splits.select("gimp_env", "all", "raw").tasks == ("a", "b", "c", "d")


def test_without_verified_json_the_verified_surface_is_refused(benchmark: Benchmark) -> None:
    with pytest.raises(SpecNotFound, match="no verified tasks"):
        load_splits(benchmark).select("gimp_env", "all", "verified")


def test_unknown_names_list_what_exists(benchmark: Benchmark) -> None:
    splits = load_splits(benchmark)
    with pytest.raises(SpecNotFound, match=r"did you mean 'train'\? there are: all, train, test, disk"):
        splits.select("gimp_env", "trian")
    for call in (splits.select, splits.names):
        with pytest.raises(SpecNotFound, match="bare_env, chrome_env_all, gimp_env"):
            call("firefox_env")


@pytest.mark.parametrize(
    ("data", "key"),
    [
        ({"train_tasks": []}, "env_folder"),
        ({"env_folder": 5}, "env_folder"),
        ({"env_folder": "/"}, "env_folder"),
        ({"env_folder": ".."}, "env_folder"),
        ({"env_folder": "gimp_env", "train_tasks": "a"}, "train_tasks"),
        ({"env_folder": "gimp_env", "train_tasks": ["a", 1]}, "train_tasks"),
        ({"env_folder": "gimp_env", "additional_splits": ["a"]}, "additional_splits"),
        ({"env_folder": "gimp_env", "additional_splits": {"x": None}}, "additional_splits.x"),
        ({"env_folder": "gimp_env", "disk_tasks": ["a"]}, "disk"),
        ([], ""),
    ],
)
def test_a_broken_split_file_is_one_error_and_spoils_no_other(benchmark: Benchmark, data: Any, key: str) -> None:
    broken = write_split(benchmark, "chrome_all", data)
    write_split(benchmark, "gimp", {"env_folder": "gimp_env", "train_tasks": ["a"], "test_tasks": []})
    splits = load_splits(benchmark)
    (error,) = splits.errors
    assert isinstance(error, SpecInvalid) and error.detail["file"] == str(broken) and error.detail["key"] == key
    assert splits.select("gimp_env", "train").tasks == ("a",)
    with pytest.raises(SpecInvalid):  # never silently "all folders": its split file is broken
        splits.select("chrome_env_all", "train")


def test_a_broken_verified_file_is_an_error_when_it_is_asked_for(benchmark: Benchmark) -> None:
    write_json(benchmark.splits_dir / "verified.json", {"by_environment": ["gimp_env"]})
    splits = load_splits(benchmark)
    assert len(splits.errors) == 1 and splits.select("gimp_env").tasks
    with pytest.raises(SpecInvalid, match="by_environment"):
        splits.select("gimp_env", "all", "verified")
