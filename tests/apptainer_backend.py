"""Apptainer for tests: the program that ``tools/apptainer.sh`` has fetched, or the one in PATH; and our desktop as its image."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything.runtime.apptainer.built_image import ensure_image
from gym_anything.runtime.apptainer.program import PROGRAM
from gym_anything.runtime.runners.apptainer.images import image_of
from gym_anything.runtime.runners.apptainer.runner import ApptainerRunner
from gym_anything.specs.env_spec import EnvSpec
from tests.docker_engine import built


def fetched_program() -> Path:
    """Return where ``tools/apptainer.sh`` puts apptainer."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "gym-anything" / "test-apptainer" / "usr" / "bin" / "apptainer"


def choose_program() -> None:
    """Have this process and its children use the fetched program where nothing else is there."""
    if PROGRAM.name not in os.environ and shutil.which("apptainer") is None and fetched_program().exists():
        os.environ[PROGRAM.name] = str(fetched_program())


@pytest.fixture(scope="session")
def apptainer_backend(require_backend: Callable[[str, bool, str], None]) -> Iterator[None]:
    """Skip, or fail where it is required, when this host cannot run Apptainer worlds."""
    before = os.environ.get(PROGRAM.name)
    choose_program()
    status = ApptainerRunner.doctor_status()
    require_backend("apptainer", bool(status["available"]), f"{status['reason']} (fetch it: tools/apptainer.sh)")
    yield
    if before is None:
        os.environ.pop(PROGRAM.name, None)


@pytest.fixture(scope="session")
def apptainer_desktop(apptainer_backend: None, require_backend: Callable[[str, bool, str], None]) -> None:
    """Our desktop as an image of apptainer's, made when this machine has none."""
    built("debian-desktop", require_backend)
    image = image_of(EnvSpec.from_dict({"id": "image@1", "base": "debian-desktop"}))
    ensure_image(image, Deadline.after(600), lambda event, **facts: None, lambda: False)
