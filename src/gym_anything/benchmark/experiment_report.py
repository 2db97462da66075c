"""The report of an experiment, as data: tallies of each model, group by group, and the comparison with another one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gym_anything.benchmark.comparison import Comparison, compare
from gym_anything.benchmark.rates import CONFIDENCE
from gym_anything.benchmark.result_row import ResultRow
from gym_anything.benchmark.results_reading import Experiment
from gym_anything.benchmark.tally import Tally, default_ks, grouped, known_total, tally
from gym_anything.errors import BenchmarkError
from gym_anything.specs.near_miss import suggestion

SCHEMA = 1
DEFAULT_GROUPS = ("env", "difficulty", "tag")


@dataclass(frozen=True, slots=True)
class ModelReport:
    """One model's results.

    Attributes:
        model: as the results folder has it.
        total: of all its runs.
        groups: by the grouping's name, then by the group's.
        spent_usd: of all it did, tries that were replaced and are in no number included; None unless every one knows.
    """

    model: str
    total: Tally
    groups: Mapping[str, Mapping[str, Tally]]
    spent_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison: an experiment's name and a model of it."""

    exp: str
    model: str

    @property
    def label(self) -> str:
        """For people."""
        return f"{self.exp} ({self.model})"


@dataclass(frozen=True, slots=True)
class ExperimentReport:
    """What an experiment comes to.

    Attributes:
        exp: its name.
        confidence: of the intervals.
        models: in order of their names.
        tries: finished runs that a later try of the same attempt replaced; in no number but ``spent_usd``.
        unfinished: runs without a result: running now, or cut off.
        sides, comparison: with another experiment or model; None without.
    """

    exp: str
    confidence: float
    models: Sequence[ModelReport]
    tries: int = 0
    unfinished: int = 0
    sides: tuple[Side, Side] | None = None
    comparison: Comparison | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        compared = None
        if self.sides is not None and self.comparison is not None:
            first, second = ({"exp": side.exp, "model": side.model} for side in self.sides)
            compared = {"first": first, "second": second, **self.comparison.as_dict()}
        return {
            "schema": SCHEMA,
            "exp": self.exp,
            "confidence": self.confidence,
            "tries": self.tries,
            "unfinished": self.unfinished,
            "models": [
                {
                    "model": each.model,
                    "total": each.total.as_dict(),
                    "spent_usd": None if each.spent_usd is None else round(each.spent_usd, 6),
                    "groups": [
                        {"by": by, "name": name, **found.as_dict()}
                        for by, group in each.groups.items()
                        for name, found in group.items()
                    ],
                }
                for each in self.models
            ],
            "comparison": compared,
        }


def report_experiment(
    experiment: Experiment,
    *,
    models: Sequence[str] = (),
    by: Sequence[str] = DEFAULT_GROUPS,
    ks: Sequence[int] = (),
    confidence: float = CONFIDENCE,
    against: tuple[Experiment, str | None] | None = None,
) -> ExperimentReport:
    """Return the report of an experiment.

    Args:
        models: only these; none means all.
        by: names of ``tally.GROUPINGS``.
        ks: for pass@k; none means 1 and the number of runs that every task has.
        against: the experiment to compare with (its results are the first side, ours the second), and which model of it
            (None: its only one, or the one of our own name).
    Raises: BenchmarkError for a model that did not play, or a comparison that is of several models.
    """
    counted = experiment.counted()
    rows = rows_of_models(experiment.name, counted, models)
    ks = tuple(sorted(set(ks))) or default_ks(rows)
    reports = []
    for model in dict.fromkeys(sorted(row.model for row in rows)):
        own = [row for row in rows if row.model == model]
        groups = {
            name: {group: tally(found, ks, confidence) for group, found in grouped(own, name).items()} for name in by
        }
        spent_usd = known_total(row.cost_usd for row in experiment.rows if row.model == model)
        reports.append(ModelReport(model, tally(own, ks, confidence), groups, spent_usd))
    sides, comparison = None, None
    if against is not None:
        sides, comparison = _compared(experiment.name, rows, *against, by=by)
    replaced, unfinished = len(experiment.rows) - len(counted), len(experiment.unfinished)
    return ExperimentReport(experiment.name, confidence, reports, replaced, unfinished, sides, comparison)


def rows_of_models(exp: str, rows: Sequence[ResultRow], models: Iterable[str]) -> list[ResultRow]:
    """Return the rows of these models; none means all. Raises: BenchmarkError for one that did not play."""
    wanted, known = list(models), sorted({row.model for row in rows})
    for model in wanted:
        if model not in known:
            fix = suggestion(model, known, "there are")
            raise BenchmarkError(f"no model {model!r} played in experiment {exp}; {fix}", detail={"fix": fix})
    return [row for row in rows if not wanted or row.model in wanted]


def _compared(
    exp: str, rows: Sequence[ResultRow], other: Experiment, other_model: str | None, *, by: Sequence[str]
) -> tuple[tuple[Side, Side], Comparison]:
    mine = _only_model(exp, rows, "--model")
    other_rows = other.counted()
    if other_model is None and mine in {row.model for row in other_rows} and other.name != exp:
        other_model = mine
    theirs = rows_of_models(other.name, other_rows, [other_model] if other_model else [])
    sides = Side(other.name, _only_model(other.name, theirs, "--against-model")), Side(exp, mine)
    if sides[0] == sides[1]:
        raise BenchmarkError(f"{sides[0].label} is compared with itself; name another by --against-model")
    return sides, compare(theirs, rows, [name for name in by if name != "task"])


def _only_model(exp: str, rows: Sequence[ResultRow], option: str) -> str:
    models = sorted({row.model for row in rows})
    if len(models) == 1:
        return models[0]
    if not models:
        raise BenchmarkError(f"experiment {exp} has no finished run to compare")
    fix = f"choose one by {option}"
    raise BenchmarkError(f"experiment {exp} has several models ({', '.join(models)}); {fix}", detail={"fix": fix})
