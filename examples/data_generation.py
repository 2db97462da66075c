"""Generate trajectories: several agents play every task of an environment on a pool of warm replicas.

    python examples/data_generation.py --replicas 4 --out trajectories
    python examples/data_generation.py --env my_environment --agents random:20 --usd-per-day 30

Every episode leaves its folder (trajectory, pictures, verdict) under OUT/episodes and a line in OUT/index.jsonl. A
world that fails costs a masked attempt, never an episode: the task is played again on another replica. At the end there
is a set for supervised fine-tuning of what was solved, OUT/sft (docs/how-to/export.md), and a report: what came of the
episodes, and what they cost on this machine. With local desktops on two cores the defaults take about two minutes.

This is the OSGym paper's example with the means at hand: its agents are models, ours play solutions (``oracle``: good
trajectories) and at random (``random``: the others). Any agent can be named, by key or locator.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from gym_anything._util.deadline import Deadline
from gym_anything.agents.registry import resolve_agent
from gym_anything.agents.turns import read_turns
from gym_anything.benchmark.layout import find_env_dir
from gym_anything.data.export import export
from gym_anything.data.sources import trajectory_of_folder
from gym_anything.errors import ActionError, ActionUnsupported, GymAnythingError
from gym_anything.pool.cost import Demand, Server, pack
from gym_anything.pool.environment_world import EnvironmentChoice, environment_rules
from gym_anything.pool.guard import GuardRules
from gym_anything.pool.host_reading import read_host
from gym_anything.pool.observer import PoolObserver
from gym_anything.pool.pool import Lease, Pool
from gym_anything.pool.replica_thread import ReplicaThread
from gym_anything.pool.tasks import run_task
from gym_anything.specs.env_spec import EnvSpec
from gym_anything.specs.loading import list_tasks, load_env, load_task

TASK_LIMIT_S = 600.0
PEAK_CORES = 1.0
PAPERS_SERVER = Server("the paper's server", 88, 768, 30.0)


@dataclass(frozen=True, slots=True)
class Rollout:
    """One episode to play: a task, an agent, how many steps it may take (None: the task's own limit), a seed."""

    task: str
    agent: str
    steps: int | None
    seed: int


class Memory(PoolObserver):
    """Keeps what the worlds use, as the pool measures it."""

    def __init__(self) -> None:
        self.mib: list[float] = []

    def memory(self, replica: int, memory_mib: float) -> None:
        """See ``PoolObserver``."""
        self.mib.append(memory_mib)


@dataclass(slots=True)
class Run:
    """What is generated, and what came of it so far."""

    env_dir: Path
    spec: EnvSpec
    out: Path
    lines: list[dict[str, Any]] = field(default_factory=list)

    def keep(self, line: dict[str, Any]) -> None:
        """Write down an episode at once: what was played stays, however this ends."""
        self.lines.append(line)
        with (self.out / "index.jsonl").open("a", encoding="utf-8") as index:
            index.write(json.dumps(line) + "\n")


async def play(run: Run, rollout: Rollout, lease: Lease) -> dict[str, Any]:
    """Play one episode to its verdict; called anew for each attempt. Its agent has a thread: it may think for long."""
    thread = ReplicaThread(f"agent on {lease.name}")
    try:
        return await play_with(run, rollout, lease, thread)
    finally:
        thread.end()


async def play_with(run: Run, rollout: Rollout, lease: Lease, thread: ReplicaThread) -> dict[str, Any]:
    """Play with an agent that lives in this thread, while the pool's event loop goes on."""
    request = {"task": rollout.task, "seed": rollout.seed, "max_steps": rollout.steps}
    begun = await lease.perform("reset", request)
    observation, done, steps = begun["observation"], False, 0
    task = load_task(run.env_dir, rollout.task)
    make_agent = resolve_agent(rollout.agent)
    agent = await thread.call(lambda: make_agent(agent_args={}, verbose=False, debug=False))
    context = {"env_id": run.spec.id, "task_id": rollout.task, "seed": rollout.seed, "attempt": 0}
    if getattr(agent, "wants_task_root", False):
        context["task_root"] = str(task.root)
    folder = begun["info"]["episode_dir"]
    await thread.call(lambda: agent.on_episode_start({**context, "episode_dir": folder}))
    await thread.call(lambda: agent.init(task.spec.prompt, run.spec.screen_size, folder))
    outputs: list[dict[str, Any]] = []
    while not (done or agent.done):
        turns = read_turns(await thread.call(partial(agent.step, observation, outputs)))
        outputs = []
        for turn in turns:
            argument = {"actions": list(turn.actions), "trajectory_metadata": turn.metadata}
            steps += 1
            try:
                value = await lease.perform("step", argument)
            except (ActionError, ActionUnsupported) as refused:
                outputs.append({"action": "error", "output": str(refused), "tool_id": turn.tool_id})
                continue
            observation, done = value["observation"], value["done"]
            outputs.append({**(value["info"].get("action_result") or {}), "tool_id": turn.tool_id})
            if done:
                break
    if agent.done and not done:  # it ended the episode itself, which is something to learn
        await lease.perform("step", {"actions": [], "mark_done": True})
    report = await lease.perform("finish")
    await thread.call(lambda: agent.finish(info={"verifier": report, "outcome": report["outcome"]}))
    return {"episode_dir": report["episode_dir"], "steps": steps, "outcome": report["outcome"]}


async def generate(run: Run, rollouts: Sequence[Rollout], pool: Pool) -> None:
    """Play all of them, as many at a time as there are replicas."""

    async def one(rollout: Rollout) -> None:
        began = time.monotonic()
        deadline = Deadline.after(TASK_LIMIT_S * len(rollouts))
        played = await run_task(pool, lambda lease: play(run, rollout, lease), deadline, job=rollout.agent)
        attempts = [
            {"replica": attempt.replica, "masked": attempt.masked, "error": str(attempt.error or "")}
            for attempt in played.attempts
        ]
        outcome = (played.result or {}).get("outcome") or {"status": "broken", "score": 0.0, "story": str(played.error)}
        folder = Path(played.result["episode_dir"]).relative_to(run.out) if played.result else None
        run.keep(
            {
                "task": rollout.task,
                "agent": rollout.agent,
                "seed": rollout.seed,
                "steps": (played.result or {}).get("steps", 0),
                "status": outcome["status"],
                "score": outcome["score"],
                "masked": outcome["status"] == "broken",
                "story": outcome["story"],
                "episode_dir": str(folder) if folder else None,
                "attempts": attempts,
                "seconds": round(time.monotonic() - began, 3),
            }
        )
        print(
            f"{len(run.lines):4} of {len(rollouts)}  {outcome['status']:7} {rollout.agent:8} {rollout.task}",
            file=sys.stderr,
        )

    await asyncio.gather(*(one(rollout) for rollout in rollouts))


def cost_report(run: Run, replicas: int, wall_s: float, cores: float, mib: float | None, usd: float) -> dict[str, Any]:
    """Return what the episodes cost, with the conditions that this holds under."""
    here = read_host()
    server = Server("this machine", here.cores, here.memory_mib / 1024, usd)
    played = [line for line in run.lines if not line["masked"]]
    a_day = len(played) / replicas * 86400 / wall_s  # of one replica
    found: dict[str, Any] = {
        "episodes": len(run.lines),
        "trajectories": len(played),
        "wall_s": round(wall_s, 1),
        "trajectories_a_minute": round(len(played) * 60 / wall_s, 2),
        "cores_per_replica": round(cores / replicas, 3),
        "memory_mib_per_replica": None if mib is None else round(mib, 1),
        "servers": [],
        "conditions": (
            f"{replicas} replicas of {run.spec.id} on {here.cores:g} cores, {here.memory_mib / 1024:.0f} GiB; cores: "
            "all that this machine was busy with meanwhile, starts, judges and agents included, shared among the "
            f"replicas; at its peak a replica is taken for {PEAK_CORES:g} core; memory: proportional, as the pool "
            "measured it; prices as given; a replica elsewhere is taken to be as quick as here"
        ),
    }
    for one in (server, PAPERS_SERVER):
        if mib is None:
            break
        packing = pack(one, Demand(min(cores / replicas, PEAK_CORES), PEAK_CORES, mib / 1024))
        price = packing.usd_per_replica_day
        found["servers"].append(
            {
                "server": f"{one.name}: {one.cores:g} cores, {one.memory_gib:.0f} GiB, {one.usd_per_day:g} USD a day",
                "replicas": packing.count,
                "bound_by": packing.bound_by,
                "usd_per_replica_day": round(price, 4) if packing.count else None,
                "usd_per_1000_trajectories": round(1000 * price / a_day, 4) if packing.count and a_day else None,
            }
        )
    return found


def write_sft(run: Run) -> dict[str, Any] | None:
    """Make a set of conversations of the episodes that passed; None when there is none. Never over an older one."""
    solved = [line for line in run.lines if line["status"] == "passed" and line["episode_dir"]]
    if not solved:
        return None
    trajectories = (
        trajectory_of_folder(
            run.out / line["episode_dir"],
            exp=run.out.name,
            env=run.env_dir.name,
            env_dir=str(run.env_dir),
            **{name: line[name] for name in ("task", "agent", "seed")},
        )
        for line in solved
    )
    names = (run.out / ("sft" if number == 1 else f"sft-{number}") for number in count(1))
    return export(trajectories, next(name for name in names if not name.exists()), "sft").as_dict()


def busy_s() -> float:
    """Return the processor time that this machine has been busy since it started, in seconds."""
    words = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:]
    user, nice, system, _, _, irq, softirq = (int(word) for word in words[:7])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def tell(found: dict[str, Any], lines: Sequence[dict[str, Any]]) -> None:
    """Print the report for people."""
    for agent in sorted({line["agent"] for line in lines}):
        counts = Counter(line["status"] for line in lines if line["agent"] == agent)
        print(f"{agent}: " + ", ".join(f"{count} {status}" for status, count in sorted(counts.items())))
    if found["sft"] is not None:
        print(f"{found['sft']['episodes']} solved episodes for fine-tuning: {found['sft']['folder']}")
    print(f"{found['trajectories']} trajectories in {found['wall_s']} s: {found['trajectories_a_minute']} a minute")
    print(f"a replica took {found['cores_per_replica']} cores and {found['memory_mib_per_replica']} MiB")
    for one in found["servers"]:
        print(
            f"{one['server']} holds {one['replicas']} (bound by {one['bound_by']}): {one['usd_per_replica_day']} USD "
            f"each a day, {one['usd_per_1000_trajectories']} USD for 1,000 trajectories"
        )
    print(f"conditions: {found['conditions']}")


