"""Environments on fake worlds, for the tests of the episode."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gym_anything.episode.env import GymAnythingEnv
from gym_anything.episode.factory import make

FAKE = "gym_anything.testing.fakes.world:FakeWorld"
MISBEHAVING = "gym_anything.testing.fakes.misbehaving:{}"


def env_spec(folder: Path, **changes: Any) -> dict[str, Any]:
    """Return a small spec; waits take no wall-clock time, since the world has its own clock."""
    options = {"time_control": True, **changes.pop("runner_options", {})}
    recording = {"enable": False, "output_dir": str(folder / "artifacts"), **changes.pop("recording", {})}
    return {
        "id": "fake@1",
        "runner": FAKE,
        "observation": [{"type": "rgb_screen", "resolution": [64, 48]}],
        "action": [{"type": "mouse"}, {"type": "keyboard"}],
        "runner_options": options,
        "recording": recording,
        **changes,
    }


def fake_env(folder: Path, task: dict[str, Any] | None = None, **changes: Any) -> GymAnythingEnv:
    """Return an environment on a fake world; the arguments of ``make`` are taken out of ``changes``."""
    names = ("fast_io", "strict_hooks", "pacing", "settle_ignore")
    flags = {key: changes.pop(key) for key in names if key in changes}
    return make(env_spec(folder, **changes), task, **flags)


def task_spec(**changes: Any) -> dict[str, Any]:
    """Return a task without a judge."""
    return {"id": "task@1", "description": "do it", **changes}
