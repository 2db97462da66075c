"""Play six tasks of ``desktop_basics`` with the oracle in every world, and say task by task what came of it: one table.

``python -m tools.worlds_table`` prints it and fails where a world is missing, a task is not passed, or the record in
``docs/reference/figures/worlds_table.json`` has other worlds or tasks. ``python -m tests.bench.figures --write
worlds_table`` makes that record; ``docs/reference/worlds.md`` is rendered from it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.apptainer_backend import choose_program
from tests.docker_engine import missing as docker_missing
from tests.docker_engine import running_engine

from gym_anything.benchmark.layout import find_benchmark
from gym_anything.benchmark.splits import load_splits
from gym_anything.runtime.images.recipe import load_recipe
from gym_anything.runtime.images.rootfs import find_system, plan_build
from gym_anything.runtime.runners.facts import runner_status
from gym_anything.runtime.runners.registry import resolve_runner
from tools.reference_worlds import RUNNERS, table

ROOT = Path(__file__).parents[1]
BENCHMARK = ROOT / "benchmarks" / "desktop_basics"
SPLIT = "demo"
"""Six tasks: the whole benchmark takes too long on an emulated processor."""
RECORD = ROOT / "docs" / "reference" / "figures" / "worlds_table.json"
GYM_ANYTHING = (sys.executable, "-m", "gym_anything.cli.main")
LIMIT_S = 900


@contextmanager
def _apptainer() -> Iterator[None]:
    choose_program()
    yield


@dataclass(frozen=True, slots=True)
class World:
    """One kind of world.

    Attributes:
        runner: its key.
        image: name of the image that it is made from; None: this host's own programs.
        parallel: how many episodes at once.
        backend: what must be up while it is played.
        backend_lacks: says why that cannot be; empty when it can.
    """

    runner: str
    image: str | None
    parallel: int
    backend: Callable[[], AbstractContextManager[Any]] = nullcontext
    backend_lacks: Callable[[], str] = str

    def lacks(self) -> str | None:
        """Say why it cannot be played here; asked while its backend is up."""
        status = runner_status(resolve_runner(self.runner))
        return None if status.available else status.reason or "its runner is not available"

    def version(self) -> str:
        """Return what its software is: an image and the beginning of its digest, or the host's release."""
        if self.image is None:
            lines = Path("/etc/os-release").read_text(encoding="utf-8").splitlines()
            (name,) = (line.partition("=")[2].strip('"') for line in lines if line.startswith("PRETTY_NAME="))
            return f"the host's {name}"
        found = find_system(plan_build(load_recipe(self.image)))
        assert found is not None
        return f"{self.image} {found.digest[:12]}"


WORLDS = (
    World("local", None, 2),
    World("docker", "debian-desktop", 2, running_engine, docker_missing),
    World("apptainer", "debian-desktop", 2, _apptainer),
    World("qemu_native", "debian-desktop-vm", 1),  # each machine has as many processors as the host
)
assert tuple(world.runner for world in WORLDS) == RUNNERS


def tasks() -> list[str]:
    """Return the tasks that are played: those of the split."""
    return sorted(load_splits(find_benchmark(BENCHMARK)).select("debian_desktop", SPLIT).tasks)


def play(world: World, folder: Path) -> dict[str, Any]:
    """Play every task in one kind of world.

    Returns: ``{"version", "seconds", "tasks": {task: {"status", "score", "seconds"}}}``; with ``missing`` in place of all
        that, where there can be none.
    """
    if world.backend_lacks():
        return {"missing": world.backend_lacks()}
    with world.backend():
        reason = _build(world.image) or world.lacks()
        if reason:
            return {"missing": reason}
        began = time.monotonic()
        report = _benchmark(world, folder)
        seconds = time.monotonic() - began
    if report is None:
        return {"missing": "the benchmark ended without a report; what it said stands above"}
    played = {}
    for row in report["episodes"]:
        session = _session(Path(row["run_dir"]) / row["episode_dir"]) if row.get("episode_dir") else None
        in_it = session == world.runner
        status = row["status"] if in_it else f"played in {session}"
        played[row["task"]] = {
            "status": status,
            "score": row["outcome"]["score"],
            "seconds": round(row["duration_s"], 1),
            "story": "" if status == "passed" else row["outcome"]["story"],
        }
    return {"version": world.version(), "seconds": round(seconds, 1), "tasks": played}


def _build(image: str | None) -> str | None:
    """Build an image where it is missing, which takes minutes; says why that did not work."""
    if image is None:
        return None
    done = subprocess.run([*GYM_ANYTHING, "image", "build", image], stdout=sys.stderr, check=False)
    return f"the image {image} cannot be built" if done.returncode else None


def _benchmark(world: World, folder: Path) -> Any:
    """Return the report of ``gym-anything benchmark``, or None."""
    argv = [*GYM_ANYTHING, "benchmark", "all", "--benchmark", str(BENCHMARK), "--split", SPLIT]
    argv += ["--agent", "oracle", "--fast-io", "--seed", "0", "--runner", world.runner]
    argv += ["--parallel", str(world.parallel), "--results-dir", str(folder / world.runner), "--json"]
    done = subprocess.run(argv, cwd=folder, stdout=subprocess.PIPE, text=True, timeout=LIMIT_S, check=False)
    return json.loads(done.stdout) if done.stdout.lstrip().startswith("{") else None


def _session(episode: Path) -> str | None:
    """Return the runner that an episode's own record names."""
    for line in (episode / "traj.jsonl").read_text(encoding="utf-8").splitlines():
        found = json.loads(line).get("runner_name")
        if found is not None:
            return str(found)
    return None


def play_all(on_news: Callable[[str], None] = lambda text: None) -> dict[str, Any]:
    """Play in every world: runner -> what ``play`` returns."""
    found = {}
    for world in WORLDS:
        on_news(f"{world.runner} …")
        with tempfile.TemporaryDirectory(prefix="ga-worlds-") as folder:
            found[world.runner] = play(world, Path(folder))
    return found


def problems(found: Mapping[str, Any], wanted: list[str]) -> list[str]:
    """Return what is wrong with a table, one sentence each: a world or a task that is missing, or was not passed."""
    wrong = [f"{runner}: not in the table" for runner in RUNNERS if runner not in found]
    for runner, world in found.items():
        if "missing" in world:
            wrong.append(f"{runner}: MISSING: {world['missing']}")
            continue
        for task in wanted:
            row = world["tasks"].get(task)
            if row is None:
                wrong.append(f"{runner}: {task} was not played")
            elif row["status"] != "passed":
                wrong.append(f"{runner}: {task} was not passed: {row['status']} {row.get('story', '')}".rstrip())
    return wrong


def main() -> None:
    """Play, print, compare with the record."""
    wanted = tasks()
    found = play_all(lambda text: print(text, flush=True))
    print("\n".join(table(found, wanted)))
    wrong = problems(found, wanted)
    if RECORD.is_file():
        wrong += [f"the record: {each}" for each in problems(json.loads(RECORD.read_text())["worlds"], wanted)]
    else:
        wrong.append("no record: python -m tests.bench.figures --write worlds_table")
    if wrong:
        raise SystemExit("\n".join(["", "the table of worlds is not whole:", *wrong]))


if __name__ == "__main__":
    main()
