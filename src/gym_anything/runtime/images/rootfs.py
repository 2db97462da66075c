"""Building the root file system of a recipe: ``mmdebstrap``, finished by us, into the store."""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from gym_anything._util import logs
from gym_anything._util.deadline import Deadline
from gym_anything._util.remove_tree import remove_tree
from gym_anything._util.sheltered_call import sheltered
from gym_anything._util.state_dir import Run
from gym_anything._util.supervised_process import SupervisedProcess
from gym_anything._util.supervisor import Supervisor
from gym_anything.errors import Aborted, GymAnythingError, HostError, MissingDependency, SpecInvalid
from gym_anything.runtime.images.build_progress import LogWatch, Progress
from gym_anything.runtime.images.finish import EPOCH, Finisher
from gym_anything.runtime.images.recipe import Recipe
from gym_anything.runtime.images.store import ROOTFS, ImageStore, StoredImage
from gym_anything.runtime.native.locate import native_program

SUITES = ("bookworm", "trixie")
"""Debian releases that recipes are made for: 12 and 13."""
_SEARCH = "/usr/local/bin:/usr/bin:/bin"
_STOP_S = 10.0
_FONT_CACHE = (
    """chroot "$1" sh -c '[ ! -x /usr/bin/fc-cache ] || { find /usr/share/fonts /usr/local/share/fonts -type d """
    f"""-exec touch -d @{EPOCH} {{}} + && fc-cache -s -f; }}'"""
)
"""Without it the first program of every world reads all fonts. The folders get the time they will have in the archive:
the cache is good for that time only."""
_CLEAN_UP_S = 600.0
"""How long mmdebstrap may take to remove its own scratch folder, on a disk that others keep busy."""
_CHUNK_BYTES = 1 << 16


@dataclass(frozen=True)
class BuildPlan:
    """One build: what, of which release, with which programs of ours."""

    recipe: Recipe
    suite: str
    programs: dict[str, Path]

    def program_digests(self) -> dict[str, str]:
        """Return the SHA-256 of each program of ours."""
        return {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in self.programs.items()}

    @property
    def digest(self) -> str:
        """Digest of the recipe as it is to be built."""
        return self.recipe.digest(suite=self.suite, programs=self.program_digests())

    @property
    def system_digest(self) -> str:
        """The same without our programs, for who brings newer ones into the world anyway."""
        return self.recipe.digest(suite=self.suite, programs={})


def plan_build(recipe: Recipe, suite: str | None = None) -> BuildPlan:
    """Return what building a recipe means on this host.

    Args: suite: Debian release; None takes this host's own, or the newest for another system.
    Raises: SpecInvalid for an unknown release; NativeProgramMissing.
    """
    chosen = suite or host_suite()
    if chosen not in SUITES:
        raise SpecInvalid(f"images are built of {' or '.join(SUITES)}, not of {chosen!r}", detail={"key": "suite"})
    return BuildPlan(recipe, chosen, {name: native_program(name) for name in recipe.programs})


def host_suite() -> str:
    """Return this host's Debian release; the newest we know for any other system."""
    try:
        lines = Path("/etc/os-release").read_text(encoding="utf-8").splitlines()
    except OSError:
        return SUITES[-1]
    name = next((line.partition("=")[2].strip('"') for line in lines if line.startswith("VERSION_CODENAME=")), "")
    return name if name in SUITES else SUITES[-1]


def find_system(plan: BuildPlan, store: ImageStore | None = None) -> StoredImage | None:
    """Return the newest build of this plan, whichever version of our own programs is in it, or None."""
    digest = plan.system_digest
    found = [image for image in (store or ImageStore()).all() if image.record.get("system_digest") == digest]
    return found[-1] if found else None


def build_rootfs(
    plan: BuildPlan,
    *,
    store: ImageStore | None = None,
    force: bool = False,
    progress: Progress = lambda stage, files: None,
) -> StoredImage:
    """Return the build of this plan, made when it is not there (or with ``force``).

    Takes from some seconds to minutes and the network. Ctrl-C ends it and leaves nothing.
    Raises: MissingDependency (no mmdebstrap; with the fix), HostError with the end of its log.
    """
    store = store or ImageStore()
    program = mmdebstrap_program()
    with store.building(plan.recipe.name, plan.digest) as existing:
        if existing is not None and not force:
            return existing
        build = _Build(plan, program, progress)
        staging = store.staging(plan.recipe.name, plan.digest)
        try:
            record = sheltered(lambda: build.run(staging / ROOTFS), give_up=build.give_up, name="image-build")
        except BaseException:  # also Ctrl-C: half a root file system is of no use
            remove_tree(staging)
            raise
        return store.publish(staging, record)


def mmdebstrap_program() -> str:
    """Return the path of ``mmdebstrap``. Raises: MissingDependency with the fix."""
    found = shutil.which("mmdebstrap", path=_SEARCH)
    if found is None:
        raise MissingDependency(
            "building an image needs mmdebstrap, which is not installed. Fix: sudo apt-get install mmdebstrap",
            detail={"fix": "sudo apt-get install mmdebstrap"},
        )
    return found


