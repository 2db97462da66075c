"""``gym-anything bench scale``: pools of simulated worlds."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from gym_anything.cli.main import cli

pytestmark = pytest.mark.real


def test_pools_of_several_sizes_are_measured() -> None:
    args = ["bench", "scale", "--counts", "1,8", "--step-s", "0.05", "--steps", "4"]
    found = json.loads(CliRunner().invoke(cli, [*args, "--shards", "0", "--json"]).stdout)
    assert [(one["count"], one["shards"]) for one in found["pools"]] == [(1, 0), (8, 0)]
    for one in found["pools"]:
        assert 0.1 < one["efficiency"] <= 1 and 0 <= one["added_ms_p50"] <= one["added_ms_p99"]
        assert one["cpu_ms_per_step"] >= 0 and one["world_cpu_ms_per_step"] > 0


def test_the_replicas_of_a_measured_pool_can_live_in_shards() -> None:
    args = ["bench", "scale", "--counts", "4", "--step-s", "0.05", "--steps", "2", "--shards", "2"]
    shown = CliRunner().invoke(cli, args).stdout
    assert "simulated worlds, 0.05 s a step" in shown and "shards" in shown


@pytest.mark.parametrize(("counts", "word"), [("1,many", "whole numbers"), ("0", "at least one replica")])
def test_sizes_that_make_no_sense_are_refused(counts: str, word: str) -> None:
    result = CliRunner().invoke(cli, ["bench", "scale", "--counts", counts])
    assert result.exit_code == 2 and word in result.output
