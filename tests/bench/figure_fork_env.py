"""``env.fork(4)`` of a running machine with 1 GiB, a part of it dirty: how long until all four have answered.

By turns with the bare mechanism: the same memory written, and four QEMU processes woken from it at once, by hand.
"""

from __future__ import annotations

import contextlib
import json
import statistics
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from gym_anything import from_config
from gym_anything._util.deadline import Deadline
from gym_anything._util.state_dir import Run
from gym_anything.episode.env import GymAnythingEnv
from gym_anything.runtime.qemu.accelerator import choose_accelerator
from gym_anything.runtime.qemu.branching import QemuBranch
from gym_anything.runtime.qemu.machine_process import MachineProcess
from gym_anything.runtime.qemu.saved_machine import load, resume
from gym_anything.runtime.qemu.templates import STATE, new_machine, stand_by
from gym_anything.runtime.runners.qemu_native.runner import QemuNativeRunner
from tests.bench.figure_qemu import spec

FORKS, ROUNDS = 4, 7
DIRTY_MIB = (0, 400)
_LIMIT_S = 120.0


def all_answer(envs: list[GymAnythingEnv]) -> None:
    """Have the agent of each guest answer and each screen be seen, all at once."""

    def ask(env: GymAnythingEnv) -> None:
        runner = env.runner
        assert isinstance(runner, QemuNativeRunner)
        runner._running("the figure").channel.ping(deadline=Deadline.after(_LIMIT_S))
        runner.capture_frame()

    with ThreadPoolExecutor(len(envs)) as threads:
        list(threads.map(ask, envs))


def fork_and_close(env: GymAnythingEnv, series: dict[str, list[float]], name: str) -> None:
    """Fork once; note for how long the source stood still, and when all forks had answered."""
    branch = env.runner.branch
    paused: list[float] = []

    def noting() -> Any:
        point = branch()
        assert isinstance(point, QemuBranch)
        paused.append(point.paused_s)
        return point

    env.runner.branch = noting  # type: ignore[method-assign]
    began = time.perf_counter()
    forks = env.fork(FORKS)
    try:
        series[f"{name}_forked_s"].append(round(time.perf_counter() - began, 4))
        all_answer(forks)
        series[f"{name}_all_answered_s"].append(round(time.perf_counter() - began, 4))
        series[f"{name}_paused_s"].append(round(paused[0], 4))
    finally:
        env.runner.branch = branch  # type: ignore[method-assign]
        for fork in forks:
            fork.close()


def bare(env: GymAnythingEnv, series: dict[str, list[float]], name: str) -> None:
    """Do what no program can leave out: keep the moment, start four QEMU processes, load it into each, let them go on."""
    deadline = Deadline.after(_LIMIT_S)
    began = time.perf_counter()
    point = env.runner.branch()
    assert isinstance(point, QemuBranch)
    with contextlib.ExitStack() as ends:
        ends.callback(point.release)

        def start(_: int) -> MachineProcess:
            place = Run.current().new_world("bench")
            ends.callback(place.remove)
            machine = new_machine(place, b"-")
            ends.callback(machine.stop)
            stand_by(machine, point.files, point.plan, place, deadline)
            load(machine.process, point.files.folder / STATE, deadline, memory_in_file=True)
            resume(machine.process, deadline)
            return machine.process

        with ThreadPoolExecutor(FORKS) as threads:
            list(threads.map(start, range(FORKS)))
        series[f"{name}_bare_running_s"].append(round(time.perf_counter() - began, 4))


def main() -> None:
    series: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as artifacts:
        for mib in DIRTY_MIB:
            name = f"dirty_{mib}_mib"
            for what in ("forked_s", "all_answered_s", "paused_s", "bare_running_s"):
                series[f"{name}_{what}"] = []
            with from_config(spec(artifacts), fast_io=True) as env:
                env.reset()
                if mib:
                    code = env.runner.exec(f"head -c {mib}M /dev/urandom > /dev/shm/dirt", use_pty=False)
                    assert code == 0
                for _ in range(ROUNDS):
                    fork_and_close(env, series, name)
                    bare(env, series, name)
    summary = {f"{key}_p50": round(statistics.median(values), 3) for key, values in series.items()}
    summary |= {f"{key}_max": round(max(values), 3) for key, values in series.items()}
    accelerator = choose_accelerator().accelerator
    conditions = f"debian-desktop-vm, 2 processors, 1 GiB of which 400 MiB were just written, accelerator {accelerator}"
    print(json.dumps({"summary": summary, "series": series, "conditions": conditions}))


if __name__ == "__main__":
    main()
