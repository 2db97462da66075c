"""``gym-anything bench disk|cost|scale``: what many worlds cost beyond themselves."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from gym_anything.cli.measuring import measuring
from gym_anything.cli.output import json_option, print_json, print_table


@click.command()
@click.option("--folder", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Where, on XFS or Btrfs.")
@click.option("--base-mib", type=click.IntRange(16), default=1024, show_default=True, help="Data in the base.")
@click.option("--count", type=click.IntRange(1), default=128, show_default=True, help="Disks that lie side by side.")
@json_option
def disk(folder: Path | None, base_mib: int, count: int, as_json: bool) -> None:
    """Measure what disks for replicas cost in time and space, beside full copies.

    Without --folder, and where no blocks are shared, root gets an XFS in a temporary file. Leaves nothing.
    """
    from gym_anything.measure.disk_series import DiskRequest, measure_disks

    with measuring() as on_news:
        found = measure_disks(DiskRequest(base_mib=base_mib, count=count, folder=folder), on_news).to_dict()
    if as_json:
        print_json(found)
        return
    rows = [
        ("one disk of shared blocks", f"{found['share_ms_p50']:.3f} ms"),
        ("one full copy", f"{found['copy_ms_p50']:,.0f} ms, {found['times_faster']:,.0f} × as long"),
        (f"{count} disks side by side", f"{found['all_ms']:.1f} ms, {found['all_mib']:.2f} MiB in all"),
        ("space saved against copies", f"{found['saved_percent']:.4f} %"),
        ("the same, each written to in 16 places", f"{found['saved_after_writes_percent']:.3f} %"),
    ]
    print_table(("measured", "found"), rows, title=f"a base of {base_mib} MiB")


@click.command()
@click.option("--cores", type=click.FloatRange(0, min_open=True), help="Of the server.  [default: this machine's]")
@click.option("--memory-gib", type=click.FloatRange(0, min_open=True), help="Of the server.  [default: this machine's]")
@click.option("--usd-per-day", type=click.FloatRange(0), required=True, help="What the server costs.")
@click.option("--mean-cores", type=click.FloatRange(0), default=0.05, show_default=True, help="Of one replica.")
@click.option("--peak-cores", type=click.FloatRange(0), default=1.0, show_default=True, help="Of one replica.")
@click.option(
    "--replica-mib", type=click.FloatRange(0, min_open=True), default=60.0, show_default=True, help="Its memory."
)
@click.option(
    "--shared-mib", type=click.FloatRange(0), default=1024.0, show_default=True, help="Memory that all share."
)
@json_option
def cost(
    cores: float | None,
    memory_gib: float | None,
    usd_per_day: float,
    mean_cores: float,
    peak_cores: float,
    replica_mib: float,
    shared_mib: float,
    as_json: bool,
) -> None:
    """Compute what a replica costs a day on a server, and which of the OSGym paper's figures of cost reconcile.

    What a replica takes is what you measured of yours; the defaults are a forked machine that mostly waits for its
    policy.
    """
    from gym_anything.pool.cost import Demand, Server, pack, paper_claims
    from gym_anything.pool.host_reading import read_host

    here = read_host()
    server = Server("server", cores or here.cores, memory_gib or here.memory_mib / 1024, usd_per_day)
    try:
        packing = pack(server, Demand(mean_cores, peak_cores, replica_mib / 1024, shared_mib / 1024))
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    claims = paper_claims()
    if as_json:
        found = {"replicas": packing.count, "bound_by": packing.bound_by}
        price = packing.usd_per_replica_day if packing.count else None
        paper = [asdict(claim) | {"agrees": claim.agrees} for claim in claims]
        print_json(asdict(server) | found | {"usd_per_replica_day": price, "paper": paper})
        return
    click.echo(
        f"{server.cores:g} cores, {server.memory_gib:.1f} GiB at {usd_per_day:g} USD a day hold {packing.count} "
        f"replicas (bound by {packing.bound_by})"
        + (f": {packing.usd_per_replica_day:.3f} USD each" if packing.count else "")
    )
    rows = [
        (claim.words, f"{claim.said:g}", f"{claim.computed:,.3g}", "yes" if claim.agrees else "no", claim.note)
        for claim in claims
    ]
    print_table(("the paper's figure", "said", "computed", "agree", "how"), rows)


@click.command()
@click.option("--counts", default="1,16,128,1024", show_default=True, metavar="N,…", help="Replicas of the pools.")
@click.option("--step-s", type=click.FloatRange(0.001), default=1.0, show_default=True, help="What a world takes.")
@click.option("--steps", type=click.IntRange(1), default=10, show_default=True, help="Of each replica.")
@click.option(
    "--shards",
    type=click.IntRange(0),
    help="Processes that replicas live in; 0: this one.  [default: one for each core, or for 32 replicas]",
)
@json_option
def scale(counts: str, step_s: float, steps: int, shards: int | None, as_json: bool) -> None:
    """Measure what a pool costs beyond its worlds, from one replica to a thousand. The worlds are simulated."""
    from gym_anything.measure.pool_series import ScaleRequest, measure_scale

    try:
        wanted = [int(word) for word in counts.split(",")]
    except ValueError:
        raise click.UsageError(f"--counts are whole numbers like 1,16,128, not {counts!r}") from None
    if min(wanted) < 1:
        raise click.UsageError("a pool has at least one replica")
    with measuring() as on_news:
        found = [one.to_dict() for one in measure_scale(wanted, ScaleRequest(step_s, steps, shards), on_news)]
    if as_json:
        print_json({"step_s": step_s, "steps": steps, "pools": found})
        return
    headings = ("replicas", "shards", "ready", "check-out p50", "added p50", "p99", "in a batch", "CPU", "efficiency")
    rows = [
        (
            one["count"],
            one["shards"],
            f"{one['ready_s']:.2f} s",
            f"{one['check_out_ms_p50']:.3f} ms",
            f"{one['added_ms_p50']:.2f} ms",
            f"{one['added_ms_p99']:.2f} ms",
            f"{one['batch_added_ms_p50']:.1f} ms",
            f"{one['cpu_ms_per_step']:.3f} ms",
            f"{one['efficiency']:.3f}",
        )
        for one in found
    ]
    print_table(headings, rows, title=f"simulated worlds, {step_s:g} s a step")


@click.command()
@click.option("--worlds", type=click.Choice(["simulated", "desktop", "vm"]), default="simulated", show_default=True)
@click.option("--episodes", type=click.IntRange(1), help="[default: 2000 simulated, 100 real ones]")
@click.option("--replicas", type=click.IntRange(1), help="[default: 64 simulated, 8 real ones]")
@click.option("--seed", type=int, default=1, show_default=True, help="Where chance begins.")
@json_option
def chaos(worlds: str, episodes: int | None, replicas: int | None, seed: int, as_json: bool) -> int:
    """Play episodes on a pool whose worlds fail in every way, and count what was lost or done twice.

    Local desktops and machines are killed, stopped, hung, slowed, starved of memory and of disk, lose answers, and die
    with their shard (as root, who can mount a small disk); a guest's kernel crashes. Exit code 1 when an episode was
    lost or wrong, an input applied twice, a world left.
    """
    from gym_anything.measure.chaos_series import ChaosRequest, measure_chaos
    from gym_anything.measure.real_chaos_series import RealChaosRequest, measure_real_chaos

    with measuring() as on_news:
        if worlds != "simulated":
            real = RealChaosRequest(worlds, episodes or 100, replicas=replicas or 8, seed=seed)
            found = measure_real_chaos(real, on_news).to_dict()
        else:
            request = ChaosRequest(episodes=episodes or 2000, replicas=replicas or 64, seed=seed)
            found = measure_chaos(request, on_news).to_dict()
    if as_json:
        print_json(found)
    else:
        kinds = ", ".join(f"{count} {name}" for name, count in sorted(found["fault_kinds"].items()))
        rows = [
            ("faults", f"{found['faults']} ({kinds})"),
            ("episodes", f"{found['episodes']}, in {found['attempts']} attempts"),
            ("episodes lost", found["lost"]),
            ("episodes with a wrong result", found["wrong"]),
            ("inputs applied twice", found["twice"]),
            ("attempts that broke in worlds left alone", found["disturbed"]),
            ("worlds left", found["alive"]),
        ]
        print_table(("counted", "found"), rows, title=f"worlds that fail ({worlds})")
    return 1 if any(found[key] for key in ("lost", "wrong", "twice", "disturbed", "alive")) else 0
