"""What a set of runs comes to: totals and rows, for tables and JSON. Of each record only a row is kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from gym_anything.benchmark.result_row import ResultRow, row_of
from gym_anything.benchmark.results import FinishedRun
from gym_anything.benchmark.tally import known_total

HEADINGS = ("environment", "task", "result", "score", "steps", "time", "remark")
_REMARK_CHARACTERS = 160


@dataclass(frozen=True)
class Report:
    """Runs and what they come to.

    Attributes:
        runs: those that were there already, then those played, in the order of the plan.
        already: how many were there already.
        problems: what was asked for and could not be planned.
        remarks: what is odd about the benchmark and stopped nothing.
        cut_off: episodes that were begun or planned and have no result, because the run was stopped.
        replaced: tries that one of ``runs`` replaced, now or earlier; only ``spent_usd`` knows of them.
    """

    runs: Sequence[FinishedRun]
    already: int = 0
    problems: Sequence[str] = ()
    remarks: Sequence[str] = ()
    cut_off: int = 0
    replaced: Sequence[ResultRow] = ()

    @cached_property
    def facts(self) -> Sequence[ResultRow]:
        """One row for each run."""
        return [row_of(run.run_dir.name, "", run.record) for run in self.runs]

    def totals(self) -> dict[str, Any]:
        """Return counts and means. Broken runs are in no rate and no mean: they say nothing about the agent.

        Tokens and cost are None unless every run knows its own, as in ``tally``; ``spent_usd`` is the cost with that of
        the tries that were replaced.
        """
        count = Counter(row.status for row in self.facts)
        judged = [row for row in self.facts if row.status != "broken"]
        blames = Counter(row.blame for row in self.facts if row.status == "broken")
        return {
            "runs": len(self.runs),
            "passed": count["passed"],
            "failed": count["failed"],
            "broken": count["broken"],
            "broken_by_blame": {str(blame): number for blame, number in sorted(blames.items(), key=str)},
            "pass_rate": round(count["passed"] / len(judged), 4) if judged else None,
            "mean_score": round(sum(row.score for row in judged) / len(judged), 2) if judged else None,
            "steps": sum(row.steps for row in self.facts),
            "duration_s": round(sum(row.duration_s for row in self.facts), 3),
            "input_tokens": known_total(row.input_tokens for row in self.facts),
            "output_tokens": known_total(row.output_tokens for row in self.facts),
            "cost_usd": _dollars(row.cost_usd for row in self.facts),
            "spent_usd": _dollars(row.cost_usd for row in (*self.facts, *self.replaced)),
            "replaced": len(self.replaced),
            "already": self.already,
            "cut_off": self.cut_off,
        }

    def rows(self) -> list[tuple[str, ...]]:
        """Return a table's rows under ``HEADINGS``."""
        return [_cells(row) for row in self.facts]

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "totals": self.totals(),
            "problems": list(self.problems),
            "remarks": list(self.remarks),
            "episodes": [episode_dict(run) for run in self.runs],
        }

    def summary_line(self) -> str:
        """Return the totals as one sentence."""
        totals = self.totals()
        parts = [f"{totals['passed']} passed, {totals['failed']} failed, {totals['broken']} broken"]
        if totals["broken"]:
            blames = ", ".join(f"{blame} {number}" for blame, number in totals["broken_by_blame"].items())
            parts[0] += f" ({blames})"
        if totals["pass_rate"] is not None:
            parts.append(f"pass rate {totals['pass_rate']:.0%}")
        if self.already:
            parts.append(f"{self.already} of them were there already")
        if self.cut_off:
            parts.append(f"{self.cut_off} not played")
        if totals["spent_usd"]:
            tried = f" with what {len(self.replaced)} replaced took" if self.replaced else ""
            parts.append(f"{totals['spent_usd']:.2f} USD{tried}")
        return "; ".join(parts)


def episode_dict(run: FinishedRun) -> dict[str, Any]:
    """Return one run's JSON form: its record and its folder, with ``env``, ``task`` and ``status`` on top."""
    record = run.record
    return {
        "env": record.request.get("env"),
        "task": record.request.get("task"),
        "status": record.outcome.status,
        "run_dir": str(run.run_dir),
        **record.to_dict(),
    }


def replaced_tries(runs: Sequence[FinishedRun], rows: Sequence[ResultRow], exp_dir: Path) -> list[ResultRow]:
    """Return the tries of these runs' attempts that are not among them: broken ones that were tried again.

    Args: rows: all results of the experiment, whose folder ``exp_dir`` is.
    """
    there = {str(run.run_dir.relative_to(exp_dir)) for run in runs}
    keys = {row.key for row in rows if row.run in there}
    return [row for row in rows if row.key in keys and row.run not in there]


def _dollars(values: Iterable[float | None]) -> float | None:
    total = known_total(values)
    return None if total is None else round(total, 6)


def _cells(row: ResultRow) -> tuple[str, ...]:
    is_broken = row.status == "broken"
    return (
        row.env,
        row.task + (f" #{row.attempt + 1}" if row.attempt else ""),
        row.status + (f" ({row.blame})" if is_broken else ""),
        "" if is_broken else f"{row.score:g}",
        str(row.steps),
        f"{row.duration_s:.1f} s",
        short_remark(row.story, row.reason),
    )


def short_remark(story: str, reason: str | None) -> str:
    """Return a story on one line, shortened, with why the episode ended when a limit ended it."""
    first = " ".join(story.split())
    if len(first) > _REMARK_CHARACTERS:
        first = first[: _REMARK_CHARACTERS - 1] + "…"
    limit = f"[{reason}] " if reason in ("timeout", "max_steps", "deadline", "stopped") else ""
    return limit + first
