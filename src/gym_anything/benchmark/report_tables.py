"""A report's tables, for people: as headings and rows, and as Markdown. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gym_anything.benchmark.comparison import Comparison, GroupChange, TaskChange
from gym_anything.benchmark.experiment_report import ExperimentReport, Side
from gym_anything.benchmark.tally import Tally

_SURE = 0.05
_TASKS_SHOWN = 40


@dataclass(frozen=True, slots=True)
class ReportTable:
    """One table.

    Attributes:
        title: what it is.
        headings, rows: text; the first column (or two) are names, the others numbers.
        notes: sentences below it.
    """

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()


def report_tables(report: ExperimentReport) -> list[ReportTable]:
    """Return all tables of a report."""
    several = len(report.models) > 1
    ks = sorted({each.k for model in report.models for each in model.total.pass_at})
    priced = any(model.total.cost_usd is not None for model in report.models)
    columns = _headings(report.confidence, ks, priced=priced)
    rows = [[model.model, *_cells(model.total, ks, priced=priced)] for model in report.models]
    tables = [ReportTable(report.exp, ["model", *columns], rows, _notes(report))]
    for by in report.models[0].groups if report.models else ():
        rows = []
        for model in report.models:
            for name, found in model.groups[by].items():
                rows.append([*([model.model] if several else []), name, *_cells(found, ks, priced=priced)])
        tables.append(ReportTable(f"by {by}", [*(["model"] if several else []), by, *columns], rows))
    if report.sides is not None and report.comparison is not None:
        tables += _comparison_tables(report.sides, report.comparison)
    return tables


def markdown(tables: Iterable[ReportTable]) -> str:
    """Return tables as Markdown that GitHub renders; names cannot break a table or add markup."""
    parts = []
    for table in tables:
        numbers = sum(heading in _NAMES for heading in table.headings)
        rule = ["---" if column < numbers else "---:" for column in range(len(table.headings))]
        lines = [f"## {_escaped(table.title)}", ""]
        if table.rows:
            lines += [_line(map(_escaped, table.headings)), _line(rule)]
            lines += [_line(map(_escaped, row)) for row in table.rows]
        lines += [line for note in table.notes for line in ("", _escaped(note))]
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


# --- cells -------------------------------------------------------------------------------------------------------

_NAMES = {"model", "env", "difficulty", "tag", "task", "split", "runner", "group"}


def _headings(confidence: float, ks: Sequence[int], *, priced: bool) -> list[str]:
    more = [f"pass@{k}" for k in ks if k > 1]
    counts = ["tasks", "runs", "passed", "failed", "broken", "pass rate", f"{100 * confidence:g} % interval"]
    return [*counts, *more, "score", "steps", "median time", *(["USD"] if priced else [])]


def _cells(found: Tally, ks: Sequence[int], *, priced: bool) -> list[str]:
    at = {each.k: each for each in found.pass_at}
    blames = ", ".join(f"{blame} {count}" for blame, count in found.blames.items())
    interval = found.interval
    cells = [
        str(found.tasks),
        str(found.runs) + (f" ({found.interrupted} interrupted)" if found.interrupted else ""),
        str(found.passed),
        str(found.failed),
        str(found.broken) + (f" ({blames})" if blames else ""),
        _percent(found.rate),
        f"{_percent(interval.low)} to {_percent(interval.high)}" if interval else "",
    ]
    for k in ks:
        if k > 1:
            all_tasks = k in at and at[k].tasks == found.judged_tasks
            cells.append((_percent(at[k].value) + ("" if all_tasks else f" ({at[k].tasks} tasks)")) if k in at else "")
    cells += [
        "" if found.mean_score is None else f"{found.mean_score:.1f}",
        "" if found.mean_steps is None else f"{found.mean_steps:.1f}",
        "" if found.median_s is None else f"{found.median_s:.1f} s",
    ]
    if priced:
        cells.append("" if found.cost_usd is None else f"{found.cost_usd:.2f}")
    return cells


def _notes(report: ExperimentReport) -> list[str]:
    notes = []
    if not report.models:
        notes.append("no finished run")
    if any(model.total.broken or model.total.interrupted for model in report.models):
        notes.append("broken and interrupted runs are in no rate and no mean")
    if report.tries:
        notes.append(f"{_count(report.tries, 'run')} left out: tried again later")
        notes += [
            f"{model.model} spent {model.spent_usd:.2f} USD with what these took"
            for model in report.models
            if model.spent_usd
        ]
    if report.unfinished:
        notes.append(f"{_count(report.unfinished, 'run')} without a result: running now, or cut off")
    return notes


def _comparison_tables(sides: tuple[Side, Side], found: Comparison) -> list[ReportTable]:
    title = f"{sides[1].label} against {sides[0].label}"
    notes = []
    for keys, words in (
        (found.only_first, f"only in {sides[0].label}"),
        (found.only_second, f"only in {sides[1].label}"),
        (found.changed, "played with different contents"),
    ):
        if keys:
            named = ", ".join(f"{env}/{task}" for _, env, task in keys[:5]) + (" …" if len(keys) > 5 else "")
            notes.append(f"not compared, {words}: {_count(len(keys), 'task')} ({named})")
    if not found.groups:
        return [ReportTable(title, (), (), ["no task has results that say something on both sides", *notes])]
    whole = found.groups[0]
    sure = "unlikely to be chance" if whole.p < _SURE else "may well be chance"
    notes = [f"p = {_p(whole.p)} ({whole.test}): {sure}", *notes]
    headings = ["group", "tasks", "before", "after", "difference", "better", "worse", "p"]
    tables = [ReportTable(title, headings, [_group_row(each) for each in found.groups], notes)]
    moved = sorted((each for each in found.tasks if each.difference), key=lambda each: (each.p, each.task))
    if moved:
        tables.append(_task_table(moved, len(found.tasks)))
    return tables


def _task_table(moved: Sequence[TaskChange], compared: int) -> ReportTable:
    rows = [
        [
            f"{each.task[1]}/{each.task[2]}",
            f"{each.first[0]} of {each.first[1]}",
            f"{each.second[0]} of {each.second[1]}",
            _p(each.p),
            _p(each.p_adjusted),
        ]
        for each in moved[:_TASKS_SHOWN]
    ]
    notes = [f"p: Fisher's exact test on a task's runs; adjusted (Holm) for {compared} tasks compared"]
    if len(moved) > _TASKS_SHOWN:
        notes.append(f"and {len(moved) - _TASKS_SHOWN} more (--json has all)")
    return ReportTable("tasks that changed", ["task", "before", "after", "p", "adjusted p"], rows, notes)


def _group_row(change: GroupChange) -> list[str]:
    return [
        change.name if change.by == change.name else f"{change.by} {change.name}",
        str(change.tasks),
        _percent(change.first),
        _percent(change.second),
        f"{100 * (change.second - change.first):+.1f}",
        str(change.better),
        str(change.worse),
        _p(change.p),
    ]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _p(value: float) -> str:
    return "< 0.0001" if value < 0.0001 else f"{value:.4f}"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f} %"


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


_MARKUP: Mapping[int, str] = {
    **{ord(letter): f"\\{letter}" for letter in "\\`*_[]<>|~"},
    ord("\n"): " ",
    ord("\r"): " ",
}


def _escaped(text: str) -> str:
    return text.translate(dict(_MARKUP))
