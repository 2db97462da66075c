"""Probes side by side within one bound, and what is made of their answers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym_anything._util.deadline import Deadline
from gym_anything.doctor.check import Check, Probe, Report
from gym_anything.doctor.examination import examine
from gym_anything.doctor.probes import parties
from gym_anything.errors import MissingDependency

pytestmark = pytest.mark.unit


def fine(name: str) -> Probe:
    return Probe(name, lambda _: [Check(name, True, "seen")])


def test_rows_come_in_the_order_of_the_probes_whatever_order_they_finish_in() -> None:
    first_may_end = threading.Event()

    def first(_: Deadline) -> Iterable[Check]:
        assert first_may_end.wait(20)
        return [Check("first", True, ""), Check("first:more", True, "")]

    def second(_: Deadline) -> Iterable[Check]:
        first_may_end.set()
        return [Check("second", True, "")]

    report = examine([Probe("first", first), Probe("second", second)], limit_s=20)
    assert [check.name for check in report.checks] == ["first", "first:more", "second"]


def test_a_probe_that_hangs_is_a_failed_row_and_delays_nobody() -> None:
    never = threading.Event()

    def hang(_: Deadline) -> Iterable[Check]:
        never.wait(60)
        return []

    began = time.monotonic()
    report = examine([Probe("stuck", hang, required=True), fine("other")], limit_s=0.2)
    never.set()
    assert time.monotonic() - began < 10
    stuck, other = report.checks
    assert (stuck.ok, stuck.required, other.ok) == (False, True, True)
    assert "0.2 s" in stuck.detail and stuck.fix
    assert not report.ok


def test_a_probe_that_breaks_is_a_failed_row_with_the_fix_its_error_knows() -> None:
    def broken(_: Deadline) -> Iterable[Check]:
        yield Check("lost", True, "rows before the failure are not trusted")
        raise MissingDependency("no compiler", detail={"fix": "apt-get install gcc"})

    [check] = examine([Probe("broken", broken)]).checks
    assert (check.name, check.ok, check.fix) == ("broken", False, "apt-get install gcc")
    assert "no compiler" in check.detail


def test_a_probes_own_deadline_ends_before_the_examinations() -> None:
    seen: list[float] = []

    def look(deadline: Deadline) -> Iterable[Check]:
        seen.append(deadline.remaining())
        return []

    examine([Probe("look", look)], limit_s=10)
    assert 8 < seen[0] <= 9


CHECKS = st.lists(
    st.builds(Check, st.sampled_from(["a", "b"]), st.booleans(), st.text(), st.booleans(), st.text()), max_size=6
)


@given(CHECKS)
def test_only_required_rows_decide_and_every_failure_with_a_fix_shows_it(checks: list[Check]) -> None:
    report = Report(tuple(checks))
    document = report.to_dict()
    assert document["ok"] == (not any(check.required and not check.ok for check in checks))
    for row, check in zip(document["checks"], checks, strict=True):
        assert {"name", "ok", "detail", "required"} <= set(row) <= {"name", "ok", "detail", "required", "fix"}
        assert ("fix" in row) == (not check.ok and check.fix != "")


def test_one_usable_runner_makes_a_world() -> None:
    rows = [Check("runner:a", False, "no daemon", fix="start it"), Check("runner:b.c:D", True, "")]
    check = parties.world_check(rows)
    assert (check.ok, check.required) == (True, True)
    assert "b.c:D" in check.detail


@pytest.mark.parametrize("rows", [[], [Check("runner:a", False, "no daemon", fix="start it")]])
def test_without_a_usable_runner_the_reasons_and_a_fix_are_given(rows: list[Check]) -> None:
    check = parties.world_check(rows)
    assert (check.ok, check.required) == (False, True)
    assert ("no daemon" in check.detail and check.fix == "start it") or "none is installed" in check.detail
    assert check.fix


def test_checks_are_values() -> None:
    with pytest.raises(AttributeError):
        Check("a", True, "").ok = False  # type: ignore[misc]
    probe: Callable[[Deadline], Iterable[Check]] = fine("x").run
    assert next(iter(probe(Deadline.never()))).name == "x"
