"""``gym-anything pool start``: in a process of its own, or in this one (``--foreground``)."""

from __future__ import annotations

import subprocess
import sys
import threading
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gym_anything.cli.output import json_option, print_json

if TYPE_CHECKING:
    from gym_anything.cli.pool_worlds import PoolChoice
    from gym_anything.pool.started.folder import PoolEntry, PoolFolder

_END_S = 60.0
_FLAGS = {"least": "min", "most": "max", "task_limit_s": "task-limit", "within_s": "within"}


@dataclass(frozen=True)
class StartOptions:
    """The options of ``pool start``, as given."""

    env: str | None
    benchmark: str | None
    simulated: bool
    step_s: float
    name: str | None
    replicas: int | None
    least: int | None
    most: int | None
    runner: str | None
    fast_io: bool
    cache_level: str | None
    use_savevm: bool
    task_limit_s: float | None
    shards: int | None
    metrics_port: int | None
    within_s: float
    no_wait: bool

    def words(self) -> list[str]:
        """Return the command line that says the same, without ENV."""
        words = ["pool", "start"]
        for field in fields(self):
            value = getattr(self, field.name)
            flag = f"--{_FLAGS.get(field.name, field.name.replace('_', '-'))}"
            if field.name != "env" and value is not None and value is not False:
                words += [flag] if value is True else [f"{flag}={value}"]
        return words

    def size(self) -> tuple[int, int]:
        """Return the least and the most replicas. Raises: click.UsageError."""
        if self.replicas is not None and (self.least is not None or self.most is not None):
            raise click.UsageError("give --replicas for a pool of one size, or --min and --max")
        if self.replicas is not None:
            return self.replicas, self.replicas
        least = 1 if self.least is None else self.least
        most = max(least, 1) if self.most is None else self.most
        if most < least:
            raise click.UsageError(f"--max {most} is less than --min {least}")
        return least, most


@click.command()
@click.argument("env", required=False)
@click.option("--benchmark", default=None, help="Benchmark that ENV is a name in; see `gym-anything list`.")
@click.option("--simulated", is_flag=True, help="Instead of ENV: worlds that only take their time, for trying out.")
@click.option("--step-s", type=click.FloatRange(0), default=1.0, show_default=True, help="A simulated world's step.")
@click.option("--name", default=None, help="What to call the pool.  [default: the environment's name]")
@click.option("-n", "--replicas", type=click.IntRange(1), default=None, help="So many, always.")
@click.option("--min", "least", type=click.IntRange(0), default=None, help="At least so many.  [default: 1]")
@click.option("--max", "most", type=click.IntRange(1), default=None, help="More where they are wanted, up to so many.")
@click.option("--runner", default=None, help="World to use (key or locator) instead of the chosen one.")
@click.option("--fast-io", is_flag=True, help="Frames in memory and direct input, no fixed sleeps.")
@click.option(
    "--cache-level",
    type=click.Choice(["pre_start", "post_start"]),
    default=None,
    help="Start worlds from a checkpoint of this level, which the first one makes.",
)
@click.option("--use-savevm", is_flag=True, help="That checkpoint has memory and programs, too.")
@click.option(
    "--task-limit",
    "task_limit_s",
    type=click.FloatRange(0, min_open=True),
    default=None,
    help="Seconds that one task may have a replica.",
)
@click.option(
    "--shards",
    type=click.IntRange(0),
    default=None,
    help="Processes that the replicas are spread over; 0: none but the pool's.  [default: by processors]",
)
@click.option(
    "--metrics-port",
    type=click.IntRange(0, 65535),
    default=None,
    help="Serve metrics for Prometheus on this loopback port; 0 is any free one.",
)
@click.option(
    "--within",
    "within_s",
    type=click.FloatRange(0, min_open=True),
    default=900.0,
    show_default=True,
    help="Seconds for the least replicas to come up.",
)
@click.option("--no-wait", is_flag=True, help="Do not wait until they are up.")
@click.option("--foreground", is_flag=True, help="Stay in this process; Ctrl-C stops the pool.")
@click.option("--child", is_flag=True, hidden=True)
@json_option
def start(foreground: bool, child: bool, as_json: bool, **given: Any) -> None:
    """Start a pool of ENV (a folder, or a name in a benchmark) that lives on in a process of its own.

    It returns when the least replicas are up. The pool outlives the terminal; `pool stop` ends it, and what a killed
    one leaves `cache gc` removes. Its log has one JSON object for each line.
    """
    from gym_anything.cli.pool_worlds import choose_pool

    options = StartOptions(**given)
    choice = choose_pool(options)
    if foreground:
        _serve(options, choice, quiet=child)
    else:
        _start_beside(options, choice, as_json)


