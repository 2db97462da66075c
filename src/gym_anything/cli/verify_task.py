"""``gym-anything verify task``: prove that a task's verdict can be trusted."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gym_anything.cli.output import json_option, make_console, print_json, print_table

if TYPE_CHECKING:
    from gym_anything.episode.env import GymAnythingEnv
    from gym_anything.episode.task_proof import ProofRow

_STORY_CHARACTERS = 300


@click.command()
@click.argument("env")
@click.argument("task")
@click.option("--benchmark", default=None, help="Benchmark that ENV is a name in; see `gym-anything list`.")
@click.option("--runner", default=None, help="Prove it on this runner (key or locator).")
@click.option("--seed", type=int, default=None, help="Seed of every episode.")
@click.option("--use-cache", is_flag=True, help="Start from a checkpoint where the runner makes them.")
@click.option("--fast-io/--no-fast-io", default=None, help="Fast or file-backed mode (default: fast where it exists).")
@click.option("--artifacts", default=None, type=click.Path(), help="Folder for the episodes' artifacts.")
@json_option
def task(
    env: str,
    task: str,
    benchmark: str | None,
    runner: str | None,
    seed: int | None,
    use_cache: bool,
    fast_io: bool | None,
    artifacts: str | None,
    as_json: bool,
) -> None:
    """Play TASK (its folder's name) of ENV (a folder, or a name in a benchmark) and check its verdicts.

    Doing nothing must not pass. A solution beside the task (oracle.json) must pass, each near miss (near_miss_*.json)
    must not. A broken episode proves nothing. Exit code 1 when one verdict is not the expected one.
    """
    from gym_anything.benchmark.layout import find_env_dir
    from gym_anything.episode.task_proof import find_attempts, prove
    from gym_anything.specs.loading import load_task

    env_dir = find_env_dir(env, benchmark)
    attempts = find_attempts(load_task(env_dir, task).root)
    overrides = {"recording": {"output_dir": artifacts}} if artifacts else None

    def make_env() -> GymAnythingEnv:
        return _make(env_dir, task, overrides, runner, fast_io)

    console = make_console(stderr=True)
    rows: list[ProofRow] = []
    for attempt in attempts:
        with console.status(f"{task}: {attempt.name}") if console.is_terminal else nullcontext():
            rows.append(prove(make_env, attempt, seed=seed, use_cache=use_cache))
    ok, has_solution = all(row.ok for row in rows), any(attempt.must_pass for attempt in attempts)
    if as_json:
        listed = [row.as_dict() for row in rows]
        print_json({"ok": ok, "env": str(env_dir), "task": task, "has_solution": has_solution, "attempts": listed})
    else:
        _print(rows, has_solution)
    if not ok:
        click.get_current_context().exit(1)


def _make(
    env_dir: Path, task: str, overrides: dict[str, Any] | None, runner: str | None, fast_io: bool | None
) -> GymAnythingEnv:
    from gym_anything.episode.factory import from_config

    if fast_io is None:
        fast_io = from_config(env_dir, task, overrides, runner=runner).runner.supports_fast_io()
    return from_config(env_dir, task, overrides, runner=runner, fast_io=fast_io)


def _print(rows: list[ProofRow], has_solution: bool) -> None:
    cells = [
        [
            row.attempt,
            row.expected,
            row.status + (f" ({row.blame})" if row.blame else ""),
            f"{row.score:g}",
            "ok" if row.ok else "NOT OK",
            f"{row.seconds:.1f} s",
        ]
        for row in rows
    ]
    print_table(["attempt", "expected", "verdict", "score", "", "time"], cells)
    for row in rows:
        if not row.ok:
            click.echo(f"{row.attempt}: {row.story[:_STORY_CHARACTERS]}")
            if row.episode_dir:
                click.echo(f"  artifacts: {row.episode_dir}")
    if not has_solution:
        click.echo("note: no oracle.json beside the task, so nothing shows that it can be solved")
