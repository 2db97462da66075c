"""The front door in a fresh interpreter: every name, and nothing imported before it is asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

import gym_anything

pytestmark = pytest.mark.real


def test_the_front_door_has_every_name_and_imports_nothing_before_it_is_asked() -> None:
    code = (
        "import sys, gym_anything\n"
        "heavy = {'numpy', 'PIL', 'av', 'pydantic', 'yaml', 'click', 'rich'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "assert set(gym_anything.__all__) <= set(dir(gym_anything))\n"
        "for name in gym_anything.__all__: getattr(gym_anything, name)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    from gym_anything import api
    from gym_anything import env as env_module

    assert api.from_config is gym_anything.from_config and api.make is gym_anything.make
    assert env_module.GymAnythingEnv is gym_anything.GymAnythingEnv
    with pytest.raises(AttributeError):
        gym_anything.no_such_thing  # noqa: B018
