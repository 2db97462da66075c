"""What the page of figures calls met."""

from __future__ import annotations

import pytest
from tools.reference_figures import CLAIMS, FIGURES, Row, keys_of

pytestmark = pytest.mark.unit

ROW = Row("a frame", "≤ 1 ms", "desktop", "{*_frame_ms_p50} ms (p95 {*_frame_ms_p95})", 1, bare=True)


def summary(**changes: float) -> dict[str, float]:
    kinds = {"frame_ms_p50": 0.5, "frame_ms_p95": 9.0, "frame_ms_times_bare": 2.0}
    return {f"{server}_{kind}": value for server in ("xvnc", "xvfb") for kind, value in kinds.items()} | changes


def test_within_the_bound_it_is_met_however_the_bare_mechanism_does() -> None:
    assert ROW.met(summary()) is True
    assert ROW.value(summary()) == "0.5 ms (p95 9), 2 × bare Xvnc; 0.5 ms (p95 9), 2 × bare Xvfb"


@pytest.mark.parametrize(("times", "met"), [(1.15, True), (1.16, False)])
def test_above_the_bound_it_is_met_as_near_to_the_bare_mechanism_as_was_asked(times: float, met: bool) -> None:
    """Each server by itself: one cannot lend to the other."""
    assert ROW.met(summary(xvfb_frame_ms_p50=1.2, xvfb_frame_ms_times_bare=times)) is met


def test_without_the_comparison_it_is_not_measured() -> None:
    assert ROW.is_measured(summary())
    assert not ROW.is_measured({key: value for key, value in summary().items() if "bare" not in key})


def test_only_what_the_machine_bounds_is_compared() -> None:
    assert {row.record for row in FIGURES if row.bare} == {"desktop", "qemu", "qemu_frames"}


def test_a_claim_about_a_thousand_replicas_says_in_how_many_processes() -> None:
    (ours,) = [claim[-1] for claim in CLAIMS if claim[2] == "pool_scale"]
    assert "at_1024_shards" in keys_of(ours) and "one process" not in ours
