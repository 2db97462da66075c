"""The local runner keeps the whole contract, fresh and restored."""

from __future__ import annotations

import pytest

from gym_anything.testing import build_conformance_case

pytestmark = pytest.mark.real

SPEC = {
    "observation": [{"type": "rgb_screen", "resolution": [1280, 720]}, {"type": "ui_tree"}],
    "hooks": {"pre_start": "echo one && sudo -n true", "post_start": "FOO='a b' bash -c 'test \"$FOO\" = \"a b\"'"},
}
ACTIONS = [{"mouse": {"left_click": [640, 360]}}, {"keyboard": {"text": "Жa"}}]

LocalConformance = build_conformance_case("local", env_spec=SPEC, actions=ACTIONS, start_limit_s=60)
RestoredLocalConformance = build_conformance_case(
    "local", env_spec=SPEC, actions=ACTIONS, restored=True, start_limit_s=60
)
