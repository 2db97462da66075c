"""``gym-anything bench pool|recovery|utilisation`` and chaos on real worlds: small, and that they can count what is wrong."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gym_anything.cli.main import cli
from gym_anything.measure import world_pool as pools
from gym_anything.measure.journal import Journal
from gym_anything.measure.real_chaos_series import RealChaosRequest, _Chaos
from gym_anything.measure.utilisation_series import UtilisationRequest, draw, measure_utilisation
from gym_anything.pool.tasks import Attempt, TaskOutcome
from tests.conftest import RequireBackend
from tests.e2e.local_world import require_local_world
from tests.qemu_machines import require_qemu

pytestmark = [pytest.mark.real, pytest.mark.timeout(180)]


def run(*words: str) -> tuple[int, dict[str, Any]]:
    result = CliRunner().invoke(cli, ["bench", *words, "--json"])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, json.loads(result.stdout)


def test_a_small_pool_of_real_desktops_is_measured(require_backend: RequireBackend) -> None:
    require_local_world(require_backend)
    code, found = run("pool", "--count", "2", "--stay-s", "1", "--step-every-s", "0.5")
    assert code == 0, found["failures"]
    assert (found["answered"], found["healthy"], found["failed_steps"]) == (2, 2, 0)
    assert found["steps"] >= 4 and 0 < found["pss_gb"] < 1
    assert not pools.world_processes()


def test_desktops_that_are_all_killed_come_back_and_no_task_is_lost(require_backend: RequireBackend) -> None:
    require_local_world(require_backend)
    code, found = run("recovery", "--count", "2")
    assert code == 0
    assert (found["finished"], found["lost"]) == (2, 0) and found["killed_processes"] >= 2
    assert found["attempts"] >= 4, "each was tried again"
    assert not pools.world_processes()


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("worlds", "require"), [("desktop", require_local_world), ("vm", require_qemu)])
def test_chaos_on_real_worlds_loses_nothing(
    worlds: str, require: Callable[[RequireBackend], object], require_backend: RequireBackend
) -> None:
    require(require_backend)
    require_backend("mount", os.geteuid() == 0, "needs root, to mount a small disk")
    code, found = run("chaos", "--worlds", worlds, "--episodes", "20", "--replicas", "4")
    assert found["faults"] >= 10
    assert code == 0, found


def test_a_slow_policy_leaves_worlds_idle_in_batches() -> None:
    request = UtilisationRequest(episodes=24, replicas=12, steps=4, step_s=0.005, seed=3)
    found = measure_utilisation(request).to_dict()
    assert found["equal_times"] > 1 and found["drawn_times"] > 1
    equal, drawn = draw(request, "equal"), draw(request, "drawn")
    assert {len(one) for one in equal} == {4} and len({len(one) for one in drawn}) > 1
    assert equal == draw(request, "equal"), "the same for both ways"


def test_chaos_counts_what_is_lost_wrong_and_done_twice(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    chaos = _Chaos(RealChaosRequest("desktop", episodes=3, steps=2), journal, tmp_path, tmp_path)
    for world, token in (("a", "1.1-0"), ("a", "1.1-0"), ("a", "1.1-1"), ("b", "2.2-0"), ("c", "3.3-0")):
        journal.write("step", world=world, token=token)
    journal.write("fault", kind="killed", world="b")
    chaos._broken += [("2.2", 0.0), ("3.3", 0.0)]
    fine = TaskOutcome([Attempt(1)], ["1.1-0", "1.1-1"])
    wrong = TaskOutcome([Attempt(1)], ["1.1-0", "1.1-0", "1.1-1"])
    lost: TaskOutcome[list[str]] = TaskOutcome([Attempt(2)])
    chaos._judge([fine, wrong, lost])
    found = chaos.found.to_dict()
    journal.close()
    assert (found["lost"], found["wrong"], found["twice"], found["disturbed"]) == (1, 1, 1, 1)
    assert found["fault_kinds"] == {"killed": 1} and found["attempts"] == 3
