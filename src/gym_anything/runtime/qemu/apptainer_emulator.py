"""QEMU out of an image of apptainer's, for hosts that have the one and not the other.

The image is a way to have QEMU, not a wall around it: the folders of all worlds of this user are there to be reached.
"""

from __future__ import annotations

import dataclasses
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from gym_anything._util import env_vars, proc
from gym_anything._util.deadline import Deadline
from gym_anything._util.state_dir import state_root
from gym_anything.errors import MissingDependency
from gym_anything.runtime.apptainer.built_image import Image, ensure_image, image_at, image_of_ours
from gym_anything.runtime.apptainer.cache import image_root
from gym_anything.runtime.apptainer.command import Bind
from gym_anything.runtime.apptainer.lone_program import lone_argv, lone_environment
from gym_anything.runtime.apptainer.program import SEARCH, require_program
from gym_anything.runtime.qemu.cache import cache_root
from gym_anything.runtime.qemu.command_line import AnyMachine, command_line
from gym_anything.runtime.qemu.program import IMAGE_TOOL, SYSTEM

CONTAINER = env_vars.declare(
    "GYM_ANYTHING_QEMU_CONTAINER",
    str.strip,
    None,
    "Image that QEMU runs from where it runs inside Apptainer: a SIF file, a sandbox folder, or an address such as "
    "docker://registry/qemu:latest. Default: our own, made by `gym-anything image build qemu`.",
    "gym_anything.runtime.qemu.apptainer_emulator",
)
RECIPE = "qemu"
_KVM = Path("/dev/kvm")
_IMAGE_S = 1800.0
_TRIAL_S = 60.0
_MARK_CHARS = 19


@dataclass(frozen=True, slots=True)
class ApptainerEmulator:
    """The QEMU of an image.

    Attributes:
        program: ``apptainer``. image: SIF or sandbox folder.
        folders: what its programs see of this host, at the same place, beside what a machine's spec names.
    """

    program: str
    image: str
    version: str
    folders: tuple[Path, ...]
    kvm: bool = False

    @classmethod
    def find(cls, report: Callable[..., None], aborted: Callable[[], bool], *, kvm: bool) -> ApptainerEmulator:
        """Return it; the image is made when it is not there yet, which takes a minute.

        Raises: MissingDependency with the fix; WorldStartFailed, Aborted.
        """
        program, image = require_program(), wanted_image()
        ensure_image(image, Deadline.after(_IMAGE_S), report, aborted)
        folders = (cache_root(), state_root())
        for folder in folders:
            folder.mkdir(parents=True, exist_ok=True)
        version = f"{version_in(program, str(image.path))} in {image.mark()[:_MARK_CHARS]}"
        return cls(program, str(image.path), version, folders, kvm)

    def machine_argv(self, spec: AnyMachine) -> list[str]:
        """See ``Emulator``."""
        return lone_argv(self.program, self.image, list(self._binds(spec)), command_line(spec, SYSTEM))

    def image_tool_argv(self, arguments: Sequence[str], folder: Path) -> list[str]:
        """See ``Emulator``."""
        return lone_argv(self.program, self.image, [_bind(folder)], [IMAGE_TOOL, *arguments])

    def environment(self, label_env: Mapping[str, str], folder: Path) -> dict[str, str]:
        """See ``Emulator``. Apptainer's own processes clear theirs; the label lies in their settings, too."""
        return {**label_env, **lone_environment(label_env, folder=str(folder), path=SEARCH)}

    def qemu_pid(self, started: int) -> int:
        """See ``Emulator``: a process of apptainer's waits beside QEMU, which itself starts nothing."""
        return [started, *proc.descendants(started)][-1]

    def _binds(self, spec: AnyMachine) -> Iterator[Bind]:
        yield from (_bind(folder) for folder in self.folders)
        others = {folder for folder in named_folders(spec) if not self._sees(folder)}
        yield from (_bind(folder) for folder in sorted(others))
        if self.kvm and spec.accelerator == "kvm":
            yield Bind(str(_KVM), str(_KVM), is_file=True)

    def _sees(self, path: Path) -> bool:
        return any(folder == path or folder in path.parents for folder in self.folders)


def named_folders(spec: AnyMachine) -> list[Path]:
    """Return the folders of all files that a machine's spec names. QEMU locks images and writes to memory files."""
    return [path.parent for path in _paths_in(spec)]


def _paths_in(value: object) -> Iterator[Path]:
    if isinstance(value, Path):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _paths_in(part)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from _paths_in(getattr(value, field.name))


def wanted_image() -> Image:
    """Return the image that QEMU shall run from. Raises: MissingDependency (not built, not there; with the fix)."""
    chosen = CONTAINER.get()
    if not chosen:
        return image_of_ours(RECIPE, image_root())
    if "://" in chosen:
        return image_at(chosen, image_root())
    path = Path(chosen).expanduser().absolute()
    if not path.exists():
        fix = f"unset {CONTAINER.name}, or let it name a SIF file, a sandbox folder or an address"
        raise MissingDependency(f"{CONTAINER.name}: {path} does not exist. Fix: {fix}", detail={"fix": fix})
    return Image(path)


@lru_cache(maxsize=4)
def version_in(program: str, image: str) -> str:
    """Return the version of QEMU in an image. Raises: MissingDependency when none runs there."""
    argv = lone_argv(program, image, [], [SYSTEM, "--version"])
    try:
        with tempfile.TemporaryDirectory(prefix="gym-anything-") as notes:
            env = lone_environment({}, folder=notes, path=SEARCH)
            done = subprocess.run(argv, capture_output=True, text=True, env=env, timeout=_TRIAL_S, check=True)
    except subprocess.CalledProcessError as error:
        raise _no_qemu(image, error.stderr) from error
    except (OSError, subprocess.SubprocessError) as error:
        raise _no_qemu(image, str(error)) from error
    match = re.search(r"version (\d+\.\d+\.\d+)", done.stdout)
    if match is None:
        raise _no_qemu(image, f"it says {done.stdout[:200]!r}")
    return match.group(1)


def _bind(folder: Path) -> Bind:
    return Bind(str(folder), str(folder))


def _no_qemu(image: str, why: str) -> MissingDependency:
    fix = f"gym-anything image build {RECIPE}, and unset {CONTAINER.name}"
    text = f"{SYSTEM} does not run in the image {image}: {why.strip()[-500:]}. Fix: {fix}"
    return MissingDependency(text, detail={"fix": fix})
