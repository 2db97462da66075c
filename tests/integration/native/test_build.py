from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything._util.locks import FileLock
from gym_anything.errors import NativeProgramMissing
from gym_anything.runtime.native import build, locate, programs
from tests.conftest import RequireBackend

pytestmark = [pytest.mark.real, pytest.mark.slow]

REPOSITORY = Path(__file__).parents[3]
_FIND = "from gym_anything.runtime.native.locate import native_program; print(native_program('ga-guest'))"
_BUILD = "from gym_anything.runtime.native.build import build_native; print(build_native(['ga-guest'])['ga-guest'])"


@pytest.fixture(autouse=True)
def own_cache(require_backend: RequireBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    require_backend("compiler", shutil.which("cc") is not None and shutil.which("make") is not None, "no C compiler")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_a_checkout_builds_on_first_use_and_once() -> None:
    path = locate.native_program("ga-guest")
    made = path.stat().st_mtime_ns
    assert locate.native_program("ga-guest") == path and path.stat().st_mtime_ns == made
    shown = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
    assert programs.source_digest(programs.source_root(), "ga-guest")[:16] in shown
    linked = subprocess.run(["ldd", path], capture_output=True, text=True)
    assert "not a dynamic executable" in linked.stderr + linked.stdout


def test_many_builders_at_once_make_one_whole_program(own_cache: Path) -> None:
    found: list[Path] = []
    threads = [threading.Thread(target=lambda: found.append(locate.native_program("ga-guest"))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6 and len(set(found)) == 1
    left = sorted(path.name for path in (own_cache / "gym-anything" / "native").rglob("*") if path.is_file())
    assert left == ["build.lock", "ga-guest"]


def test_a_build_that_fails_shows_the_compilers_words(tmp_path: Path) -> None:
    sources = tmp_path / "native"
    shutil.copytree(programs.source_root(), sources, ignore=shutil.ignore_patterns("build"))
    (sources / "ga-guest" / "main.c").write_text("this is not C\n")
    with pytest.raises(NativeProgramMissing, match=r"main\.c:1:1: error"):
        build.compile_program(sources, "ga-guest", "0" * 64, tmp_path / "out" / "ga-guest")
    assert not (tmp_path / "out").exists()


def test_a_half_written_program_is_never_found(own_cache: Path) -> None:
    digest = programs.source_digest(programs.source_root(), "ga-guest")
    path = locate.cached_program("ga-guest", digest)
    path.parent.mkdir(parents=True)
    path.touch(mode=0o644)
    assert locate.find_program("ga-guest") is None
    assert locate.native_program("ga-guest").stat().st_size > 100_000


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    folder = tmp_path / "clean venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    return folder


def _install(venv: Path, *what: str) -> None:
    """Install without asking the network; the build backend is the one of this interpreter."""
    pip = [sys.executable, "-m", "pip", "--python", str(venv / "bin" / "python"), "install", "-q", "--no-deps"]
    env = {**os.environ, "PYTHONPATH": sysconfig.get_path("purelib")}
    subprocess.run([*pip, "--no-build-isolation", *what], check=True, env=env)


def _python(venv: Path, code: str, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [venv / "bin" / "python", "-I", "-c", code], capture_output=True, text=True, env=dict(env), cwd=venv
    )


def _wheel(out: Path, env: Mapping[str, str]) -> tuple[Path, str]:
    run = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)],
        cwd=REPOSITORY, env=dict(env), capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    (wheel,) = out.glob("*.whl")
    return wheel, run.stdout + run.stderr


def _environment(tmp_path: Path, *, compiler: bool) -> dict[str, str]:
    path = "/usr/local/bin:/usr/bin:/bin" if compiler else str(tmp_path / "no programs")
    return {"PATH": path, "XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path)}


@pytest.mark.soak
def test_a_wheel_built_with_a_compiler_brings_the_program(tmp_path: Path, venv: Path) -> None:
    wheel, _ = _wheel(tmp_path / "wheel", _environment(tmp_path, compiler=True))
    assert wheel.name.endswith(f"-py3-none-linux_{programs.machine()}.whl")
    _install(venv, str(wheel))
    run = _python(venv, _FIND, _environment(tmp_path, compiler=False))
    path = Path(run.stdout.strip())
    assert run.returncode == 0 and path.is_relative_to(venv), run.stderr
    assert subprocess.run([path, "--version"], check=True, capture_output=True).stdout.startswith(b"ga-guest ")
    assert not (tmp_path / "cache").exists()


def test_a_wheel_built_without_a_compiler_installs_and_says_what_is_missing(tmp_path: Path, venv: Path) -> None:
    wheel, output = _wheel(tmp_path / "wheel", _environment(tmp_path, compiler=False))
    assert wheel.name.endswith("-py3-none-any.whl")
    assert "make and cc not found" in output and "sudo apt-get install -y gcc make libc6-dev" in output
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert "gym_anything/_native/src/Makefile" in names and not [name for name in names if "_native/bin" in name]
    _install(venv, str(wheel))
    without = _environment(tmp_path, compiler=False)
    run = _python(venv, _FIND, without)
    assert run.returncode == 1 and "gym-anything doctor --fix" in run.stderr
    run = _python(venv, _BUILD, without)
    assert "sudo apt-get install -y gcc make libc6-dev && gym-anything doctor --fix" in run.stderr
    # once there is a compiler, the shipped sources suffice
    built = _python(venv, _BUILD, _environment(tmp_path, compiler=True))
    assert built.returncode == 0, built.stderr
    assert _python(venv, _FIND, without).stdout == built.stdout


def test_an_editable_install_uses_the_checkouts_sources(tmp_path: Path, venv: Path) -> None:
    _install(venv, "-e", str(REPOSITORY))
    run = _python(venv, _FIND, _environment(tmp_path, compiler=True))
    assert run.returncode == 0, run.stderr
    assert Path(run.stdout.strip()) == locate.native_program("ga-guest")


@pytest.mark.parametrize(
    "arguments",
    [pytest.param([], id="plain"), pytest.param(["SANITIZE=1"], id="sanitized", marks=pytest.mark.soak)],  # make native
)
def test_the_c_tests_pass(tmp_path: Path, arguments: list[str]) -> None:
    lock = FileLock.acquire(Path(tempfile.gettempdir()) / "ga-sanitize.lock", deadline=Deadline.after(300))
    try:
        run = subprocess.run(
            ["make", "-s", "-C", REPOSITORY / "native", *arguments, "test-ga-guest"],
            capture_output=True, text=True, env={**_environment(tmp_path, compiler=True), "ASAN_OPTIONS": "detect_leaks=0"},
        )  # fmt: skip
    finally:
        lock.release()
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]