def mmdebstrap_argv(program: str, recipe: Recipe, suite: str) -> list[str]:
    """Return the command line that writes a root file system of these packages to standard output. Pure."""
    argv = [program, "--mode=auto", "--variant=minbase", "--format=tar", "--components=main"]
    argv += [f"--include={','.join(recipe.packages)}"] if recipe.packages else []
    argv += ['--aptopt=APT::Sandbox::User "root"', '--aptopt=Acquire::Languages "none"']
    argv += ["--dpkgopt=force-unsafe-io", *(f"--dpkgopt=path-exclude={pattern}" for pattern in recipe.leave_out)]
    argv.append(f"--customize-hook={_FONT_CACHE}")
    return [*argv, suite, "-"]


class _Build:
    """One run of mmdebstrap and our finishing of what it writes."""

    def __init__(self, plan: BuildPlan, program: str, progress: Progress) -> None:
        self._plan = plan
        self._program = program
        self._progress = progress
        self._process: SupervisedProcess | None = None
        self._given_up = threading.Event()
        self._stage = "starting mmdebstrap"

    def give_up(self) -> None:
        """End it; any thread."""
        self._given_up.set()
        process = self._process
        if process is not None:
            process.signal(15)

    def run(self, out: Path) -> dict[str, Any]:
        """Write the root file system to ``out`` and return its record."""
        began = time.time()
        programs = {name: path.read_bytes() for name, path in self._plan.programs.items()}
        finisher = Finisher(self._plan.recipe, programs)
        world = Run.current().new_world("image", recipe=self._plan.recipe.name)
        log = world.path / "mmdebstrap.log"
        try:
            with out.open("wb") as target:
                hashing = _Hashing(target)
                self._stream(world.path, world.env, log, finisher, hashing)
        finally:
            Supervisor.shared().stop_world(world.id, Deadline.after(_STOP_S))
            world.remove()
        return self._record(finisher, hashing, began)

    def _stream(self, scratch: Path, env: dict[str, str], log: Path, finisher: Finisher, target: _Hashing) -> None:
        """Let mmdebstrap write into a pipe and finish what comes out of it."""
        read_fd, write_fd = os.pipe2(os.O_CLOEXEC)
        with os.fdopen(read_fd, "rb") as source, log.open("wb") as log_file:
            try:
                process = self._process = Supervisor.shared().spawn(
                    mmdebstrap_argv(self._program, self._plan.recipe, self._plan.suite),
                    name=f"mmdebstrap for {self._plan.recipe.name}",
                    env={**_environment(), **env, "TMPDIR": str(scratch), "SOURCE_DATE_EPOCH": str(EPOCH)},
                    stdout=write_fd,
                    stderr=log_file.fileno(),
                )
            finally:
                os.close(write_fd)
            watch = LogWatch(log, self._progress, finisher)
            try:
                finisher.run(source, target, tick=watch.tick)  # type: ignore[arg-type]
            except HostError as error:
                raise self._failure(process, log, error) from error
            finally:
                watch.stop()
            while source.read(_CHUNK_BYTES):  # padding; it ends when mmdebstrap has written all
                pass
            if process.wait(Deadline.after(_CLEAN_UP_S)) != 0:
                raise self._failure(process, log, None)

    def _failure(self, process: SupervisedProcess, log: Path, error: HostError | None) -> GymAnythingError:
        if self._given_up.is_set():
            return Aborted(f"building {self._plan.recipe.name} was ended")
        process.stop(Deadline.after(_STOP_S))
        tail = logs.tail(log, 15)
        return HostError(
            f"mmdebstrap could not build {self._plan.recipe.name} ({error or f'exit {process.returncode}'}); "
            f"end of its log:\n{tail}",
            detail={"log_tail": tail},
        )

    def _record(self, finisher: Finisher, hashing: _Hashing, began: float) -> dict[str, Any]:
        return {
            "name": self._plan.recipe.name,
            "about": self._plan.recipe.about,
            "suite": self._plan.suite,
            "recipe_digest": self._plan.digest,
            "system_digest": self._plan.system_digest,
            "rootfs_sha256": hashing.hexdigest(),
            "rootfs_bytes": hashing.count,
            "files": finisher.members,
            "source_date_epoch": EPOCH,
            "packages": finisher.packages,
            "programs": self._plan.program_digests(),
            "built_at": began,
            "took_s": round(time.time() - began, 1),
        }


def _environment() -> dict[str, str]:
    """Return the environment of mmdebstrap: what it needs to reach a mirror, and nothing else of ours."""
    kept = ("PATH", "HOME", "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
    found = {name: os.environ[name] for name in kept if name in os.environ}
    return {**found, "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}


class _Hashing:
    """A file that is hashed and counted while it is written."""

    def __init__(self, target: IO[bytes]) -> None:
        self._target = target
        self._hash = hashlib.sha256()
        self.count = 0

    def write(self, data: bytes) -> int:
        """Write, hash, count."""
        self._hash.update(data)
        self.count += len(data)
        return self._target.write(data)

    def hexdigest(self) -> str:
        """Return the SHA-256 of all that was written."""
        return self._hash.hexdigest()
