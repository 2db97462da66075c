"""What the class of Docker worlds says about itself and this host, before any world exists."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from gym_anything._util.labels import RUN, Label
from gym_anything._util.orphans import IsOrphan, Orphan
from gym_anything.errors import GymAnythingError
from gym_anything.runtime.container.facts import IMAGE_STEP, bad, good, status_of
from gym_anything.runtime.container.inside import IO
from gym_anything.runtime.runners.docker.checkpoint import orphaned_images
from gym_anything.runtime.runners.docker.launch import sweep
from gym_anything.runtime.runners.docker.vendor import Engine
from gym_anything.specs.env_spec import EnvSpec

_PROBE_S = 4.0
_OTHER_WORLDS = ("apptainer", "avd", "adb", "apks")


def eligible(spec: EnvSpec | None) -> bool:
    """Tell whether detection may choose a Docker world: for specs that name an image or a Dockerfile."""
    if spec is None:
        return True
    if spec.os_type != "linux" or any(getattr(spec, name) for name in _OTHER_WORLDS):
        return False
    return bool(spec.image or spec.dockerfile)


def status() -> dict[str, Any]:
    """Ask the engine, and return the doctor's answer."""
    return status_of({"engine": _engine_row()})


def _engine_row() -> dict[str, Any]:
    try:
        engine = Engine.connect(timeout_s=_PROBE_S)
        try:
            info, options = engine.info(), engine.security_options()
        finally:
            engine.close()
    except GymAnythingError as error:
        return bad(error)
    parts = [info.get("ServerVersion"), info.get("Driver"), f"cgroup v{info.get('CgroupVersion', '?')}"]
    detail = ", ".join(map(str, [*parts, *sorted(options & {"rootless", "userns"})]))
    if "userns" in options:
        why = f"{detail}: its containers have other ids than this host (userns-remap) and cannot share a folder with us"
        return {"ok": False, "detail": why, "fix": "remove userns-remap from /etc/docker/daemon.json"}
    return good(detail)


def install_steps() -> list[dict[str, str]]:
    """Return how to install what a Docker world needs."""
    return [
        {"title": "the Docker engine", "command": "apt-get install --no-install-recommends docker.io"},
        {"title": "its Python SDK", "command": "pip install 'gym-anything[docker]'"},
        IMAGE_STEP,
    ]


def orphans_in_engine(is_orphan: IsOrphan, dry_run: bool) -> list[Orphan]:
    """Find and remove what dead runs have left in the engine: containers, half-made checkpoints.

    Nothing where no engine answers.
    """
    try:
        engine = Engine.connect(timeout_s=_PROBE_S)
    except GymAnythingError:
        return []  # no engine, no containers
    try:
        found = []
        for row in engine.labelled(RUN):
            label = Label.from_dict(row.get("Labels") or {})
            if label is not None and is_orphan(label):
                found.append(_collected(engine, row, label, dry_run))
        return [*found, *orphaned_images(engine, is_orphan, dry_run)]
    finally:
        engine.close()


def _collected(engine: Engine, row: dict[str, Any], label: Label, dry_run: bool) -> Orphan:
    name = str((row.get("Names") or [row["Id"]])[0]).lstrip("/")
    removed, error = False, ""
    if not dry_run:
        try:
            engine.remove(str(row["Id"]))
            for mount in row.get("Mounts") or []:
                if mount.get("Destination") == IO and os.access(mount["Source"], os.W_OK):
                    sweep(engine, str(row["ImageID"]), Path(mount["Source"]))
            removed = True
        except GymAnythingError as failure:
            error = str(failure)
    return Orphan("container", f"docker container {name}", label.run, label.world, removed=removed, error=error)
