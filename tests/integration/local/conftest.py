"""Local worlds for tests: made by what the test asks for, always stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gym_anything.runtime.runners.local.runner import LocalRunner
from gym_anything.specs.env_spec import EnvSpec

MakeRunner = Callable[..., LocalRunner]
SIZE = [800, 600]


def spec_of(**fields: Any) -> EnvSpec:
    """Return a spec of ours with a small screen."""
    screen = {"type": "rgb_screen", "resolution": SIZE}
    return EnvSpec.from_dict({"id": "local-test@1", "base": "debian-desktop", "observation": [screen], **fields})


@pytest.fixture(scope="session")
def local_backend(require_backend: Callable[[str, bool, str], None]) -> None:
    """Skip, or fail where it is required, when this host cannot run local worlds."""
    status = LocalRunner.doctor_status()
    require_backend("local", bool(status["available"]), str(status["reason"]))


@pytest.fixture
def make_runner(local_backend: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeRunner]:
    """Return ``make(**fields of the spec)``; every runner made is stopped, and checkpoints lie in the test's folder."""
    monkeypatch.setenv("GYM_ANYTHING_LOCAL_CHECKPOINT_DIR", str(tmp_path / "checkpoints"))
    made: list[LocalRunner] = []

    def make(**fields: Any) -> LocalRunner:
        runner = LocalRunner(spec_of(**fields))
        made.append(runner)
        return runner

    yield make
    for runner in made:
        runner.stop()


@pytest.fixture
def world(make_runner: MakeRunner) -> LocalRunner:
    """A running default world."""
    runner = make_runner()
    runner.start()
    return runner
