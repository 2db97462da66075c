"""``gym-anything bench pool|recovery|utilisation``: pools of real worlds at work, and worlds under a slow policy."""

from __future__ import annotations

import click

from gym_anything.cli.measuring import measuring
from gym_anything.cli.output import json_option, print_json, print_table

KINDS = click.Choice(["desktop", "vm"])
_kind = click.option(
    "--kind", type=KINDS, default="desktop", show_default=True, help="Local desktops, or forks of a saved machine."
)
_count = click.option("--count", type=click.IntRange(1), default=128, show_default=True, help="Replicas of the pool.")


@click.command()
@_kind
@_count
@click.option("--stay-s", type=click.FloatRange(0), default=60.0, show_default=True, help="How long they are at work.")
@click.option(
    "--step-every-s", type=click.FloatRange(0.1), default=10.0, show_default=True, help="Between steps of each."
)
@json_option
def pool(kind: str, count: int, stay_s: float, step_every_s: float, as_json: bool) -> int:
    """Measure a pool of real worlds: until all are ready, check-out, memory, and whether they stay well at work.

    Leaves nothing, save the machine that forks are made from. Exit code 1 when a world did not stay well.
    """
    from gym_anything.measure.real_pool_series import PoolRequest, measure_pool

    with measuring() as on_news:
        found = measure_pool(PoolRequest(kind, count, stay_s, step_every_s), on_news).to_dict()
    if as_json:
        print_json(found)
    else:
        rows = [
            ("all ready", f"{found['ready_s']:.2f} s"),
            ("check-out of a warm one, p50", f"{found['check_out_ms_p50']:.3f} ms"),
            ("memory of their processes, proportional", f"{found['pss_gb']:.2f} GB"),
            ("memory that this host has less", f"{found['host_gb']:.2f} GB"),
            ("answered at first", f"{found['answered']} of {count}"),
            (f"well after {stay_s:g} s of light steps", f"{found['healthy']} of {count}"),
            ("light steps", f"{found['steps']}, {found['failed_steps']} failed"),
            ("a light step with its picture", f"{found['step_ms_p50']:.1f} ms (p95 {found['step_ms_p95']:.1f})"),
        ]
        print_table(("measured", "found"), rows, title=f"{count} worlds ({kind})")
        for reason in found["failures"]:
            click.echo(f"failed: {reason}")
    return 0 if found["healthy"] == count else 1


@click.command()
@_kind
@_count
@json_option
def recovery(kind: str, count: int, as_json: bool) -> int:
    """Kill all worlds of a pool at once, each with a task at work, and measure until all are at work again.

    Exit code 1 when a task was lost.
    """
    from gym_anything.measure.recovery_series import RecoveryRequest, measure_recovery

    with measuring() as on_news:
        found = measure_recovery(RecoveryRequest(kind, count), on_news).to_dict()
    if as_json:
        print_json(found)
    else:
        rows = [
            ("processes killed", found["killed_processes"]),
            (
                "every task at work on a fresh world",
                f"{found['back_s']:.2f} s (half of them {found['back_s_p50']:.2f})",
            ),
            ("tasks finished", f"{found['finished']} of {count}, in {found['attempts']} attempts"),
            ("tasks lost", found["lost"]),
        ]
        print_table(("counted", "found"), rows, title=f"{count} worlds ({kind}) killed at once")
    return 1 if found["lost"] else 0


@click.command()
@click.option("--replicas", type=click.IntRange(1), default=128, show_default=True)
@click.option("--episodes", type=click.IntRange(1), default=512, show_default=True)
@click.option("--step-s", type=click.FloatRange(0.001), default=0.01, show_default=True, help="What a world takes.")
@click.option(
    "--policy-times",
    type=click.FloatRange(0.1),
    default=10.0,
    show_default=True,
    help="What the policy takes, in steps.",
)
@click.option("--sigma", type=click.FloatRange(0), default=1.0, show_default=True, help="How long its tail is.")
@json_option
def utilisation(replicas: int, episodes: int, step_s: float, policy_times: float, sigma: float, as_json: bool) -> None:
    """Measure how busy worlds are under a slow policy: stepped in batches, and each episode alone.

    Worlds and policy are simulated: its latency has a lognormal distribution, the same draws for both ways.
    """
    from gym_anything.measure.utilisation_series import LENGTHS, UtilisationRequest, measure_utilisation

    request = UtilisationRequest(episodes, replicas, step_s=step_s, policy_times=policy_times, sigma=sigma)
    with measuring() as on_news:
        found = measure_utilisation(request, on_news).to_dict()
    if as_json:
        print_json(found)
        return
    rows = [
        (
            f"episodes of {lengths} length",
            f"{found[f'{lengths}_batch_busy_percent']:.2f} % in {found[f'{lengths}_batch_s']:.1f} s",
            f"{found[f'{lengths}_alone_busy_percent']:.2f} % in {found[f'{lengths}_alone_s']:.1f} s",
            f"{found[f'{lengths}_times']:.2f}",
        )
        for lengths in LENGTHS
    ]
    print_table(("worlds at work", "in batches", "each alone", "times"), rows, title=f"{replicas} simulated worlds")