def _serve(options: StartOptions, choice: PoolChoice, *, quiet: bool) -> None:
    from gym_anything.pool.started.serve import serve_pool

    def on_serving(folder: PoolFolder) -> None:
        if not quiet:
            threading.Thread(target=_tell, args=(choice, options), name="progress", daemon=True).start()

    serve_pool(choice.plan, choice.make_pool, on_serving)
    if not quiet:
        click.echo(f"pool {choice.plan.name} has ended", err=True)


def _tell(choice: PoolChoice, options: StartOptions) -> None:
    """Show how the pool of this process comes up, from a thread."""
    from gym_anything._util.deadline import Deadline
    from gym_anything.cli.pool_waiting import wait_until_ready
    from gym_anything.errors import GymAnythingError
    from gym_anything.pool.started.folder import find_pool

    try:
        entry = find_pool(choice.plan.name)
        wait_until_ready(lambda: entry, choice.least, Deadline.after(options.within_s))
    except GymAnythingError as error:
        click.echo(f"warning: {error}", err=True)
    else:
        click.echo(f"pool {entry.name} is ready; Ctrl-C stops it", err=True)


def _start_beside(options: StartOptions, choice: PoolChoice, as_json: bool) -> None:
    from gym_anything._util import logs, state_dir
    from gym_anything._util.deadline import Deadline
    from gym_anything._util.labels import ENV_NAME
    from gym_anything.cli.pool_waiting import wait_until_ready
    from gym_anything.errors import ProcessStartFailed
    from gym_anything.pool.started.folder import find_pools

    name = choice.plan.name
    output = state_dir.state_root() / state_dir.LOGS / f"pool-{name}.out"
    process = _spawn(options, output, ENV_NAME)

    def find() -> PoolEntry | None:
        if process.poll() is not None:
            tail = logs.tail(output).removeprefix("error: ")
            message = f"pool {name} has ended with code {process.returncode}: {tail}"
            raise ProcessStartFailed(message, detail={"log": str(output)})
        return next((entry for entry in find_pools() if entry.pid == process.pid), None)

    least = 0 if options.no_wait else choice.least
    try:
        entry = wait_until_ready(find, least, Deadline.after(options.within_s), quiet=as_json)
    except BaseException:  # also Ctrl-C: nothing is left half started
        _end(process)
        raise
    if as_json:
        from gym_anything.pool.started.asking import ask

        print_json(ask(entry, "status"))
        return
    how = "comes up" if options.no_wait else f"is ready: {choice.least} replicas"
    click.echo(f"pool {name} {how}, process {entry.pid}")
    click.echo(f"  log: {entry.facts.get('log')}")
    if entry.facts.get("metrics_url"):
        click.echo(f"  metrics: {entry.facts['metrics_url']}, token in {entry.facts['metrics_token_file']}")
    click.echo(f"  `gym-anything pool status {name}` shows it, `gym-anything pool stop {name}` ends it")


def _spawn(options: StartOptions, output: Path, label: str) -> subprocess.Popen[bytes]:
    """Start this same command as the pool's process: in a session of its own, without a terminal and our label."""
    import os

    output.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    argv = [sys.executable, "-P", "-m", "gym_anything.cli.main", *options.words(), "--foreground", "--child"]
    argv += [] if options.env is None else ["--", options.env]
    environment = {key: value for key, value in os.environ.items() if key != label}
    fd = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        return subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=fd, stderr=fd, start_new_session=True, env=environment
        )
    finally:
        os.close(fd)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a pool's process that is not wanted after all, gently first; remove what it could not, being too young."""
    from gym_anything.doctor.caches import collect_garbage

    if process.poll() is not None:
        return
    process.terminate()
    try:
        code = process.wait(_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        code = process.wait()
    if code < 0:
        collect_garbage()
