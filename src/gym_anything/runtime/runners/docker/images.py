"""Which image a spec's world is made from, and how it comes into the engine."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gym_anything._util.deadline import Deadline
from gym_anything._util.digest import sha256_tree
from gym_anything._util.locks import FileLock
from gym_anything._util.state_dir import state_root
from gym_anything.errors import MissingDependency, SpecNotFound, WorldStartFailed
from gym_anything.runtime.images.formats import docker_archive
from gym_anything.runtime.images.recipe import load_recipe
from gym_anything.runtime.images.rootfs import find_system, plan_build
from gym_anything.runtime.runners.docker.options import DockerOptions
from gym_anything.runtime.runners.docker.vendor import Engine, EngineRefused
from gym_anything.specs.env_spec import EnvSpec

OURS = "debian-desktop"
"""The image of specs that name none: what the preset of the same name means."""
LABEL = "gym-anything.image"

Report = Callable[..., None]


def ensure_image(engine: Engine, spec: EnvSpec, options: DockerOptions, report: Report) -> str:
    """Return the reference of the spec's image, brought into the engine when it is not there.

    ``dockerfile`` is built, ``image`` is pulled, a spec with neither gets our own ``debian-desktop`` from the store.
    Raises: MissingDependency (ours is not built; with the fix), SpecNotFound (no such Dockerfile), WorldStartFailed.
    """
    if spec.dockerfile:
        return _built(engine, spec.dockerfile, options, report)
    if spec.image:
        return _pulled(engine, spec.image, options, report)
    return _ours(engine, options, report)


def image_reference(spec: EnvSpec) -> str:
    """Return the name that the spec's image has in the engine once it is there; empty when it cannot be had."""
    if spec.dockerfile:
        path = Path(spec.dockerfile).expanduser().absolute()
        return _build_tag(path) if path.is_file() else ""
    if spec.image:
        return spec.image
    image = find_system(plan_build(load_recipe(OURS)))
    return "" if image is None else docker_archive.reference(image)


def _build_tag(dockerfile: Path) -> str:
    return f"gym-anything/build:{sha256_tree(dockerfile.parent).removeprefix('sha256:')[:24]}"


def _ours(engine: Engine, options: DockerOptions, report: Report) -> str:
    image = find_system(plan_build(load_recipe(OURS)))
    if image is None:
        fix = f"gym-anything image build {OURS}"
        raise MissingDependency(f"the image {OURS} is not built. Fix: {fix}", detail={"fix": fix})
    reference = docker_archive.reference(image)
    with _alone("load", options):
        if engine.image(reference) is None:
            report("image", doing="load", reference=reference)
            engine.load_image(docker_archive.archive(image))
    return reference


def _pulled(engine: Engine, reference: str, options: DockerOptions, report: Report) -> str:
    if engine.image(reference) is not None:
        return reference
    if options.pull == "never":
        raise WorldStartFailed(
            f"the engine has no image {reference!r}, and runner_options.pull is 'never'", detail={"image": reference}
        )
    report("image", doing="pull", reference=reference)
    try:
        engine.pull_image(reference)
    except EngineRefused as error:
        raise WorldStartFailed(f"the image {reference!r} cannot be had: {error}", detail=error.detail) from error
    return reference


def _built(engine: Engine, dockerfile: str, options: DockerOptions, report: Report) -> str:
    path = Path(dockerfile).expanduser().absolute()
    if not path.is_file():
        raise SpecNotFound(f"dockerfile {dockerfile} does not exist", detail={"key": "dockerfile", "file": str(path)})
    tag = _build_tag(path)
    with _alone("build", options):
        if engine.image(tag) is None:
            report("image", doing="build", reference=str(path))
            try:
                engine.build_image(os.fspath(path.parent), path.name, tag, {LABEL: "build"})
            except EngineRefused as error:
                raise WorldStartFailed(f"{path} cannot be built: {error}", detail=error.detail) from error
    return tag


@contextmanager
def _alone(what: str, options: DockerOptions) -> Iterator[None]:
    """Let one process of this user at a time bring an image in; the others find it there."""
    path, deadline = state_root() / f"docker-{what}.lock", Deadline.after(options.image_timeout_s)
    lock = FileLock.acquire(path, deadline=deadline)
    try:
        yield
    finally:
        lock.release()
