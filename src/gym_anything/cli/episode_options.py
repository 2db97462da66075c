"""The options that ``run`` and ``benchmark`` share, and the episode request they make."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from gym_anything.benchmark.episode_request import EpisodeRequest

Command = TypeVar("Command", bound=Callable[..., Any])

_CACHE_LEVELS = ["default", "pre_start", "post_start", "post_task"]

_OPTIONS = [
    click.option("--agent", default="noop", show_default=True, help="Key or locator (pkg.mod:Class); see `agents`."),
    click.option("--agent-arg", "agent_args", multiple=True, metavar="K=V", help="Setting of the agent; JSON or text."),
    click.option("--model", default=None, help="Model the agent uses; names the results folder, too."),
    click.option("--runner", default=None, help="World to use (key or locator) instead of the chosen one."),
    click.option("--steps", "max_steps", type=click.IntRange(1), default=None, help="Step limit. Default: the task's."),
    click.option("--time-limit", "time_limit_s", type=click.FloatRange(0, min_open=True), default=None,
                 help="Seconds from the first observation. Default: the task's."),
    click.option("--deadline", "deadline_s", type=click.FloatRange(0, min_open=True), default=None,
                 help="Hard bound in seconds on a whole episode, set-up and clean-up included."),
    click.option("--step-deadline", "step_deadline_s", type=click.FloatRange(0, min_open=True), default=None,
                 help="Bound in seconds on an answer of the agent, and on doing its actions."),
    click.option("--verifier-deadline", "verifier_deadline_s", type=click.FloatRange(0, min_open=True), default=None,
                 help="Bound in seconds on a verdict."),
    click.option("--seed", type=int, default=None, help="What the world's randomness follows."),
    click.option("--fast-io", is_flag=True, help="Frames in memory and direct input, no fixed sleeps."),
    click.option("--use-cache", is_flag=True, help="Start from a checkpoint, or make one."),
    click.option("--cache-level", type=click.Choice(_CACHE_LEVELS), default="default", show_default=True,
                 help="After which set-up stage the checkpoint is taken; default: as the environment says."),
    click.option("--use-savevm", is_flag=True, help="Checkpoints with memory and processes."),
    click.option("--strict-hooks/--tolerant-hooks", default=False, help="A failed set-up hook ends the episode."),
    click.option("--results-dir", default="all_runs", show_default=True, type=click.Path(file_okay=False),
                 help="Where results go: <exp>/<model>/<env>/<task>/run_NNN."),
    click.option("--timing-jsonl", type=click.Path(dir_okay=False), default=None,
                 help="Append one line with timings for every step."),
    click.option("--remote-url", default=None, help="Play on this worker or master."),
    click.option("--expect", type=click.Choice(["passed", "failed", "broken"]), default=None,
                 help="Exit code 0 only when every episode ends like this."),
    click.option("-v", "--verbose", is_flag=True, help="Let the agent tell what it does."),
    click.option("--debug", is_flag=True, help="Let the agent tell even more."),
]  # fmt: skip


def episode_options(command: Command) -> Command:
    """Add the shared options to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def request_template(options: dict[str, Any]) -> EpisodeRequest:
    """Return a request with everything the shared options say; the caller fills in the task.

    Raises: UnsupportedFeature for ``--remote-url``, PluginError kinds for an agent or runner that does not exist,
        click.BadParameter for a bad agent argument.
    """
    from gym_anything.agents.registry import resolve_agent
    from gym_anything.benchmark.episode_request import EpisodeRequest
    from gym_anything.errors import UnsupportedFeature
    from gym_anything.runtime.runners.registry import resolve_runner

    if options["remote_url"]:
        raise UnsupportedFeature(
            "--remote-url needs the remote stack, which this version does not have yet; leave it out to play here",
            detail={"feature": "remote_url", "fix": "leave --remote-url out"},
        )
    resolve_agent(options["agent"])  # what does not exist is the caller's mistake, not a broken episode
    if options["runner"]:
        resolve_runner(options["runner"])
    arguments = parse_agent_args(options["agent_args"])
    model = options["model"]
    if model is not None:
        arguments.setdefault("model", model)
    return EpisodeRequest(
        env_dir="",
        env="",
        task="",
        agent=options["agent"],
        agent_args=arguments,
        model=model or str(arguments.get("model") or options["agent"]),
        seed=options["seed"],
        max_steps=options["max_steps"],
        time_limit_s=options["time_limit_s"],
        deadline_s=options["deadline_s"],
        step_deadline_s=options["step_deadline_s"],
        verifier_deadline_s=options["verifier_deadline_s"],
        runner=options["runner"],
        fast_io=options["fast_io"],
        use_cache=options["use_cache"],
        cache_level=options["cache_level"],
        use_savevm=options["use_savevm"],
        strict_hooks=options["strict_hooks"],
        timing_jsonl=os.path.abspath(options["timing_jsonl"]) if options["timing_jsonl"] else None,  # noqa: PTH100
        verbose=options["verbose"],
        debug=options["debug"],
    )


def parse_agent_args(pairs: Sequence[str]) -> dict[str, Any]:
    """Return ``K=V`` pairs as a dict; V is JSON where it parses as JSON, else text.

    Raises: click.BadParameter.
    """
    arguments: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key.strip():
            raise click.BadParameter(f"{pair!r} is not K=V", param_hint="--agent-arg")
        try:
            arguments[key.strip()] = json.loads(text)
        except ValueError:
            arguments[key.strip()] = text
    return arguments
