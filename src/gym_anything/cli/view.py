"""``gym-anything view``: experiments as a web page on this machine."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from gym_anything.cli.experiment_options import results_dir_option
from gym_anything.cli.output import json_option, print_json
from gym_anything.errors import MissingExtra


@click.command()
@click.argument("exp", nargs=-1)
@results_dir_option("Where EXP lies.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="On 127.0.0.1. Default: any free one.")
@json_option
def view(exp: tuple[str, ...], results_dir: str, port: int, as_json: bool) -> None:
    """Show experiments as a web page: runs, episodes step by step, two of them side by side.

    EXP is an experiment's name in the results folder, or its folder; several may be given, and none shows all. The
    address that is printed holds a token: who has it may read these experiments, and nothing else. Ctrl-C ends it.
    """
    try:
        from gym_anything.dashboard.server import ViewServer
    except ModuleNotFoundError as error:
        fix = "pip install 'gym-anything[view]'"
        raise MissingExtra(
            f"the viewer needs its extra ({error.name} is missing): {fix}", detail={"fix": fix}
        ) from error
    from gym_anything.dashboard.run_list import chosen_experiments

    experiments = chosen_experiments(exp, Path(results_dir))
    server = ViewServer(experiments, port=port)
    if as_json:
        print_json({"url": server.url, "port": server.port, "experiments": {n: str(p) for n, p in experiments.items()}})
    else:
        click.echo(f"{', '.join(experiments)}: {server.url}")
        click.echo("Ctrl-C ends it.", err=True)
    sys.stdout.flush()
    try:
        server.serve()
    except KeyboardInterrupt:
        click.echo("ended.", err=True)
