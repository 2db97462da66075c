"""Docker worlds for tests: made by what the test asks for, always stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gym_anything.runtime.images.formats import docker_archive
from gym_anything.runtime.runners.docker.runner import DockerRunner
from gym_anything.runtime.runners.docker.vendor import Engine
from gym_anything.specs.env_spec import EnvSpec
from tests.docker_engine import TestEngine, built

MakeRunner = Callable[..., DockerRunner]


@pytest.fixture
def engine(docker_engine: TestEngine) -> Iterator[Engine]:
    """Return a connection to the engine."""
    connected = Engine.connect()
    yield connected
    connected.close()


@pytest.fixture(scope="session")
def minimal_image(docker_engine: TestEngine, require_backend: Callable[[str, bool, str], None]) -> str:
    """Return the reference of the smallest image, loaded into the engine: no X server, no Python."""
    image = built("debian-minimal", require_backend)
    reference = docker_archive.reference(image)
    connected = Engine.connect()
    if connected.image(reference) is None:
        connected.load_image(docker_archive.archive(image))
    connected.close()
    return reference


@pytest.fixture
def make_runner(docker_engine: TestEngine) -> Iterator[MakeRunner]:
    """Return ``make(**fields of the spec)``; every runner made is stopped."""
    made: list[DockerRunner] = []

    def make(**fields: Any) -> DockerRunner:
        runner = DockerRunner(EnvSpec.from_dict({"id": "docker-test@1", **fields}))
        made.append(runner)
        return runner

    yield make
    for runner in made:
        runner.stop()


@pytest.fixture
def make_shell(make_runner: MakeRunner, minimal_image: str) -> MakeRunner:
    """Return ``make(**fields)`` for started worlds without a desktop, of the smallest image."""

    def make(**fields: Any) -> DockerRunner:
        nothing = {"observation": [{"type": "numbers"}], "action": [{"type": "api_call"}]}
        runner = make_runner(**{"image": minimal_image, **nothing, **fields})
        runner.start()
        return runner

    return make
