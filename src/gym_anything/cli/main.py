"""The command ``gym-anything``: a group whose commands are imported only when they are called.

Exit codes: 0 fine, 1 the checked thing failed, 2 the command was used wrongly, 130 interrupted. An error of this
package is printed as ``error: …`` with its fix, never as a traceback (``GYM_ANYTHING_TRACEBACK=1`` shows it).
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Sequence

import click

from gym_anything._util import env_vars
from gym_anything.cli.lazy_group import LazyGroup
from gym_anything.errors import GymAnythingError

TRACEBACK = env_vars.declare(
    "GYM_ANYTHING_TRACEBACK", env_vars.boolean, False, "Show the Python traceback of an error.", "gym_anything.cli"
)

OK, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130

COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("gym_anything.cli.run:run", "Let an agent play one episode and print the verdict."),
    "benchmark": ("gym_anything.cli.benchmark:benchmark", "Let an agent play many tasks and print the table."),
    "report": ("gym_anything.cli.report:report", "Print what an experiment comes to, or compare two."),
    "view": ("gym_anything.cli.view:view", "Show experiments as a web page: runs, episodes step by step."),
    "export": ("gym_anything.cli.export:export", "Write an experiment's trajectories as data for training."),
    "agents": ("gym_anything.cli.agents:agents", "List the agents that --agent can name."),
    "index": ("gym_anything.cli.index:index", "Make the index of an experiment's results anew."),
    "list": ("gym_anything.cli.list:list_", "List benchmarks, environments, tasks or splits."),
    "validate": ("gym_anything.cli.validate:validate", "Check an environment and its tasks."),
    "verify": ("gym_anything.cli.verify:verify", "Prove specs, a corpus of them, or a task."),
    "doctor": ("gym_anything.cli.doctor:doctor", "Try what this machine can do, with a fix for what it cannot."),
    "bench": ("gym_anything.cli.bench:bench", "Measure parts of this package on this machine."),
    "compatibility": ("gym_anything.cli.compatibility:compatibility", "Show what each runner supports."),
    "image": ("gym_anything.cli.image:image", "Build, list and verify images of guests."),
    "pool": ("gym_anything.cli.pool:pool", "Keep replicas warm in a process of its own; look at them; end them."),
    "top": ("gym_anything.cli.top:top", "Show what runs on this host: pools, replicas, worlds, what they use."),
    "host": ("gym_anything.cli.host:host", "Read and raise what bounds the number of worlds on this machine."),
    "cache": ("gym_anything.cli.cache:cache", "List, purge or collect checkpoints and left-overs."),
}
"""Name to (where the command lives, its line in the help)."""


@click.group(
    cls=LazyGroup,
    lazy={name: place for name, (place, _) in COMMANDS.items()},
    lazy_help={name: line for name, (_, line) in COMMANDS.items()},
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(package_name="gym-anything", message="%(version)s")
def cli() -> None:
    """Turn any software into an environment for computer-use agents, and run many of them.

    Start with `gym-anything doctor`, then `gym-anything list` and `gym-anything run`.
    """
    _let_locators_find_the_working_folder()


def _let_locators_find_the_working_folder() -> None:
    """Let ``my_agent:MyAgent`` in the working folder be imported; last in line, so that it shadows nothing."""
    try:
        here = os.getcwd()  # noqa: PTH109 - sys.path holds text
    except OSError:
        return  # the working folder was deleted
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line and exit. The entry point of the console script."""
    sys.exit(run_command_line(argv))


def run_command_line(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal without our letters shows "?"; it ends no run
            stream.reconfigure(errors="replace")
    try:
        result = cli.main(
            args=list(argv) if argv is not None else None, prog_name="gym-anything", standalone_mode=False
        )
        sys.stdout.flush()
        return result if isinstance(result, int) else OK
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except BrokenPipeError:  # the reader (head, less) has gone; Python must not complain about it at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EIO) or error.filename is not None:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        click.echo(f"error: the output cannot be written: {error.strerror}", err=True)
        return FAILED
    except GymAnythingError as error:
        if TRACEBACK.get():
            raise
        from gym_anything.cli.output import print_error

        print_error(error)
        return USAGE if error.blame == "caller" else FAILED


if __name__ == "__main__":
    main()
