"""The fake world keeps the contract it stands in for: fresh, restored, with its own clock, declared deterministic."""

from __future__ import annotations

import pytest

from gym_anything.testing import build_conformance_case

pytestmark = pytest.mark.real

FAKE = "gym_anything.testing.fakes.world:FakeWorld"
SPEC = {
    "deterministic": True,
    "observation": [
        {"type": "rgb_screen", "resolution": [160, 120]},
        {"type": "audio_waveform"},
        {"type": "ui_tree"},
        {"type": "telemetry"},
    ],
}
ACTIONS = [{"mouse": {"left_click": [7, 9]}}, {"keyboard": {"text": "Ж"}}]

TASK = {
    "id": "type@1",
    "description": "Type a letter.",
    "success": {"mode": "program", "spec": {"program": "gym_anything.testing.fakes.judge:verify_typed"}},
    "metadata": {"text": "Ж"},
}

FakeWorldConformance = build_conformance_case(FAKE, env_spec=SPEC, task_spec=TASK, actions=ACTIONS)
RestoredFakeWorldConformance = build_conformance_case(FAKE, env_spec=SPEC, actions=ACTIONS, restored=True)
OwnClockConformance = build_conformance_case(
    FAKE, env_spec={**SPEC, "runner_options": {"time_control": True}}, actions=[{"action": "wait", "time": 5}]
)
SlowBootConformance = build_conformance_case(
    FAKE, env_spec={**SPEC, "runner_options": {"boot_s": 0.1, "fast_io": False, "acks_input": False}}
)
