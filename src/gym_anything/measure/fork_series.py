"""What forks of machines take: saving, waking by stages, resets, many at once; beside the bare mechanism, by turns."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from threading import Event
from typing import Any, TypeVar

import numpy as np

from gym_anything._util.deadline import Deadline
from gym_anything.episode.factory import from_config
from gym_anything.measure.fork_bare import BareClone
from gym_anything.measure.fork_clones import Source, ahead, bare, bare_clone, disk_mib, ours, pss_mib, standing_by
from gym_anything.runtime.qemu.guest_machine import GuestMachine
from gym_anything.runtime.qemu.saved_machine import pause
from gym_anything.runtime.qemu.templates import STATE
from gym_anything.runtime.qemu.waiting import WaitingMachines

OnNews = Callable[[str, float], None]
STAGES = ("running", "frame", "answers")
_AT_ONCE = 2
"""So many clones of many are made at a time: more of them only take processors from each other."""
_LIMIT_S = 600.0
_Clone = TypeVar("_Clone")


@dataclass(frozen=True, slots=True)
class ForkRequest:
    """What is measured.

    Attributes:
        rounds: turns of ours and of the bare mechanism. count: clones that live side by side; 0 leaves that out.
        memory_gib: of each. stay_s: how long they go on living before their memory is looked at once more.
    """

    rounds: int = 10
    count: int = 32
    memory_gib: float = 1.0
    stay_s: float = 0.0


@dataclass
class ForkFound:
    """What it took: series by name, with the unit at the end of each name; and what many took together."""

    request: ForkRequest
    accelerator: str = ""
    series: dict[str, list[float]] = field(default_factory=dict)
    many: dict[str, float] = field(default_factory=dict)

    def add(self, name: str, value: float) -> None:
        """Note one value of a series."""
        self.series.setdefault(name, []).append(round(value, 4))

    def summary(self) -> dict[str, float]:
        """Return p50 and p95 of every series, how many times as long as bare ones ours took, and what many took."""
        found: dict[str, float] = {}
        for name, values in self.series.items():
            found[f"{name}_p50"] = round(statistics.median(values), 3)
            found[f"{name}_p95"] = round(float(np.percentile(values, 95)), 3)
        for way in ("spawned", "waiting"):
            for stage in STAGES:
                ratio = found[f"{way}_{stage}_ms_p50"] / found[f"bare_{way}_{stage}_ms_p50"]
                found[f"{way}_{stage}_ms_times_bare"] = round(ratio, 3)
        return found | self.many


def world_spec(memory_gib: float, artifacts: str) -> dict[str, Any]:
    """Return the spec of the worlds that are measured."""
    return {
        "id": "bench.fork",
        "runner": "qemu_native",
        "resources": {"cpu": 2, "mem_gb": memory_gib, "net": False},
        "observation": [{"type": "rgb_screen", "resolution": [1280, 800]}],
        "action": [{"type": "mouse"}, {"type": "keyboard"}],
        "recording": {"enable": False, "output_dir": artifacts},
    }


def measure_forks(request: ForkRequest, on_news: OnNews = lambda what, share: None) -> ForkFound:
    """Measure and leave nothing but the saved machine that all worlds of this kind are copied from.

    Boots that machine where it is not there yet. Raises: MissingDependency with the fix; what worlds raise.
    """
    found = ForkFound(request)
    with tempfile.TemporaryDirectory(prefix="ga-fork-") as artifacts, ExitStack() as stack:
        stack.callback(WaitingMachines.shared().end)
        env = stack.enter_context(from_config(world_spec(request.memory_gib, artifacts), fast_io=True))
        on_news("a first world", 0.0)
        env.reset()
        runner: Any = env.runner
        source = Source(*runner.fork_source())
        found.accelerator = source.plan.accelerator
        for number in range(request.rounds):
            on_news("saving, waking, resetting, by turns", number / (request.rounds + request.count / 4))
            _save(env, number, found)
            _reset(env, found)
            WaitingMachines.shared().settle(Deadline.after(_LIMIT_S))
            _clones(source, found)
    if request.count:
        on_news(f"{request.count} at once", request.rounds / (request.rounds + request.count / 4))
        _many(source, request, found)
    return found


def _save(env: Any, number: int, found: ForkFound) -> None:
    """Save the running world with its memory, and remove that again."""
    runner = env.runner
    runner.set_checkpoint_key("post_task", task_id=f"bench-fork-{number}", use_savevm=True)
    began = time.monotonic()
    try:
        runner.create_checkpoint()
        found.add("save_s", time.monotonic() - began)
    finally:
        runner.delete_checkpoint()


def _reset(env: Any, found: ForkFound) -> None:
    WaitingMachines.shared().settle(Deadline.after(_LIMIT_S))
    began = time.monotonic()
    env.reset()
    found.add("reset_ms", (time.monotonic() - began) * 1000)


def _clones(source: Source, found: ForkFound) -> None:
    for way, waiting in (("spawned", False), ("waiting", True)):
        for name, make in ((f"bare_{way}", bare), (way, ours)):
            stages = make(source, waiting=waiting)
            for stage in STAGES:
                found.add(f"{name}_{stage}_ms", getattr(stages, stage))
    stages = ahead(source)
    for stage in STAGES:
        found.add(f"ahead_{stage}_ms", getattr(stages, stage))


def _many(source: Source, request: ForkRequest, found: ForkFound) -> None:
    """Have many clones live side by side: how long until the last one has answered, and what they take then.

    As machines made ahead do, each stands still once it has answered, until it is wanted; so do the bare ones.
    """
    with ExitStack() as stack:
        found.many["bare_many_s"], _ = _crowd(partial(_bare_of_many, source), request.count, stack)
    with ExitStack() as stack:
        found.many["many"] = request.count
        found.many["many_s"], machines = _crowd(partial(_one_of_many, source), request.count, stack)
        found.many["many_s_times_bare"] = round(found.many["many_s"] / found.many["bare_many_s"], 3)
        pids = [machine.process.pid for machine in machines]
        found.many["many_pss_gb"] = round(sum(map(pss_mib, pids)) * 2**20 / 1e9, 3)
        found.many["many_disk_mib_each_max"] = round(max(map(_disk_mib, machines)), 3)
        if request.stay_s:
            _stay(request.stay_s)
            found.many["many_pss_later_gb"] = round(sum(map(pss_mib, pids)) * 2**20 / 1e9, 3)
            found.many["many_disk_later_mib_each_max"] = round(max(map(_disk_mib, machines)), 3)
            found.many["many_later_s"] = request.stay_s
        found.many["many_answering"] = sum(map(_answers, machines))


def _crowd(make: Callable[[ExitStack, int], _Clone], count: int, stack: ExitStack) -> tuple[float, list[_Clone]]:
    """Make clones, some at a time, that live as long as ``stack``; return in how many seconds, and them."""
    with ThreadPoolExecutor(_AT_ONCE) as workers:
        began = time.monotonic()
        clones = list(workers.map(partial(make, stack), range(count)))
        return round(time.monotonic() - began, 3), clones


def _disk_mib(machine: GuestMachine) -> float:
    spec = machine.process.spec
    assert spec is not None
    return disk_mib(spec.layers[-1].path.parent)


def _one_of_many(source: Source, stack: ExitStack, number: int) -> GuestMachine:
    machine = stack.enter_context(standing_by(source))
    machine.wake(source.saved.folder / STATE, Deadline.after(_LIMIT_S))
    pause(machine.process, Deadline.after(_LIMIT_S))
    return machine


def _bare_of_many(source: Source, stack: ExitStack, number: int) -> BareClone:
    clone = stack.enter_context(bare_clone(source))
    clone.stand_by()
    clone.run(source.saved.folder / STATE)
    clone.answer()
    clone.pause()
    return clone


def _answers(machine: GuestMachine) -> bool:
    machine.go_on(Deadline.after(_LIMIT_S))
    answered = machine.channel.ping(deadline=Deadline.after(_LIMIT_S)) > 0
    pause(machine.process, Deadline.after(_LIMIT_S))
    return answered


def _stay(seconds: float) -> None:
    Event().wait(seconds)  # what is measured is how they are after this time
