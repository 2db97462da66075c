"""QEMU worlds for tests: clones of one machine that is booted once in a session, always stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gym_anything.runtime.runners.qemu_native.runner import QemuNativeRunner
from gym_anything.specs.env_spec import EnvSpec

ACTIONS = [{"type": "mouse"}, {"type": "keyboard"}]
MakeRunner = Callable[..., QemuNativeRunner]


def spec_of(**fields: Any) -> EnvSpec:
    """Return a spec of a machine with 1 GiB: what all tests share, so that one boot serves them all."""
    resources = {"cpu": 2, "mem_gb": 1, "net": False}
    screen = {"type": "rgb_screen", "resolution": [1280, 800]}
    return EnvSpec.from_dict(
        {"id": "qemu-test@1", "observation": [screen], "action": ACTIONS, "resources": resources, **fields}
    )


@pytest.fixture(scope="session")
def qemu_backend(require_backend: Callable[[str, bool, str], None]) -> None:
    """Skip, or fail where it is required, when this host cannot run QEMU worlds."""
    status = QemuNativeRunner.doctor_status()
    require_backend("qemu_native", bool(status["available"]), str(status["reason"]))


@pytest.fixture
def make_runner(qemu_backend: None) -> Iterator[MakeRunner]:
    """Return ``make(**fields of the spec)``; every runner made is stopped."""
    made: list[QemuNativeRunner] = []

    def make(**fields: Any) -> QemuNativeRunner:
        runner = QemuNativeRunner(spec_of(**fields))
        made.append(runner)
        return runner

    yield make
    for runner in made:
        runner.stop()


@pytest.fixture(scope="module")
def world(qemu_backend: None) -> Iterator[QemuNativeRunner]:
    """A running world that a module's tests share and do no harm."""
    runner = QemuNativeRunner(spec_of())
    try:
        runner.start()
        yield runner
    finally:
        runner.stop()
