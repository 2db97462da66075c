"""What a replica costs, and what the paper's figures come to."""

from __future__ import annotations

import json
import math

import pytest
from click.testing import CliRunner

from gym_anything.cli.main import cli
from gym_anything.pool.cost import Demand, Server, pack, paper_claims

pytestmark = pytest.mark.unit


def test_one_replica_needs_its_peak_and_many_little_more_than_their_means() -> None:
    demand = Demand(mean_cores=0.5, peak_cores=4, memory_gib=1)
    assert demand.cores(1) == 4
    assert demand.cores(64) == 64 * 0.5 + 3.5 * 8
    assert demand.cores(10_000) / 10_000 == pytest.approx(0.5, abs=0.04)


@pytest.mark.parametrize(
    ("server", "count", "bound_by"),
    [
        (Server("much memory", 10, 1000, 20), 30, "cores"),  # 30 * 0.2 + 0.69 * sqrt(30) = 9.78; 31 need 10.04
        (Server("many cores", 1000, 20, 20), 9, "memory"),  # 20 * 0.9 / 2
        (Server("nothing", 0.1, 1, 20), 0, "memory"),
    ],
)
def test_packing_ends_where_the_first_thing_is_used_up(server: Server, count: int, bound_by: str) -> None:
    demand = Demand(mean_cores=0.2, peak_cores=0.89, memory_gib=2)
    packing = pack(server, demand)
    assert (packing.count, packing.bound_by) == (count, bound_by)
    assert demand.cores(packing.count) <= server.cores + 1e-6
    assert packing.usd_per_replica_day == (20 / count if count else math.inf)


def test_shared_memory_is_paid_once() -> None:
    server = Server("s", 1e6, 20, 1)
    assert pack(server, Demand(0.1, 1, 0.5, shared_gib=8)).count == (18 - 8) / 0.5


@pytest.mark.parametrize("bad", [(2, 1, 1), (-1, 1, 1), (0, 0, 1), (0, 1, 0)])
def test_demands_that_make_no_sense_are_refused(bad: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="takes memory"):
        Demand(*bad)


def test_the_papers_figures_and_which_do_not_reconcile() -> None:
    claims = {claim.words.partition(",")[0]: claim for claim in paper_claims()}
    first, *_ = claims.values()
    assert first.said == pytest.approx(2.34, abs=0.01) and first.agrees
    assert claims["a replica's day at K = 64"].agrees
    assert [claim.agrees for claim in paper_claims()] == [True, True, True, False, False, False]


def test_by_the_command_line() -> None:
    args = ["bench", "cost", "--cores", "10", "--memory-gib", "1000", "--usd-per-day", "30", "--mean-cores", "0.2"]
    args += ["--peak-cores", "0.89", "--replica-mib", "2048", "--shared-mib", "0"]
    found = json.loads(CliRunner().invoke(cli, [*args, "--json"]).stdout)
    assert (found["replicas"], found["bound_by"], found["usd_per_replica_day"]) == (30, "cores", 1.0)
    text = CliRunner().invoke(cli, args).stdout
    assert "hold 30 replicas (bound by cores): 1.000 USD each" in text
    wrong = CliRunner().invoke(cli, [*args, "--peak-cores", "0.1"])
    assert wrong.exit_code != 0 and "at its peak at least as many cores" in wrong.output
