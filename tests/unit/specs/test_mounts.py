"""Where the files that a spec names lie on the host, and how guest paths are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from gym_anything.specs import EnvSpec
from gym_anything.specs.guest_paths import canonical_guest_path, is_absolute_guest_path
from gym_anything.specs.mounts import find_host_path, resolve_mounts, with_host_paths
from tests.unit.specs.minimal import env_data

pytestmark = pytest.mark.unit


@pytest.fixture
def env_root(tmp_path: Path) -> Path:
    root = tmp_path / "repo" / "benchmarks" / "b" / "environments" / "my env"
    (root / "scripts").mkdir(parents=True)
    (root.parents[1] / "shared").mkdir()
    (tmp_path / "repo" / "benchmarks" / "shared").mkdir()
    return root


def test_a_relative_source_is_searched_from_the_environment_upward(
    env_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cwd = tmp_path / "elsewhere"
    (cwd / "only_here").mkdir(parents=True)
    (cwd / "scripts").mkdir()
    monkeypatch.chdir(cwd)
    repo = tmp_path / "repo"
    assert find_host_path("scripts", env_root) == env_root / "scripts", "nearest first, before the working folder"
    assert find_host_path("benchmarks/b/environments/my env/scripts", env_root) == env_root / "scripts"
    assert find_host_path("shared", env_root) == env_root.parents[1] / "shared", "the inner of two"
    assert find_host_path("benchmarks/shared", env_root) == repo / "benchmarks" / "shared"
    assert find_host_path("only_here", env_root) == cwd / "only_here"
    assert find_host_path(str(cwd / "scripts"), env_root) == cwd / "scripts"
    assert find_host_path("nowhere", env_root) is None
    assert find_host_path("x" * 5000, env_root) is None and find_host_path("a\0b", env_root) is None


def test_a_root_with_dots_is_searched_by_its_real_parents(env_root: Path, tmp_path: Path) -> None:
    decoy = tmp_path / "repo" / "decoy"
    (decoy / "benchmarks" / "b" / "environments" / "my env" / "scripts").mkdir(parents=True)
    dotted = decoy / ".." / "benchmarks" / "b" / "environments" / "my env"
    assert find_host_path("benchmarks/b/environments/my env/scripts", dotted) == env_root / "scripts"


def test_resolved_mounts_keep_order_and_say_what_is_missing(env_root: Path) -> None:
    spec = EnvSpec.from_dict(
        env_data(
            mounts=[
                {"source": "gone", "target": "/workspace/gone"},
                {"source": "scripts", "target": "/workspace/scripts", "mode": "rw"},
            ]
        )
    )
    gone, scripts = resolve_mounts(spec, env_root)
    assert (gone.source, gone.target, gone.mode, gone.missing) == (env_root / "gone", "/workspace/gone", "ro", True)
    assert (scripts.source, scripts.mode, scripts.missing) == (env_root / "scripts", "rw", False)


def test_a_runner_gets_absolute_sources_and_packages(env_root: Path) -> None:
    spec = EnvSpec.from_dict(env_data(mounts=[{"source": "scripts", "target": "/s"}], apks=["a.apk"]))
    placed = with_host_paths(spec, env_root)
    assert placed.mounts[0].source == str(env_root / "scripts") and placed.apks == (str(env_root / "a.apk"),)
    assert spec.mounts[0].source == "scripts"
    bare = EnvSpec.from_dict(env_data())
    assert with_host_paths(bare, env_root).to_dict() == bare.to_dict()


@pytest.mark.parametrize(
    ("path", "os_type", "expected"),
    [
        ("/workspace/tasks", "windows", "C:\\workspace\\tasks"),
        ("C:\\workspace\\tasks", "windows", "C:\\workspace\\tasks"),
        ("c:/workspace//tasks/", "windows", "C:\\workspace\\tasks"),
        ("D:\\data", "windows", "D:\\data"),
        ("/", "windows", "C:\\"),
        ("/workspace//tasks/", "linux", "/workspace/tasks"),
        ("/sdcard/x", "android", "/sdcard/x"),
        ("/", "linux", "/"),
    ],
)
def test_both_windows_spellings_reach_the_same_folder(path: str, os_type: str, expected: str) -> None:
    assert canonical_guest_path(path, os_type) == expected


@pytest.mark.parametrize(
    ("path", "yes"), [("/a", True), ("C:\\a", True), ("c:/a", True), ("a", False), ("C:a", False), ("", False)]
)
def test_absolute_guest_paths_are_recognised(path: str, yes: bool) -> None:
    assert is_absolute_guest_path(path) is yes


def test_a_dockerfile_is_found_beside_the_environment(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").touch()
    spec = EnvSpec.from_dict({"id": "e@1", "base": "debian-desktop", "dockerfile": "Dockerfile"})
    assert with_host_paths(spec, tmp_path).dockerfile == str(tmp_path / "Dockerfile")
    missing = EnvSpec.from_dict({"id": "e@1", "base": "debian-desktop", "dockerfile": "no/Dockerfile"})
    assert with_host_paths(missing, tmp_path).dockerfile == "no/Dockerfile"
