"""Tallies, comparisons and the report made of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gym_anything.benchmark.comparison import compare
from gym_anything.benchmark.experiment_report import report_experiment
from gym_anything.benchmark.report_tables import markdown, report_tables
from gym_anything.benchmark.result_row import ResultRow
from gym_anything.benchmark.results_reading import Experiment
from gym_anything.benchmark.tally import default_ks, grouped, tally
from gym_anything.errors import BenchmarkError
from tests.unit.benchmark.result_rows import row, runs_of

pytestmark = pytest.mark.unit


def experiment(rows: list[ResultRow], name: str = "exp", unfinished: tuple[str, ...] = ()) -> Experiment:
    return Experiment(Path("/results") / name, rows, unfinished)


def test_broken_and_interrupted_runs_are_counted_and_are_in_no_rate() -> None:
    rows = [*runs_of("a", 3, 1, 2), row("failed", "b", interrupted=True, duration_s=9.0)]
    found = tally(rows, (1, 2, 5))
    assert (found.runs, found.passed, found.failed, found.broken, found.interrupted) == (7, 3, 1, 2, 1)
    assert (found.tasks, found.judged_tasks, found.blames) == (2, 1, {"world": 2})
    assert (found.rate, found.mean_score, found.median_s, found.total_s) == (0.75, 80.0, 2.0, 21.0)
    assert found.interval is not None and round(found.interval.low, 4) == 0.3006
    assert [(each.k, each.value, each.tasks) for each in found.pass_at] == [(1, 0.75, 1), (2, 1.0, 1)]


def test_pass_at_k_is_the_mean_over_tasks_and_not_over_runs() -> None:
    rows = [*runs_of("a", 4, 0), *runs_of("b", 1, 1), *runs_of("c", 0, 2)]
    assert default_ks(rows) == (1, 2)
    found = tally(rows, (1, 2, 4))
    assert found.rate == 5 / 8
    assert [(each.value, each.tasks) for each in found.pass_at] == [(0.5, 3), (pytest.approx(2 / 3), 3), (1.0, 1)]


def test_cost_is_known_when_every_run_knows_its_own() -> None:
    priced = [row(task="a", usage={"cost_usd": 0.25}), row(task="b", usage={"cost_usd": 0.5})]
    assert tally(priced).cost_usd == 0.75
    assert tally([*priced, row(task="c")]).cost_usd is None
    assert tally([]).cost_usd is None


def test_what_was_spent_in_all_includes_the_tries_that_were_replaced() -> None:
    tried = row("broken", "a", usage={"cost_usd": 1.5}, finished_at="2025-12-31")
    rows = [tried, row(task="a", usage={"cost_usd": 0.25}), row(task="b", usage={"cost_usd": 0.5})]
    (found,) = report_experiment(experiment(rows)).models
    assert (found.total.cost_usd, found.spent_usd) == (0.75, 2.25)
    report = report_experiment(experiment(rows))
    assert report.as_dict()["models"][0]["spent_usd"] == 2.25
    assert "m spent 2.25 USD with what these took" in report_tables(report)[0].notes
    unknown = report_experiment(experiment([*rows, row("broken", "b", finished_at="2025-12-31")])).models[0]
    assert (unknown.total.cost_usd, unknown.spent_usd) == (0.75, None)


def test_groups_go_from_easy_to_hard_and_a_run_is_in_each_of_its_tags() -> None:
    rows = [row(task="a", difficulty="hard", tags=("x", "y")), row(task="b", difficulty="easy"), row(task="c", tags=())]
    assert list(grouped(rows, "difficulty")) == ["easy", "hard", "(not rated)"]
    assert {name: len(found) for name, found in grouped(rows, "tag").items()} == {
        "typing": 1,
        "x": 1,
        "y": 1,
        "(no tag)": 1,
    }


def test_nothing_at_all_is_a_report_too() -> None:
    found = report_experiment(experiment([], unfinished=("m/e/t/run_001",)))
    (table,) = report_tables(found)
    assert table.rows == [] and table.notes[0] == "no finished run" and "1 run without a result" in table.notes[1]
    assert tally([]).as_dict()["pass_rate"] is None


def test_a_comparison_is_made_task_by_task() -> None:
    first = [row("failed", f"t{number}", model="old") for number in range(10)] + runs_of("gone", 1, 0, model="old")
    second = [row("failed" if number < 2 else "passed", f"t{number}", model="new") for number in range(10)]
    found = compare(first, [*second, *runs_of("new", 1, 0), *runs_of("broken", 0, 0, 1)], ["difficulty"])
    whole, unrated = found.groups
    assert (whole.tasks, whole.better, whole.worse, whole.first, whole.second) == (10, 8, 0, 0.0, 0.8)
    assert whole.p == pytest.approx(2 / 256)
    assert (unrated.by, unrated.name, unrated.p) == ("difficulty", "(not rated)", whole.p)
    assert [key[2] for key in found.only_first] == ["gone"] and [key[2] for key in found.only_second] == ["new"]


def test_a_task_with_several_runs_counts_once_and_its_own_change_is_told_by_fisher() -> None:
    found = compare(runs_of("a", 0, 5), runs_of("a", 5, 0))
    (change,) = found.tasks
    assert (change.p, change.p_adjusted) == (pytest.approx(2 / 252), pytest.approx(2 / 252))
    assert found.groups[0].p == 1.0, "one task says nothing about tasks"


def test_a_task_whose_content_has_changed_is_named_and_not_compared() -> None:
    first, second = [row(task="a", task_digest="sha256:1")], [row("failed", "a", task_digest="sha256:2")]
    found = compare(first, second)
    assert (found.tasks, found.groups) == ((), ())
    assert [key[2] for key in found.changed] == ["a"] and found.only_first == ()
    assert compare(first, [row("failed", "a")]).tasks != (), "a run that does not know its content fits any"


def test_a_comparison_needs_one_model_on_each_side() -> None:
    both = experiment([row(model="x"), row("failed", model="y")])
    with pytest.raises(BenchmarkError, match="--model"):
        report_experiment(both, against=(experiment([row()], "other"), None))
    with pytest.raises(BenchmarkError, match="itself"):
        report_experiment(both, models=["x"], against=(both, "x"))
    with pytest.raises(BenchmarkError, match="no model 'z'"):
        report_experiment(both, models=["z"])
    found = report_experiment(both, models=["y"], against=(both, "x"))
    assert found.sides is not None and found.sides[0].label == "exp (x)"
    older = experiment([row(model="x"), row("failed", model="y")], "older")
    same = report_experiment(both, models=["y"], against=(older, None))
    assert same.sides is not None and same.sides[0].model == "y", "the one of our own name"


def test_a_report_is_json_and_markdown_and_names_cannot_break_its_tables() -> None:
    rows = [*runs_of("a|b", 1, 1, model="m<x>"), *runs_of("c", 0, 2, 1, model="n")]
    found = report_experiment(experiment(rows), by=("task",), against=None)
    document = json.loads(json.dumps(found.as_dict()))
    assert [model["total"]["pass_rate"] for model in document["models"]] == [0.5, 0.0]
    assert document["models"][0]["groups"][0]["name"] == "notes/a|b" and document["comparison"] is None
    lines = markdown(report_tables(found)).splitlines()
    assert "## exp" in lines and any("m\\<x\\>" in line and "notes/a\\|b" in line for line in lines)
    tables = [line.replace("\\|", "") for line in lines if line.startswith("|")]
    assert {line.count("|") for line in tables[:4]} == {tables[0].count("|")}
    assert "broken and interrupted runs are in no rate and no mean" in lines


def test_the_comparisons_tables_say_what_it_found() -> None:
    before = experiment([row("failed", f"t{n}") for n in range(10)], "before")
    after = experiment([row(task=f"t{n}") for n in range(10)], "after")
    tables = report_tables(report_experiment(after, by=(), against=(before, None)))
    assert [table.title for table in tables] == ["after", "after (m) against before (m)", "tasks that changed"]
    assert "p = 0.0020 (exact paired permutation test by task): unlikely to be chance" in tables[1].notes
    assert tables[1].rows == [["all", "10", "0.0 %", "100.0 %", "+100.0", "10", "0", "0.0020"]]
    assert tables[2].rows[0] == ["notes/t0", "0 of 1", "1 of 1", "1.0000", "1.0000"]
