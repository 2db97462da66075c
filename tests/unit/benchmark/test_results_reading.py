"""Reading results: the index follows the folders whatever happened to it, and one run counts for each key."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gym_anything.benchmark.episode_record import EpisodeRecord
from gym_anything.benchmark.episode_request import EpisodeRequest
from gym_anything.benchmark.results import INFO_FILE, ResultsFolder, finish_run
from gym_anything.benchmark.results_index import INDEX_FILE, ResultsIndex
from gym_anything.benchmark.results_reading import experiments, find_experiment, read_experiment
from gym_anything.episode.outcome import Outcome
from gym_anything.errors import BenchmarkError

pytestmark = pytest.mark.unit
ASKED = EpisodeRequest(env_dir="/e", env="notes", task="a", agent="oracle", model="org/model", seed=3)


@pytest.fixture
def results(tmp_path: Path) -> ResultsFolder:
    return ResultsFolder(tmp_path, "exp one")


def add(results: ResultsFolder, outcome: Outcome, finished_at: str = "", *, task: str = "a", **more: Any) -> Path:
    asked = replace(ASKED, task=task, attempt=more.pop("attempt", 0))
    run_dir = results.new_run_dir(asked)
    finish_run(run_dir, EpisodeRecord(asked.public(), outcome, finished_at=finished_at, **more))
    return run_dir


def test_a_row_has_what_a_list_needs(results: ResultsFolder) -> None:
    usage = {"input_tokens": 100, "output_tokens": 20, "cost_usd": 0.5}
    add(
        results, Outcome.passed(80, "well done"), "2030-01-01", steps=7, usage=usage,
        judge_usage={**usage, "cost_usd": 0.25}, memory={"whole_mib": 123.0}, tags=("drag", "long"), difficulty="hard",
        timings={"agent_s": 1.5}, world_s=9.0, tries=2,
    )  # fmt: skip
    (row,) = read_experiment(results.exp_dir).rows
    assert row.run == "org--model/notes/a/run_001"
    assert row.key == ("org/model", "notes", "a", 3, 0)
    assert (row.status, row.score, row.story, row.steps, row.tries) == ("passed", 80, "well done", 7, 2)
    assert (row.input_tokens, row.output_tokens, row.cost_usd, row.peak_mib) == (200, 40, 0.75, 123.0)
    assert (row.tags, row.difficulty, row.phase_s, row.world_s) == (("drag", "long"), "hard", {"agent_s": 1.5}, 9.0)
    assert json.loads(json.dumps(row.as_dict()))["tags"] == ["drag", "long"]


def test_what_is_not_known_is_none_and_not_nothing(results: ResultsFolder) -> None:
    add(results, Outcome.failed(0))
    add(results, Outcome.failed(0), task="b", usage={"input_tokens": 5, "output_tokens": 1, "cost_usd": None})
    free, unpriced = read_experiment(results.exp_dir).rows
    assert (free.input_tokens, free.cost_usd, free.peak_mib) == (None, None, None)
    assert (unpriced.input_tokens, unpriced.cost_usd) == (5, None)


def test_a_run_whose_world_never_came_up_has_cost_nothing(results: ResultsFolder) -> None:
    """Else one world that hangs in its start, and whose process told nothing, would leave no sum of a run known."""
    for phase in ("load", "reset", "agent"):
        add(results, Outcome.broken("world", "no boot"), task=phase, broke_in=phase)
    asked, *rows = read_experiment(results.exp_dir).rows
    assert (asked.task, asked.cost_usd) == ("agent", None)
    assert [(row.task, row.cost_usd, row.input_tokens) for row in rows] == [("load", 0, 0), ("reset", 0, 0)]


def test_the_index_follows_the_folders(results: ResultsFolder) -> None:
    first = add(results, Outcome.passed(100))
    assert [row.status for row in read_experiment(results.exp_dir).rows] == ["passed"]
    begun = results.new_run_dir(ASKED)
    add(results, Outcome.failed(0), task="b")
    experiment = read_experiment(results.exp_dir)
    assert [row.run for row in experiment.rows] == ["org--model/notes/a/run_001", "org--model/notes/b/run_001"]
    assert experiment.unfinished == ("org--model/notes/a/run_002",)
    (first / INFO_FILE).unlink()
    finish_run(begun, EpisodeRecord(ASKED.public(), Outcome.failed(5)))
    experiment = read_experiment(results.exp_dir)
    assert [(row.run[-7:], row.score) for row in experiment.rows] == [("run_002", 5), ("run_001", 0)]
    assert experiment.unfinished == ("org--model/notes/a/run_001",)


def test_only_what_is_new_is_read(results: ResultsFolder) -> None:
    add(results, Outcome.passed(100))
    with ResultsIndex(results.exp_dir) as index:
        assert index.refresh().added == 1
        assert index.refresh().added == 0
        add(results, Outcome.passed(100), task="b")
        found = index.refresh()
        assert (found.finished, found.added, found.removed) == (2, 1, 0)
        assert index.rebuild().added == 2


@pytest.mark.parametrize("spoil", ["missing", "no database", "old", "empty"])
def test_a_spoilt_index_is_made_again(results: ResultsFolder, spoil: str) -> None:
    add(results, Outcome.passed(100))
    before = read_experiment(results.exp_dir).rows
    path = results.exp_dir / INDEX_FILE
    if spoil == "old":
        with sqlite3.connect(path) as db:
            db.execute("DROP TABLE runs")
            db.execute("CREATE TABLE runs (something)")
            db.execute("PRAGMA user_version = 99")
        db.close()
    else:
        path.unlink()
        if spoil != "missing":
            path.write_bytes(b"no database at all" * 100 if spoil == "no database" else b"")
    assert read_experiment(results.exp_dir).rows == before


def test_where_no_index_can_be_kept_it_lives_in_memory(results: ResultsFolder) -> None:
    add(results, Outcome.passed(100))
    (results.exp_dir / INDEX_FILE).mkdir()  # nothing can be written there, whoever asks
    with ResultsIndex(results.exp_dir) as index:
        assert index.in_memory
        assert index.refresh().finished == 1
    assert len(read_experiment(results.exp_dir).rows) == 1


def test_a_spoilt_record_is_an_unfinished_run(results: ResultsFolder) -> None:
    run_dir = add(results, Outcome.passed(100))
    (run_dir / INFO_FILE).write_text('{"outcome": {"status": "pa')
    experiment = read_experiment(results.exp_dir)
    assert (list(experiment.rows), list(experiment.unfinished)) == ([], ["org--model/notes/a/run_001"])


def test_one_run_counts_for_each_key(results: ResultsFolder) -> None:
    """A broken run that was tried again is not a second result."""
    add(results, Outcome.broken("world", "no boot"), "2030-01-01")
    add(results, Outcome.passed(100), "2030-01-02")
    add(results, Outcome.broken("world", "no boot"), "2030-01-03")
    add(results, Outcome.failed(0), "2030-01-04", attempt=1)
    add(results, Outcome.broken("host", "full"), "2030-01-05", task="b")
    add(results, Outcome.broken("world", "lost"), "2030-01-06", task="b")
    experiment = read_experiment(results.exp_dir)
    assert len(experiment.rows) == 6
    found = [(row.task, row.attempt, row.status, row.blame) for row in experiment.counted()]
    assert found == [("a", 0, "passed", None), ("a", 1, "failed", None), ("b", 0, "broken", "world")]


def test_whole_records_and_folders_are_there(results: ResultsFolder) -> None:
    run_dir = add(results, Outcome.passed(100), warnings=("odd",), episode_dir="episode_1")
    experiment = read_experiment(results.exp_dir)
    (row,) = experiment.rows
    assert experiment.record(row).warnings == ("odd",)
    assert experiment.episode_dir(row) is None
    (run_dir / "episode_1").mkdir()
    assert experiment.episode_dir(row) == run_dir / "episode_1"
    (run_dir / INFO_FILE).unlink()
    with pytest.raises(BenchmarkError, match="cannot be read"):
        experiment.record(row)


def test_an_experiment_is_found_by_name_and_by_folder(results: ResultsFolder, tmp_path: Path) -> None:
    add(results, Outcome.passed(100))
    (tmp_path / "something else").mkdir()
    assert experiments(tmp_path) == ["exp_one"]
    assert find_experiment("exp one", tmp_path) == results.exp_dir
    assert find_experiment(str(results.exp_dir), tmp_path / "nowhere") == results.exp_dir
    with pytest.raises(BenchmarkError, match="exp_one"):
        find_experiment("exp_on", tmp_path)
    with pytest.raises(BenchmarkError, match="there is none yet"):
        find_experiment("x", tmp_path / "nowhere")
