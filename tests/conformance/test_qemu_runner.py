"""The QEMU runner keeps the whole contract. Its worlds are clones of one machine that the first of them boots.

Disk checkpoints switch machines off and boot them again, half a minute each where machines are emulated: what makes them
is a long run (`soak`). Checkpoints with memory are tested in ``tests/integration/qemu``.
"""

from __future__ import annotations

import unittest

import pytest

from gym_anything.testing import build_conformance_case
from gym_anything.testing.conformance import checks_checkpoints

pytestmark = pytest.mark.real

SPEC = {
    "observation": [{"type": "rgb_screen", "resolution": [1280, 800]}, {"type": "ui_tree"}],
    "resources": {"cpu": 2, "mem_gb": 1, "net": False},
    "hooks": {"pre_start": "echo one && sudo -n true", "post_start": "FOO='a b' bash -c 'test \"$FOO\" = \"a b\"'"},
}
ACTIONS = [{"mouse": {"left_click": [640, 360]}}, {"keyboard": {"text": "Жa"}}]
LONG = {
    *(name for name in vars(checks_checkpoints.CheckpointChecks) if name.startswith("test_")),
    "test_a_refused_action_does_not_end_the_episode",
    "test_an_environment_is_reset_again_and_again",
    "test_a_fork_outlives_its_source_and_the_point_and_branches_again",
    "test_a_forked_episode_goes_on_with_its_own_artifacts",
    "test_the_end_of_a_fork_touches_no_other_world",
}
"""The checks that make disk checkpoints, the longest episodes, and forks that ``tests/integration/qemu`` has, too."""


def suite(*, restored: bool, only_long: bool, **options: str) -> type[unittest.TestCase]:
    """Return the suite with the long checks, or with the others. Args: options: of the runner."""
    spec = {**SPEC, "runner_options": options}
    case = build_conformance_case("qemu_native", env_spec=spec, actions=ACTIONS, restored=restored, start_limit_s=300)
    for name in unittest.defaultTestLoader.getTestCaseNames(case):
        if (name in LONG) != only_long:
            setattr(case, name, None)
    return case


QemuConformance = suite(restored=False, only_long=False)
QemuLongConformance = pytest.mark.soak(suite(restored=False, only_long=True))
RestoredQemuConformance = pytest.mark.soak(suite(restored=True, only_long=False))
DbusQemuConformance = pytest.mark.soak(suite(restored=False, only_long=False, fast_io_backend="dbus"))
GuestQemuConformance = pytest.mark.soak(suite(restored=False, only_long=False, fast_io_backend="guest"))
