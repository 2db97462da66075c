"""The Gymnasium faces on real desktops."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")
pytestmark = [pytest.mark.real, pytest.mark.timeout(180)]

from gymnasium.utils.env_checker import check_env  # noqa: E402

from gym_anything.integrations.gymnasium import ID  # noqa: E402


def desktop(folder: Path, **changes: Any) -> dict[str, Any]:
    return {
        "id": "gymnasium.desktop",
        "base": "debian-desktop",
        "runner": "local",
        "observation": [{"type": "rgb_screen", "resolution": [640, 480]}],
        "action": [{"type": "mouse"}, {"type": "keyboard"}],
        "recording": {"enable": False, "output_dir": str(folder)},
        **changes,
    }


def test_a_real_desktop_passes_the_checker_of_gymnasium(tmp_path: Path) -> None:
    env = gymnasium.make(ID, env=desktop(tmp_path)).unwrapped
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env)
    env.close()


def test_a_wrapper_of_gymnasium_limits_and_the_pictures_are_real(tmp_path: Path) -> None:
    with gymnasium.make(ID, env=desktop(tmp_path), max_episode_steps=2, render_mode="rgb_array") as env:
        seen, _ = env.reset(seed=3)
        assert len(np.unique(seen["screen"].reshape(-1, 3), axis=0)) > 1, "an empty picture"
        assert env.step({"kind": "move", "at": (100, 100)})[2:4] == (False, False)
        assert env.step({"kind": "left_click", "at": (100, 100)})[2:4] == (False, True)
        assert env.render().shape == (480, 640, 3)


def test_real_desktops_side_by_side(tmp_path: Path) -> None:
    envs = gymnasium.make_vec(ID, num_envs=3, env=desktop(tmp_path), render_mode="rgb_array")
    try:
        seen, infos = envs.reset(seed=1)
        assert seen["screen"].shape == (3, 480, 640, 3) and infos["_episode_dir"].all()
        for _ in range(2):
            seen, _, terminations, truncations, _ = envs.step(envs.action_space.sample())
            assert seen in envs.observation_space
        ended = [{"action": "done"} if not over else {} for over in terminations | truncations]
        _, _, terminations, truncations, infos = envs.step(ended)
        assert all(Path(folder).is_dir() for folder in tmp_path.glob("episode_*"))
    finally:
        envs.close()
    assert len(list(tmp_path.glob("episode_*/summary.json"))) >= 3
