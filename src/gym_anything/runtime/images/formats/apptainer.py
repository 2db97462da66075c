"""A root file system as an Apptainer image: a sandbox folder, which starts quickest, or a SIF file, which travels."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

from gym_anything._util.ascii_names import random_name
from gym_anything._util.deadline import Deadline
from gym_anything._util.remove_tree import remove_tree
from gym_anything._util.state_dir import Run
from gym_anything._util.supervisor import Supervisor
from gym_anything._util.waiting import wait_until
from gym_anything.errors import HostError
from gym_anything.runtime.apptainer import rootless
from gym_anything.runtime.apptainer.build import build
from gym_anything.runtime.apptainer.program import require_program
from gym_anything.runtime.images.formats import docker_archive
from gym_anything.runtime.images.store import ROOTFS, StoredImage

BUILD_S = 1800.0
"""Some minutes on a slow disk."""


def write_sandbox(image: StoredImage, out: Path) -> None:
    """Write a sandbox folder, whole or not at all. Raises: MissingDependency, HostError."""
    write(image, out, Deadline.after(BUILD_S), sandbox=True)


def write_sif(image: StoredImage, out: Path) -> None:
    """Write a SIF file, whole or not at all. Raises: MissingDependency, HostError."""
    write(image, out, Deadline.after(BUILD_S), sandbox=False)


def write(
    image: StoredImage, out: Path, deadline: Deadline, *, sandbox: bool, aborted: Callable[[], bool] = lambda: False
) -> None:
    """Write the image in either form.

    Apptainer itself builds an image with nothing in it, for what it puts into every image of its own; the root file
    system is unpacked beside that. Its own way, from a Docker archive, writes everything three times.
    """
    require_program()  # before anything large is written
    partial = out.with_name(random_name(f".{out.name}-", 6))
    scratch = Run.current().new_world("apptainer-image")
    try:
        skeleton = scratch.path / "skeleton"
        archive = scratch.path / "empty.tar"
        docker_archive.write(_empty(image, scratch.path), archive)
        build(f"docker-archive:{archive}", skeleton, deadline, sandbox=True, aborted=aborted)
        partial.mkdir(mode=0o755)
        _unpack(image.rootfs, partial, scratch.env, deadline, aborted)
        subprocess.run(["cp", "--archive", *map(str, _of_apptainer(skeleton)), str(partial)], check=True)
        if sandbox:
            if out.exists():
                remove_tree(out)
            partial.rename(out)
        else:
            build(str(partial), out, deadline, fakeroot=os.geteuid() != 0, aborted=aborted)
    finally:
        Supervisor.shared().stop_world(scratch.id)
        if partial.exists():
            remove_tree(partial)
        scratch.remove()


def _empty(image: StoredImage, folder: Path) -> StoredImage:
    """Return an image with the same settings and nothing in it but one folder."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        member = tarfile.TarInfo("./usr")
        member.type, member.mode = tarfile.DIRTYPE, 0o755
        tar.addfile(member)
    (folder / ROOTFS).write_bytes(content.getvalue())
    return StoredImage(folder, {**image.record, "rootfs_sha256": hashlib.sha256(content.getvalue()).hexdigest()})


def _of_apptainer(skeleton: Path) -> list[Path]:
    """Return what apptainer has put into its image: its own folder, and links into that."""
    found = [path for path in skeleton.iterdir() if path.name == ".singularity.d" or path.is_symlink()]
    if not (skeleton / ".singularity.d").is_dir():
        raise HostError("what apptainer has built is no image of its own: it has no .singularity.d")
    return sorted(found)


def _unpack(rootfs: Path, target: Path, env: dict[str, str], deadline: Deadline, aborted: Callable[[], bool]) -> None:
    process = Supervisor.shared().spawn(
        [
            *rootless.owner_argv(),
            "tar",
            "--extract",
            "--numeric-owner",
            "--same-permissions",
            "--xattrs",
            "-f",
            str(rootfs),
            "-C",
            str(target),
        ],
        name=f"unpacking {rootfs}",
        env={"PATH": "/usr/bin:/bin", **env},
    )
    wait_until(lambda: process.returncode is not None, deadline=deadline, awaited=process.name, aborted=aborted)
    if process.returncode != 0:
        raise HostError(f"{rootfs} could not be unpacked (tar: exit {process.returncode})")
