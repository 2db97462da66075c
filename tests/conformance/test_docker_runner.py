"""The Docker runner keeps the whole contract, fresh and restored."""

from __future__ import annotations

import pytest

from gym_anything.testing import build_conformance_case

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("docker_desktop")]

SPEC = {
    "observation": [{"type": "rgb_screen", "resolution": [1280, 720]}, {"type": "ui_tree"}],
    "hooks": {"pre_start": "echo one && sudo -n true", "post_start": "FOO='a b' bash -c 'test \"$FOO\" = \"a b\"'"},
}
ACTIONS = [{"mouse": {"left_click": [640, 360]}}, {"keyboard": {"text": "Жa"}}]

DockerConformance = build_conformance_case("docker", env_spec=SPEC, actions=ACTIONS, start_limit_s=60)
# The fresh ones save and restore, too; the whole suite on restored worlds takes as long again.
RestoredDockerConformance = pytest.mark.soak(
    build_conformance_case("docker", env_spec=SPEC, actions=ACTIONS, restored=True, start_limit_s=60)
)
