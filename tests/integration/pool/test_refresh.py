"""The refresh of a host, with pools that are really drained and taken up again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.pool.refresh import host
from gym_anything.pool.refresh.decision import Act, Phase, RefreshRules
from gym_anything.pool.started.asking import Asking
from gym_anything.pool.started.folder import find_pool, find_pools
from tests.integration.pool.test_started import SOON, call, start
from tests.integration.pool.test_started import state as state

pytestmark = pytest.mark.real

DUE = RefreshRules(every_s=0.0, idle_s=0.0)


def test_pools_are_drained_and_taken_up_as_they_were(state: Path) -> None:
    entry = start("-n", "2", "--name", "mine")
    assert "wait" in call("host", "refresh") and "48" not in call("host", "refresh", "--print")
    assert "not now" not in call("host", "refresh", "--step", code=1)
    with Asking(entry) as asking:
        asking.ask("acquire", within_s=SOON)
        assert host.look(state, DUE)[0].act is Act.WAIT, "a task is at work"
        assert host.step(state, replace(DUE, patience_s=0.0)).act is Act.DRAIN
        assert host.step(state, DUE).act is Act.DRAIN, "its task is not over"
    wait_until(lambda: not find_pools(), deadline=Deadline.after(SOON), awaited="the end of the drained pool")
    assert host.step(state, DUE).act is Act.REBOOT
    record = host.read_record(state)
    assert record.phase is Phase.REBOOTING and [one["name"] for one in record.pools] == ["mine"]
    host._write_record(state, replace(record, boot="the one before"))
    assert "booted anew" in call("host", "refresh", "--return")
    again = find_pool("mine")
    assert (again.facts["least"], again.pid != entry.pid) == (2, True)
    assert host.read_record(state).phase is Phase.SERVING
    assert "nothing was drained" in call("host", "refresh", "--return")
    call("pool", "stop")
