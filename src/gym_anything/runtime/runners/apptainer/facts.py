"""What the class of Apptainer worlds says about itself and this host, before any world exists."""

from __future__ import annotations

import os
from typing import Any

from gym_anything.errors import MissingDependency
from gym_anything.runtime.apptainer import rootless
from gym_anything.runtime.apptainer.program import FIX, require_program, version_of
from gym_anything.runtime.container.facts import IMAGE_STEP, bad, good, status_of
from gym_anything.specs.env_spec import EnvSpec

_OTHER_WORLDS = ("dockerfile", "avd", "adb", "apks")


def eligible(spec: EnvSpec | None) -> bool:
    """Tell whether detection may choose an Apptainer world: for specs that say how one is made."""
    if spec is None:
        return True
    return spec.os_type == "linux" and spec.apptainer is not None and not _others(spec)


def _others(spec: EnvSpec) -> bool:
    return any(getattr(spec, name) for name in _OTHER_WORLDS)


def status() -> dict[str, Any]:
    """Look at what an Apptainer world needs and return the doctor's answer."""
    return status_of({"apptainer": _program_row(), "user": _user_row()})


def _program_row() -> dict[str, Any]:
    try:
        path = require_program()
        return good(f"{path}, {version_of(path)}")
    except MissingDependency as error:
        return bad(error)


def _user_row() -> dict[str, Any]:
    """Say whether this user can have worlds."""
    if os.geteuid() == 0:
        return good("root")
    lacking = rootless.lacking()
    if not lacking:
        return good("an ordinary user, with ids of his own for a world's users")
    return {"ok": False, "detail": "; ".join(lacking), "fix": "; ".join(dict.fromkeys(lacking.values()))}


def install_steps() -> list[dict[str, str]]:
    """Return how to install what an Apptainer world needs."""
    return [
        {"title": "apptainer", "command": f"# {FIX}"},
        {
            "title": "worlds of who is not root",
            "command": f"apt-get install --no-install-recommends {' '.join(rootless.PACKAGES.values())}",
        },
        IMAGE_STEP,
    ]
