"""``gym-anything verify task``: prove that a task's verdict can be trusted."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gym_anything.cli.output import json_option, make_console, print_json, print_table

if TYPE_CHECKING:
    from gym_anything.episode.env import GymAnythingEnv
    from gym_anything.episode.task_proof import TaskProof

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
    must not. Each final state is judged twice: the verdicts must agree and judging must touch nothing. A broken episode
    proves nothing. Exit code 1 when something is unsound.
    """
    from gym_anything.benchmark.layout import find_env_dir

    env_dir = find_env_dir(env, benchmark)
    console = make_console(stderr=True)
    with console.status(task) if console.is_terminal else nullcontext() as status:
        proof = prove_one(
            env_dir,
            task,
            runner=runner,
            fast_io=fast_io,
            artifacts=artifacts,
            seed=seed,
            use_cache=use_cache,
            on_attempt=lambda name: status.update(f"{task}: {name}") if status is not None else None,
        )
    if as_json:
        print_json(proof.as_dict())
    else:
        print_proof(proof)
    if not proof.ok:
        click.get_current_context().exit(1)


def prove_one(
    env_dir: Path,
    task: str,
    *,
    runner: str | None = None,
    fast_io: bool | None = None,
    artifacts: str | None = None,
    seed: int | None = None,
    use_cache: bool = False,
    on_attempt: Callable[[str], object] = lambda _name: None,
) -> TaskProof:
    """Prove one task of an environment. Raises: SpecError, PluginError, BenchmarkError for what cannot be played."""
    from gym_anything.episode.task_proof import find_attempts, prove_task
    from gym_anything.specs.loading import load_task

    attempts = find_attempts(load_task(env_dir, task).root)
    overrides = {"recording": {"output_dir": artifacts}} if artifacts else None
    return prove_task(
        lambda: _make(env_dir, task, overrides, runner, fast_io),
        attempts,
        env=str(env_dir),
        task=task,
        seed=seed,
        use_cache=use_cache,
        on_attempt=on_attempt,
    )


def _make(
    env_dir: Path, task: str, overrides: dict[str, Any] | None, runner: str | None, fast_io: bool | None
) -> GymAnythingEnv:
    from gym_anything.episode.factory import from_config

    if fast_io is None:
        fast_io = from_config(env_dir, task, overrides, runner=runner).runner.supports_fast_io()
    return from_config(env_dir, task, overrides, runner=runner, fast_io=fast_io)


def print_proof(proof: TaskProof) -> None:
    """Print the attempts, then each finding, then where the artifacts of what went wrong lie."""
    cells = [
        [
            row.attempt,
            row.expected,
            row.status + (f" ({row.blame})" if row.blame else ""),
            f"{row.score:g}",
            "ok" if row.ok else "NOT OK",
            f"{row.seconds:.1f} s",
        ]
        for row in proof.rows
    ]
    print_table(["attempt", "expected", "verdict", "score", "", "time"], cells)
    for finding in proof.findings:
        where = f"{finding.attempt}: " if finding.attempt else ""
        click.echo(f"{finding.level}: {where}{finding.message}")
    for row in proof.rows:
        if not row.ok:
            click.echo(f"{row.attempt}: {row.story[:_STORY_CHARACTERS]}")
            if row.episode_dir:
                click.echo(f"  artifacts: {row.episode_dir}")
