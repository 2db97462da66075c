"""``gym-anything bench input-latency``, also called ``measure_input_latency``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gym_anything.cli.measuring import measuring
from gym_anything.cli.output import json_option, print_json, print_table

if TYPE_CHECKING:
    from gym_anything.measure.input_latency.report import Request, WorldReport

_COLUMNS = ("action", "p50", "p95", "max", "p50", "p95", "max")


@click.command("input-latency")
@click.argument("env", required=False)
@click.option(
    "--runner", "runners", multiple=True, metavar="KEY", help="World to measure: key or pkg.mod:Class (repeatable)."
)
@click.option("--rounds", type=click.IntRange(1), help="Times of each action at each boundary.  [default: 20]")
@click.option("--quick", is_flag=True, help="Three rounds: a look, not a measurement.")
@click.option(
    "--fast-io/--no-fast-io", default=None, help="Fast or file-backed path. Default: fast where there is one."
)
@click.option("--resolution", metavar="WxH", help="Screen of the plain desktop, without ENV.  [default: 1280x800]")
@click.option(
    "--evidence", metavar="PART,…", help="Only this evidence of events, editor, menus, map; none: no evidence."
)
@click.option(
    "--action", "actions", multiple=True, metavar="JSON", help="Time this action in place of the usual (repeatable)."
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep report, saved files and contact sheets in DIR/<runner>; without it, nothing is kept.",
)
@json_option
def input_latency(
    env: str | None,
    runners: tuple[str, ...],
    rounds: int | None,
    quick: bool,
    fast_io: bool | None,
    resolution: str | None,
    evidence: str | None,
    actions: tuple[str, ...],
    out: Path | None,
    as_json: bool,
) -> None:
    """Measure how long input takes in a world, and prove that its applications got it.

    Two boundaries are timed by turns: `runner_inject_action`, from the call of the runner until the world has
    acknowledged, and `env_step`, from the call of the step until its observation is there. The world's programs tell
    what came: the X server its devices and events, an editor what it saved, a map in a browser what was searched,
    dragged and zoomed. ENV is an environment (a folder, or a name in a benchmark); without it, a plain desktop.

    Exit code 1 when a program got anything else than what was sent. The world is removed, however it ends.
    """  # fmt: skip
    from gym_anything.measure.input_latency.report import document, measure_input_latency
    from gym_anything.runtime.runners.registry import resolve_runner

    request = _request(env, 3 if quick else rounds, fast_io, resolution, evidence, actions)
    if quick and rounds is not None:
        raise click.UsageError("--quick says how many rounds there are; leave out --rounds")
    for runner in runners:
        resolve_runner(runner)
    chosen: list[str | None] = list(dict.fromkeys(runners)) or [None]
    reports = []
    with measuring() as on_news:
        for done, each in enumerate(chosen):

            def share(what: str, part: float, done: int = done, each: str | None = each) -> None:
                on_news(f"{each}: {what}" if each else what, (done + part) / len(chosen))

            reports.append(measure_input_latency(each, request, share))
            if out is not None:
                reports[-1].write(out / re.sub(r"[^\w.-]", "_", reports[-1].runner))
    found = document(reports, request)
    if as_json:
        print_json(found)
    else:
        for report in reports:
            _print(report)
        click.echo(found["conditions"])
        click.echo(f"pictures and saved files: {out}" if out else "pictures and saved files: --out DIR keeps them")
    if not found["ok"]:
        click.get_current_context().exit(1)


def _request(
    env: str | None,
    rounds: int | None,
    fast_io: bool | None,
    resolution: str | None,
    evidence: str | None,
    actions: tuple[str, ...],
) -> Request:
    from gym_anything.benchmark.layout import find_env_dir
    from gym_anything.measure.input_latency.report import Request
    from gym_anything.measure.input_latency.timed_actions import given_action

    for action in actions:
        given_action(action, None)  # what is no action is the caller's mistake, known before a world is made
    request = Request(env=find_env_dir(env) if env else None, fast_io=fast_io, actions=actions)
    if rounds is not None:
        request = replace(request, rounds=rounds, repetitions=min(rounds, request.repetitions))
    if evidence is not None:
        request = replace(request, evidence=_parts(evidence))
    if resolution is not None:
        if env:
            raise click.UsageError("ENV says how large its screen is; leave out --resolution")
        request = replace(request, resolution=_size(resolution))
    return request


def _parts(text: str) -> tuple[str, ...]:
    from gym_anything.measure.input_latency.evidence import PARTS

    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if names == ("none",):
        return ()
    unknown = [name for name in names if name not in PARTS]
    if unknown or not names:
        known = "\n".join(f"  {key:8} {what}" for key, what in PARTS.items())
        raise click.UsageError(
            f"no evidence {(unknown or [text])[0]!r}; there is\n{known}\n  none     nothing but times"
        )
    return names


def _size(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{1,5})x(\d{1,5})", text)
    size = (int(match[1]), int(match[2])) if match else (0, 0)
    if not (640 <= size[0] <= 7680 and 480 <= size[1] <= 4320):
        raise click.UsageError(f"--resolution {text!r} is no size from 640x480 to 7680x4320, such as 1920x1080")
    return size


def _print(report: WorldReport) -> None:
    path = "fast" if report.fast_io else "file-backed"
    size = f", {report.screen[0]}x{report.screen[1]}" if report.screen else ""
    print_table(
        _COLUMNS,
        _rows(report),
        title=f"{report.runner}: {path} path{size}, over {report.over}; runner_inject_action, then env_step, in ms",
    )
    checks = [
        (c.part, c.name, c.expected, "" if c.ok else c.got, "ok" if c.ok else "NOT OK") for c in report.evidence.checks
    ]
    if checks:
        print_table(("evidence", "done", "expected", "got instead", ""), checks)
    sources = sorted({device for each in report.evidence.events.values() for device in each["devices"]})
    if sources:
        click.echo(f"input came from: {', '.join(sources)}")
    for part, reason in report.evidence.left_out.items():
        click.echo(f"left out: {part}: {reason}")


def _rows(report: WorldReport) -> Iterator[tuple[str, ...]]:
    for action, title in report.titles.items():
        values = [samples[action].to_dict() for samples in report.times.values()]
        yield title, *(f"{value[key]:,.3f}" for value in values for key in ("p50", "p95", "max"))
