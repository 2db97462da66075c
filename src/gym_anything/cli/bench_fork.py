"""``gym-anything bench fork``: what copies of a booted machine take."""

from __future__ import annotations

import click

from gym_anything.cli.measuring import measuring
from gym_anything.cli.output import json_option, print_json, print_table

_STAGES = {"running": "running", "frame": "first frame", "answers": "guest answers"}
_WAYS = {"spawned": "in a process started for it", "waiting": "in a process that waits"}


@click.command()
@click.option("--count", type=click.IntRange(0), default=32, show_default=True, help="Copies that live side by side.")
@click.option("--rounds", type=click.IntRange(1), default=10, show_default=True, help="Turns of each way.")
@click.option("--memory-gib", type=click.FloatRange(0.5), default=1.0, show_default=True, help="Of each machine.")
@click.option("--stay", type=click.FloatRange(0), default=0.0, help="Seconds after which many are looked at once more.")
@json_option
def fork(count: int, rounds: int, memory_gib: float, stay: float, as_json: bool) -> None:
    """Measure saving a virtual machine, copies of it by stages, resets, and many copies at once.

    The bare mechanism (QEMU, its monitor, one connection to the guest) takes turns with ours. Boots the machine that is
    copied where it was not booted before, and leaves it for the next worlds; leaves nothing else.
    """
    from gym_anything.measure.fork_series import ForkRequest, measure_forks

    request = ForkRequest(rounds=rounds, count=count, memory_gib=memory_gib, stay_s=stay)
    with measuring() as on_news:
        found = measure_forks(request, on_news)
    summary = found.summary()
    if as_json:
        print_json({"accelerator": found.accelerator, "summary": summary, "series": found.series})
        return
    rows = [("machine saved, going on", _ms(summary, "save_s", 1000), "")]
    for way, words in _WAYS.items():
        for stage, what in _STAGES.items():
            ratio = f"{summary[f'{way}_{stage}_ms_times_bare']:.2f}"
            rows.append((f"copy {words}: {what}", _ms(summary, f"{way}_{stage}_ms"), ratio))
    for stage, what in _STAGES.items():
        rows.append((f"copy made ahead, that stands still: {what}", _ms(summary, f"ahead_{stage}_ms"), ""))
    rows.append(("reset, first observation included", _ms(summary, "reset_ms"), ""))
    if count:
        took = f"{summary['many_s']:.1f} s, {summary['many_pss_gb']:.2f} GB"
        rows.append((f"{count} copies at once, all answering", took, ""))
        rows.append(("disk of each of them, at most", f"{summary['many_disk_mib_each_max']:.2f} MiB", ""))
    if count and stay:
        rows.append((f"their memory {stay:g} s later", f"{summary['many_pss_later_gb']:.2f} GB", ""))
    title = f"copies of a machine with {memory_gib:g} GiB, {found.accelerator}"
    print_table(("measured", "p50 (p95)", "× bare"), rows, title=title)


def _ms(summary: dict[str, float], name: str, factor: float = 1.0) -> str:
    return f"{summary[f'{name}_p50'] * factor:,.1f} ms ({summary[f'{name}_p95'] * factor:,.1f})"
