"""``gym-anything pool``: pools that live in processes of their own."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from gym_anything.cli.lazy_group import LazyGroup
from gym_anything.cli.output import json_option, print_json

if TYPE_CHECKING:
    from gym_anything.cli.pool_progress import PoolProgress
    from gym_anything.pool.started.folder import PoolEntry

_STOP_S = 180.0

name_argument = click.argument("name", required=False)


@click.group(
    cls=LazyGroup,
    lazy={"start": "gym_anything.cli.pool_start:start"},
    lazy_help={"start": "Start a pool that lives on in a process of its own."},
)
def pool() -> None:
    """Keep replicas warm in a process of its own: start it, look at it, drain it, stop it.

    NAME may be left out where only one pool runs.
    """


@pool.command()
@name_argument
@click.option("-w", "--watch", is_flag=True, help="Go on showing it until Ctrl-C.")
@click.option("--stories", is_flag=True, help="With --json: the last transitions of every replica.")
@json_option
def status(name: str | None, watch: bool, stories: bool, as_json: bool) -> None:
    """Show the pools that run here, or one with its replicas."""
    from gym_anything.pool.started.asking import ask
    from gym_anything.pool.started.folder import find_pool, find_pools

    if as_json and watch:
        raise click.UsageError("--watch is for people; ask with --json as often as you like")
    if as_json:
        chosen = find_pools() if name is None else [find_pool(name)]
        print_json({"pools": [ask(entry, "status", stories=stories) for entry in chosen]})
    elif name is None and len(find_pools()) != 1:
        _show(None, watch)
    else:
        _show(find_pool(name), watch)


@pool.command()
@name_argument
@click.option("-f", "--follow", is_flag=True, help="Go on until the pool ends, or Ctrl-C.")
@json_option
def transitions(name: str | None, follow: bool, as_json: bool) -> None:
    """Print the last transitions of a pool's replicas, each with its reason; with --json one object for each line."""
    import json
    import threading

    from gym_anything.errors import Unreachable
    from gym_anything.pool.started.asking import Asking
    from gym_anything.pool.started.folder import find_pool

    never = threading.Event()
    with Asking(find_pool(name)) as asking:
        last = 0
        while True:
            try:
                found = asking.ask("transitions", since=last)
            except Unreachable:
                return
            for one in found:
                last = one["number"]
                click.echo(json.dumps(one, ensure_ascii=False) if as_json else _line(one))
            if not follow:
                return
            never.wait(0.5)


@pool.command()
@name_argument
@click.option("--no-wait", is_flag=True, help="Do not wait for the tasks that are at work.")
@json_option
def drain(name: str | None, no_wait: bool, as_json: bool) -> None:
    """Let the tasks at work finish and take no new ones; when the last is over, the pool ends."""
    from gym_anything.pool.started.asking import ask
    from gym_anything.pool.started.folder import find_pool

    entry = find_pool(name)
    ask(entry, "drain")
    if not no_wait:
        _await_end(entry, None, "draining")
    if as_json:
        print_json({"name": entry.name, "pid": entry.pid, "ended": not no_wait})
    else:
        click.echo(f"pool {entry.name} " + ("drains" if no_wait else "is drained and has ended"))


@pool.command()
@name_argument
@click.option("--all", "everything", is_flag=True, help="Every pool that runs here.")
@click.option("--now", is_flag=True, help="Kill its process, then remove what is left.")
@json_option
def stop(name: str | None, everything: bool, now: bool, as_json: bool) -> None:
    """End a pool and its tasks; return when nothing of it is left."""
    from gym_anything.pool.started.folder import find_pool, find_pools

    if everything and name is not None:
        raise click.UsageError("give NAME or --all")
    ended = find_pools() if everything else [find_pool(name)]
    for entry in ended:
        if now:
            _kill(entry)
        else:
            _stop(entry)
        if not as_json:
            click.echo(f"pool {entry.name} has ended")
    if as_json:
        print_json({"ended": [{"name": entry.name, "pid": entry.pid} for entry in ended]})


def _stop(entry: PoolEntry) -> None:
    from gym_anything.errors import Unreachable
    from gym_anything.pool.started.asking import ask

    try:
        ask(entry, "stop")
    except Unreachable:
        pass  # it ends at this moment
    _await_end(entry, _STOP_S, "stopping")


def _kill(entry: PoolEntry) -> None:
    import os
    import signal

    from gym_anything._util.deadline import Deadline
    from gym_anything._util.waiting import wait_until
    from gym_anything.doctor.caches import collect_garbage

    try:
        fd = os.pidfd_open(entry.pid)
    except ProcessLookupError:
        return  # it has just ended, by itself
    try:
        if not entry.owner.is_dead():
            signal.pidfd_send_signal(fd, signal.SIGKILL)
    finally:
        os.close(fd)
    wait_until(entry.owner.is_dead, deadline=Deadline.after(10), awaited=f"the end of process {entry.pid}")
    collect_garbage()


def _await_end(entry: PoolEntry, limit_s: float | None, doing: str) -> None:
    """Wait until the process has ended, showing what it still has. Raises: DeadlineExceeded."""
    from gym_anything._util.deadline import Deadline
    from gym_anything._util.waiting import wait_until
    from gym_anything.cli.pool_progress import PoolProgress

    with PoolProgress(entry, doing) as progress:
        wait_until(
            lambda: _has_ended(entry, progress),
            deadline=Deadline.after(limit_s),
            awaited=f"the end of pool {entry.name}; `gym-anything pool stop --now {entry.name}` kills it",
            status=lambda: progress.last,
            poll_s=0.2,
        )


def _has_ended(entry: PoolEntry, progress: PoolProgress) -> bool:
    if entry.owner.is_dead():
        return True
    progress.status()
    return False


def _show(entry: PoolEntry | None, watch: bool) -> None:
    from gym_anything.cli.live import show
    from gym_anything.cli.pool_tables import pool_view

    show(lambda height: pool_view(entry, height), watch=watch)


def _line(one: dict[str, Any]) -> str:
    when = time.strftime("%H:%M:%S", time.localtime(one["at"])) + f".{int(one['at'] % 1 * 1000):03d}"
    lease = f" [{one['lease']}]" if one["lease"] else ""
    return f"{when} replica {one['replica']}{lease}: {one['before']} -> {one['after']}: {one['reason']}"
