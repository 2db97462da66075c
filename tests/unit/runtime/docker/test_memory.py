"""What a container takes, read from what the engine says of its control group."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from gym_anything._util.state_dir import Run
from gym_anything.errors import HostError
from gym_anything.runtime.runners.docker.launch import DockerWorld
from gym_anything.runtime.runners.docker.vendor import Engine

pytestmark = pytest.mark.unit

MIB = 2**20


def engine_that(stats: Callable[[], dict[str, Any]]) -> Engine:
    return Engine(SimpleNamespace(stats=lambda *_, **__: stats(), info=dict, close=lambda: None))


@pytest.mark.parametrize(
    ("said", "taken"),
    [
        ({"usage": 300 * MIB, "stats": {"total_inactive_file": 100 * MIB, "inactive_file": MIB}}, 200 * MIB),
        ({"usage": 300 * MIB, "stats": {"inactive_file": 50 * MIB}}, 250 * MIB),
        ({"usage": 300 * MIB}, 300 * MIB),
        ({}, None),
    ],
    ids=["control groups of old", "control groups of today", "a sandbox that says less", "it does not run"],
)
def test_cached_files_that_nobody_uses_do_not_count(said: dict[str, Any], taken: int | None) -> None:
    assert engine_that(lambda: {"memory_stats": said}).memory_bytes("world") == taken


def test_an_engine_that_does_not_say_it_leaves_the_memory_unknown() -> None:
    """Not an error: a pool would take it for a world without a sign of life."""

    def refuse() -> dict[str, Any]:
        raise HostError("the engine does not answer")

    place = Run.current().new_world("docker", env="test@1")
    world = DockerWorld(place, engine_that(refuse))
    try:
        assert world.memory_mib() is None
        world.engine = engine_that(lambda: {"memory_stats": {"usage": 3 * MIB}})
        assert world.memory_mib() == 3.0
    finally:
        place.remove()
