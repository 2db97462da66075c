"""Who is not root but in the group ``docker`` has Docker worlds, too, and what they leave goes away."""

from __future__ import annotations

import grp
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gym_anything.runtime.runners.docker.images import ensure_image
from gym_anything.runtime.runners.docker.options import DockerOptions
from gym_anything.runtime.runners.docker.vendor import Engine
from gym_anything.specs.env_spec import EnvSpec
from tests.docker_engine import TestEngine
from tests.ordinary_user import OrdinaryUser, facts, ordinary_user, what_lacks

pytestmark = [pytest.mark.real, pytest.mark.slow]

NAME, GROUP = "ga-test-docker", "docker"


@pytest.fixture(scope="module")
def image(docker_desktop: TestEngine) -> str:
    engine = Engine.connect()
    spec = EnvSpec.from_dict({"id": "image@1", "base": "debian-desktop"})
    reference = ensure_image(engine, spec, DockerOptions(), lambda event, **facts: None)
    engine.close()
    return reference


@pytest.fixture(scope="module")
def user(docker_desktop: TestEngine, require_backend: Callable[[str, bool, str], None]) -> Iterator[OrdinaryUser]:
    lacking = what_lacks() or ("" if any(g.gr_name == GROUP for g in grp.getgrall()) else f"there is no group {GROUP}")
    require_backend("rootless", not lacking, lacking)
    with ordinary_user(NAME, Path(__file__).with_name("ordinary_program.py"), groups=[GROUP]) as made:
        docker_desktop.let_in()
        made.variables = {"DOCKER_HOST": docker_desktop.host}
        yield made


def test_a_user_of_the_group_has_worlds_and_nothing_of_them_is_left(user: OrdinaryUser, image: str) -> None:
    """Sockets, frames, input, VNC, a checkpoint; and folders that only root of the world could remove."""
    found = facts(user.run("world", image))
    assert found["doctor"] is None and found["uid"] != 0
    assert found["ids"] == ["0", "1000", "0"]
    assert found["frame"] == [480, 640, 3] and found["restored"] == "kept" and found["vnc"] == "RFB"
    assert found["deleted"] is True and found["left"] == []


def test_what_a_killed_user_leaves_is_collected(user: OrdinaryUser, image: str) -> None:
    """L3"""
    assert user.run("die", image).returncode == -9
    found = facts(user.run("collect", image))
    assert (found["left"], found["failed"]) == ([], []) and len(found["containers"]) == 1  # type: ignore[arg-type]
