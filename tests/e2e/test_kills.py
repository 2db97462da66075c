"""L3: whatever moment of a world's life its owner is killed in, the next `gym-anything cache gc` leaves nothing of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gym_anything.runtime.runners.registry import resolve_runner
from tests.kills import Killer

pytestmark = [pytest.mark.real, pytest.mark.soak, pytest.mark.timeout(3000)]

KILLS = 100
BACKENDS = {"local": (), "docker": ("docker_desktop",), "apptainer": ("apptainer_desktop",), "qemu_native": ()}
"""Runner -> fixtures that bring what it needs."""


@pytest.fixture(params=list(BACKENDS))
def killer(
    request: pytest.FixtureRequest, tmp_path: Path, require_backend: Callable[[str, bool, str], None]
) -> Iterator[Killer]:
    for fixture in BACKENDS[request.param]:
        request.getfixturevalue(fixture)
    status = resolve_runner(request.param).doctor_status()
    require_backend(request.param, bool(status["available"]), str(status["reason"]))
    yield Killer(request.param, tmp_path, seed=os.getpid())


def test_nothing_is_left_of_killed_lives_and_nobody_else_is_touched(killer: Killer) -> None:
    killer.calibrate()
    with killer.bystanders() as touched:
        left = [kill for kill in (killer.kill() for _ in range(KILLS)) if kill.left]
    assert left == [] and touched == []