def rollouts_of(env_dir: Path, agents: Sequence[str], tasks: Sequence[str], per_task: int) -> list[Rollout]:
    """Return what is played: each agent plays each task so often, an oracle once; ``name:N`` limits it to N steps."""
    found = []
    for given in agents:
        name, _, steps = given.rpartition(":") if given.rpartition(":")[2].isdecimal() else (given, "", "")
        times = 1 if getattr(resolve_agent(name), "wants_task_root", False) else per_task
        for task in tasks or list_tasks(env_dir):
            found += [Rollout(task, name, int(steps) if steps else None, seed) for seed in range(1, times + 1)]
    return found


async def main_async(options: argparse.Namespace) -> dict[str, Any]:
    """Generate, and return the report."""
    env_dir, out = find_env_dir(options.env, options.benchmark), options.out.absolute()
    rollouts = rollouts_of(env_dir, options.agents.split(","), options.tasks, options.per_task)
    (out / "episodes").mkdir(parents=True, exist_ok=True)
    overrides = {"recording": {"enable": False, "output_dir": str(out / "episodes")}}
    # Not fast_io: normal mode keeps every picture that an agent saw, and a model is to learn from them.
    choice = EnvironmentChoice(str(env_dir), overrides=overrides, pacing="settle", runner=options.runner)
    choice, memory = choice.with_runner(), Memory()
    guard = GuardRules(unknown_mib=options.replica_mib)
    rules = environment_rules(choice, least=options.replicas, task_limit_s=TASK_LIMIT_S, guard=guard)
    run = Run(env_dir, load_env(env_dir, overrides).spec, out)
    began, busy = time.monotonic(), busy_s()
    async with Pool(choice.make_world, rules, observer=memory) as pool:
        await generate(run, rollouts, pool)
    wall_s = time.monotonic() - began
    mib = max(memory.mib) if memory.mib else None
    found = cost_report(run, options.replicas, wall_s, (busy_s() - busy) / wall_s, mib, options.usd_per_day)
    found["sft"] = write_sft(run)
    (out / "cost.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if options.json:
        print(json.dumps(found))
    else:
        tell(found, run.lines)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line; return 0, or 1 when an episode was lost to a broken world or judge."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--env", default="debian_desktop", help="an environment's folder, or its name in a benchmark")
    parser.add_argument("--benchmark", default=None, help="where that is [desktop_basics for a name alone]")
    parser.add_argument("--agents", default="oracle,random:8", help="keys or locators, each with :STEPS [%(default)s]")
    parser.add_argument("--tasks", nargs="*", default=[], metavar="TASK", help="[all]")
    parser.add_argument("--per-task", type=int, default=2, help="episodes of each agent, save an oracle's one")
    parser.add_argument("--replicas", type=int, default=4)
    parser.add_argument("--replica-mib", type=float, default=400, help="memory set aside for one before it is known")
    parser.add_argument("--runner", default=None)
    parser.add_argument("--out", type=Path, default=Path("trajectories"))
    parser.add_argument("--usd-per-day", type=float, default=2.3, help="what this machine costs [%(default)s]")
    parser.add_argument("--json", action="store_true", help="print the report for machines")
    options = parser.parse_args(arguments)
    if not Path(options.env).is_dir() and options.benchmark is None:
        options.benchmark = "desktop_basics"
    if options.replicas < 1 or options.per_task < 1:
        parser.error("--replicas and --per-task are at least 1")
    try:
        found = asyncio.run(main_async(options))
    except GymAnythingError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped; what was played is in index.jsonl", file=sys.stderr)
        return 130
    return 0 if found["trajectories"] == found["episodes"] else 1


if __name__ == "__main__":
    sys.exit(main())
