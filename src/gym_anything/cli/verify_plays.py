"""``gym-anything verify corpus --prove``: every task of some benchmarks, played and judged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from gym_anything.cli.output import make_console, print_table
from gym_anything.cli.verify_task import prove_one
from gym_anything.errors import GymAnythingError

if TYPE_CHECKING:
    from gym_anything.benchmark.layout import Benchmark
    from gym_anything.episode.task_proof import TaskProof


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which tasks are played, and where.

    Attributes:
        envs, tasks: only these names; empty: all.
        max_tasks: no more than these; None: all.
    """

    envs: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    max_tasks: int | None = None
    runner: str | None = None
    artifacts: str | None = None


@dataclass(frozen=True, slots=True)
class PlayedTask:
    """A task and its proof, or why it could not be played."""

    benchmark: str
    env: str
    task: str
    proof: TaskProof | None
    error: GymAnythingError | None = None

    @property
    def ok(self) -> bool:
        """The task is sound."""
        return self.proof is not None and self.proof.ok

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        head = {"benchmark": self.benchmark, "env": self.env, "task": self.task, "ok": self.ok}
        if self.proof is not None:
            return {**self.proof.as_dict(), **head}
        return {**head, "error": self.error.to_wire() if self.error is not None else None}

    def row(self) -> list[Any]:
        """Return the table's row: one letter for each attempt (P, F, B), and the number of findings."""
        if self.proof is None:
            return [self.env, self.task, "cannot be played", "", "NOT OK"]
        verdicts = " ".join(row.status[0].upper() + ("" if row.ok else "!") for row in self.proof.rows)
        counts = [f"{n} {level}s" for level in ("error", "warning", "note") if (n := self._count(level))]
        return [self.env, self.task, verdicts, ", ".join(counts), "ok" if self.ok else "NOT OK"]

    def _count(self, level: str) -> int:
        return sum(f.level == level for f in self.proof.findings) if self.proof is not None else 0


def prove_benchmarks(benchmarks: list[Benchmark], chosen: Chosen) -> list[PlayedTask]:
    """Play the chosen tasks one after the other, under a progress bar. Raises: click.UsageError for a name of none."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    listed = list(islice(_tasks(benchmarks, chosen), chosen.max_tasks))
    if not listed:
        raise click.UsageError("no task of that name is here; see `gym-anything list`")
    console = make_console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    played = []
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task("playing", total=len(listed))
        for benchmark, env, task in listed:

            def tell(attempt: str, place: str = f"{env}/{task}") -> None:
                progress.update(bar, description=f"{place}: {attempt}")

            played.append(_play(benchmark, env, task, chosen, tell))
            progress.update(bar, advance=1)
    return played


def _play(benchmark: Benchmark, env: str, task: str, chosen: Chosen, tell: Any) -> PlayedTask:
    try:
        proof = prove_one(
            benchmark.environments_dir / env,
            task,
            runner=chosen.runner,
            artifacts=chosen.artifacts,
            on_attempt=tell,
        )
    except GymAnythingError as error:  # this task cannot be played; the others can
        return PlayedTask(benchmark.name, env, task, None, error)
    return PlayedTask(benchmark.name, env, task, proof)


def _tasks(benchmarks: list[Benchmark], chosen: Chosen) -> Iterator[tuple[Benchmark, str, str]]:
    for benchmark in benchmarks:
        for env in benchmark.environments():
            if chosen.envs and env not in chosen.envs:
                continue
            for task in benchmark.tasks(env):
                if not chosen.tasks or task in chosen.tasks:
                    yield benchmark, env, task


def print_played(played: list[PlayedTask]) -> None:
    """Print a row for each task, then each finding."""
    print_table(["environment", "task", "verdicts", "findings", ""], [task.row() for task in played])
    for task in played:
        place = f"{task.env}/{task.task}"
        if task.error is not None:
            click.echo(f"{place}: {task.error}")
        for finding in task.proof.findings if task.proof is not None else ():
            attempt = f"{finding.attempt}: " if finding.attempt else ""
            click.echo(f"{place}: {finding.level}: {attempt}{finding.message}")
