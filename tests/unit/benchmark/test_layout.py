"""The shape of a benchmark, and how one is found by folder, package or name."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gym_anything.benchmark.layout import find_benchmark, find_env_dir, known_benchmarks
from gym_anything.errors import SpecNotFound
from tests.unit.specs.minimal import env_data, task_data, write_json

pytestmark = pytest.mark.unit


def make_benchmark(root: Path, *envs: str) -> Path:
    """Lay out a benchmark with one task in each environment."""
    for env in envs or ("one_env",):
        write_json(root / "environments" / env / "env.json", env_data(id=f"{env}@1"))
        write_json(root / "environments" / env / "tasks" / "t" / "task.json", task_data())
    return root


@pytest.fixture(autouse=True)
def no_ambient_benchmark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GYM_ANYTHING_BENCHMARK", raising=False)
    monkeypatch.chdir(tmp_path)


def test_environments_are_the_folders_with_an_env_file(tmp_path: Path) -> None:
    root = make_benchmark(tmp_path / "b", "z_env", "a_env")
    (root / "environments" / "README.md").write_text("x")
    (root / "environments" / "no_file_env").mkdir()
    (root / "environments" / "__pycache__").mkdir()
    (root / "environments" / "yaml_env").mkdir()
    (root / "environments" / "yaml_env" / "env.yml").write_text("broken: [")
    (root / "environments" / "linked_env").symlink_to(root / "environments" / "a_env")
    benchmark = find_benchmark(root)
    assert benchmark.name == "b" and benchmark.root == root
    assert benchmark.environments() == ["a_env", "linked_env", "yaml_env", "z_env"], "listing parses nothing"
    assert benchmark.tasks("a_env") == ["t"]
    assert benchmark.env_dir("z_env") == root / "environments" / "z_env"


def test_a_folder_may_be_relative_or_begin_with_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_benchmark(tmp_path / "a folder" / "b")
    monkeypatch.setenv("HOME", str(tmp_path))
    for reference in ("a folder/b", "./a folder/b", "~/a folder/b", tmp_path / "a folder" / ".." / "a folder" / "b"):
        assert find_benchmark(reference).root == tmp_path / "a folder" / "b"


def test_a_package_is_found_by_its_own_name_and_inside_the_namespace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    make_benchmark(site / "benchmarks" / "in_namespace")
    make_benchmark(site / "benchmarks" / "with-dash")
    make_benchmark(site / "own_package")
    (site / "own_package" / "__init__.py").write_text("raise RuntimeError('a benchmark is not imported')")
    monkeypatch.syspath_prepend(str(site))
    for name in [m for m in sys.modules if m == "benchmarks" or m.startswith("benchmarks.")]:
        monkeypatch.delitem(sys.modules, name)
    assert find_benchmark("in_namespace").root == site / "benchmarks" / "in_namespace"
    assert find_benchmark("benchmarks.in_namespace").root == site / "benchmarks" / "in_namespace"
    assert find_benchmark("with-dash").name == "with-dash"
    assert find_benchmark("own_package").root == site / "own_package"
    assert {"in_namespace", "with-dash"} <= set(known_benchmarks())


def test_a_benchmark_of_the_working_folder_goes_by_its_name(tmp_path: Path) -> None:
    make_benchmark(tmp_path / "benchmarks" / "mine_only_here")
    assert find_benchmark("mine_only_here").root == tmp_path / "benchmarks" / "mine_only_here"
    assert known_benchmarks()["mine_only_here"] == tmp_path / "benchmarks" / "mine_only_here"


def test_the_environment_variable_names_the_ambient_benchmark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_benchmark(tmp_path / "ambient")
    make_benchmark(tmp_path / "asked")
    monkeypatch.setenv("GYM_ANYTHING_BENCHMARK", str(tmp_path / "ambient"))
    assert find_benchmark().name == "ambient"
    assert find_benchmark(tmp_path / "asked").name == "asked", "an argument wins"


def test_without_a_name_the_only_one_is_meant_and_several_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gym_anything.benchmark.layout._package_folders", lambda name: [])
    with pytest.raises(SpecNotFound, match="GYM_ANYTHING_BENCHMARK; there are: none"):
        find_benchmark()
    make_benchmark(tmp_path / "benchmarks" / "first")
    assert find_benchmark().name == "first"
    make_benchmark(tmp_path / "benchmarks" / "second")
    with pytest.raises(SpecNotFound, match="there are: first, second"):
        find_benchmark()


@pytest.mark.parametrize(
    "reference", ["nope", "json", "a.b.c", "..x", "/nowhere/at/all", "x" * 5000, "a\0b", "first-1"]
)
def test_an_unknown_benchmark_lists_those_there_are(tmp_path: Path, reference: str) -> None:
    make_benchmark(tmp_path / "benchmarks" / "first_one")
    with pytest.raises(SpecNotFound, match="first_one"):
        find_benchmark(reference)


def test_a_folder_that_is_no_benchmark_says_what_it_lacks(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(SpecNotFound, match="no folder `environments`"):
        find_benchmark(tmp_path / "empty")


def test_an_unknown_environment_lists_what_exists(tmp_path: Path) -> None:
    benchmark = find_benchmark(make_benchmark(tmp_path / "b", "gimp_env", "chrome_env"))
    for name in ("gimp", "../b", "", "gimp_env/", "x" * 5000):
        with pytest.raises(SpecNotFound, match="chrome_env, gimp_env"):
            benchmark.env_dir(name)
    with pytest.raises(SpecNotFound, match="did you mean 'gimp_env'"):
        benchmark.tasks("gimp_evn")


def test_an_environment_is_meant_by_its_folder_or_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make_benchmark(tmp_path / "b", "gimp_env")
    folder = root / "environments" / "gimp_env"
    assert find_env_dir(folder) == folder
    assert find_env_dir("b/environments/gimp_env") == folder
    assert find_env_dir("gimp_env", root) == folder
    monkeypatch.setenv("GYM_ANYTHING_BENCHMARK", str(root))
    assert find_env_dir("gimp_env") == folder
    with pytest.raises(SpecNotFound, match=r"no env\.yaml"):
        find_env_dir("b/environments")
    with pytest.raises(SpecNotFound, match=r"no such folder here, and .* there are: gimp_env"):
        find_env_dir("photoshop_env")
