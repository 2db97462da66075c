"""What worlds use, by run and world."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from gym_anything._util import proc
from gym_anything._util.labels import Label, Owner
from gym_anything._util.orphan_processes import LabelledProcess
from gym_anything.cli.top import pools_of
from gym_anything.pool.host_usage import HostUsage, Usage
from gym_anything.pool.started.folder import PoolEntry

pytestmark = pytest.mark.unit


def ourselves() -> list[LabelledProcess]:
    """Take this process for one of a world."""
    ticks = proc.start_ticks(os.getpid())
    assert ticks is not None
    return [LabelledProcess(os.getpid(), ticks, os.geteuid(), "python", Label("rone", "wtwo", Owner.current()))]


def test_processor_time_is_that_between_two_samples(tmp_path: Path) -> None:
    (tmp_path / "rone" / "wtwo").mkdir(parents=True)
    (tmp_path / "rone" / "wtwo" / "manifest.json").write_text(json.dumps({"runner": "local", "env": "here"}))
    now = [100.0]
    usage = HostUsage(tmp_path, clock=lambda: now[0], find=ourselves)
    (first,) = usage.sample()
    assert (first.run, first.world, first.cores, first.owner) == ("rone", "wtwo", None, os.getpid())
    assert first.processes >= 1 and first.pss_mib > 1 and first.facts["env"] == "here"
    spent = time.process_time()
    while time.process_time() - spent < 0.05:
        pass
    now[0] += 10.0
    (second,) = usage.sample()
    assert second.cores is not None and 0.003 <= second.cores < 1.0


def test_without_a_world_there_is_nothing(tmp_path: Path) -> None:
    assert HostUsage(tmp_path, find=list).sample() == []


def test_a_world_is_of_the_pool_whose_process_or_child_owns_it(tmp_path: Path) -> None:
    def of(owner: int) -> Usage:
        return Usage("r", "w", owner, 1, None, 0.0, {})

    parent = PoolEntry("mine", tmp_path, "r", Owner(os.getppid(), 1, "b", 1), tmp_path / "socket")
    assert pools_of([of(os.getpid()), of(1)], [(parent, None)]) == {os.getpid(): "mine"}
