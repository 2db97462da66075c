"""``gym-anything bench chaos``: what it counts, and that it can count what is wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

from gym_anything.cli.main import cli
from gym_anything.measure.chaos_series import ChaosRequest, measure_chaos
from gym_anything.measure.simulated_world import SimulatedWorld

pytestmark = pytest.mark.real


def test_nothing_is_lost_and_nothing_done_twice() -> None:
    result = CliRunner().invoke(cli, ["bench", "chaos", "--episodes", "150", "--replicas", "16", "--json"])
    found = json.loads(result.stdout)
    assert result.exit_code == 0 and found["faults"] > 30 and found["attempts"] > found["episodes"] == 150
    assert [found[key] for key in ("lost", "wrong", "twice", "disturbed", "alive")] == [0, 0, 0, 0, 0]


def test_a_world_that_does_its_inputs_twice_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    real = SimulatedWorld.perform

    def twice(world: SimulatedWorld, operation: str, argument: Any) -> Any:
        result = real(world, operation, argument)
        if operation == "step" and argument[1] == 2:
            world.applied.append(argument)
            world._on_news("applied", argument)
        return result

    monkeypatch.setattr(SimulatedWorld, "perform", twice)
    found = measure_chaos(ChaosRequest(episodes=5, replicas=2))
    assert found.twice >= 5 and found.wrong == 5
