"""Building our C programs into the cache: one build per source digest, one builder at a time, whole or not at all."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from gym_anything._util.deadline import Deadline
from gym_anything._util.locks import FileLock
from gym_anything.errors import NativeProgramMissing
from gym_anything.runtime.native import locate, programs

BUILD_LIMIT_S = 300.0
_TOOLS = ("make", "cc")


def build_native(names: Sequence[str] | None = None, *, force: bool = False) -> dict[str, Path]:
    """Build programs that are missing (all of them with ``force``) and return where each lies.

    Safe to call from many processes at once: the others wait and use the result.

    Raises: NativeProgramMissing, naming the packages that provide the compiler and headers.
    """
    root = programs.source_root()
    built = {}
    for name in programs.program_names(root) if names is None else names:
        digest = programs.source_digest(root, name)
        found = None if force else locate.find_program(name)
        built[name] = found or _build_into_cache(root, name, digest, force=force)
    return built


def compile_program(root: Path, name: str, digest: str, out: Path) -> None:
    """Run make in a scratch folder and put the finished program at ``out``. Raises NativeProgramMissing."""
    missing = [tool for tool in _TOOLS if shutil.which(tool) is None]
    if missing:
        raise _failure(root, name, f"{' and '.join(missing)} not found")
    with tempfile.TemporaryDirectory(prefix="ga-build-") as scratch:
        command = [
            "make",
            f"-j{os.cpu_count() or 1}",
            "-C",
            str(root),
            f"BUILD={scratch}",
            f"DIGEST={digest[:16]}",
            name,
        ]
        environment = {
            key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MAKELEVEL", "BUILD")
        }
        try:
            run = subprocess.run(
                command, capture_output=True, text=True, errors="replace", timeout=BUILD_LIMIT_S, env=environment
            )
        except subprocess.TimeoutExpired as error:
            raise _failure(root, name, f"make took more than {BUILD_LIMIT_S:.0f} s") from error
        if run.returncode:
            raise _failure(root, name, f"make failed:\n{(run.stdout + run.stderr)[-2000:]}")
        _place(Path(scratch) / name, out)


def _place(program: Path, out: Path) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    beside = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        shutil.copyfile(program, beside)
        beside.chmod(0o755)
        beside.replace(out)
    finally:
        beside.unlink(missing_ok=True)


def _build_into_cache(root: Path, name: str, digest: str, *, force: bool) -> Path:
    out = locate.cached_program(name, digest)
    locate.cache_folder().mkdir(parents=True, exist_ok=True)
    lock = FileLock.acquire(locate.cache_folder() / "build.lock", deadline=Deadline.after(2 * BUILD_LIMIT_S))
    try:
        if force or not os.access(out, os.X_OK):
            compile_program(root, name, digest, out)
    finally:
        lock.release()
    return out


def _failure(root: Path, name: str, reason: str) -> NativeProgramMissing:
    packages = programs.build_packages(root, name)
    fix = f"sudo apt-get install -y {' '.join(packages)} && gym-anything doctor --fix"
    return NativeProgramMissing(
        f"the native program {name!r} cannot be built ({reason}); on Debian: {fix}",
        detail={"program": name, "packages": packages, "fix": fix, "reason": reason},
    )
