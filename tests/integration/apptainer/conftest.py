"""Apptainer worlds for tests: made by what the test asks for, always stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything.runtime.apptainer.built_image import Image, ensure_image
from gym_anything.runtime.apptainer.cache import image_root
from gym_anything.runtime.runners.apptainer.runner import ApptainerRunner
from gym_anything.specs.env_spec import EnvSpec
from tests.docker_engine import built

MakeRunner = Callable[..., ApptainerRunner]


@pytest.fixture(scope="session")
def minimal_image(apptainer_backend: None, require_backend: Callable[[str, bool, str], None]) -> Path:
    """Return the sandbox folder of the smallest image: no X server, no Python."""
    stored = built("debian-minimal", require_backend)
    path = image_root() / f"{stored.name}-{stored.digest[:12]}"
    ensure_image(Image(path, stored=stored), Deadline.after(600), lambda event, **facts: None, lambda: False)
    return path


@pytest.fixture
def make_runner(apptainer_backend: None) -> Iterator[MakeRunner]:
    """Return ``make(**fields of the spec)``; every runner made is stopped."""
    made: list[ApptainerRunner] = []

    def make(**fields: Any) -> ApptainerRunner:
        runner = ApptainerRunner(EnvSpec.from_dict({"id": "apptainer-test@1", **fields}))
        made.append(runner)
        return runner

    yield make
    for runner in made:
        runner.stop()


@pytest.fixture
def make_shell(make_runner: MakeRunner, minimal_image: Path) -> MakeRunner:
    """Return ``make(**fields)`` for started worlds without a desktop, of the smallest image."""

    def make(*, apptainer: dict[str, Any] | None = None, **fields: Any) -> ApptainerRunner:
        nothing = {"observation": [{"type": "numbers"}], "action": [{"type": "api_call"}]}
        wish = {"sif": str(minimal_image), **(apptainer or {})}
        runner = make_runner(**{**nothing, "apptainer": wish, **fields})
        try:
            runner.start()
        except BaseException:  # a test that expects the failure looks for what it leaves
            runner.stop()
            raise
        return runner

    return make
