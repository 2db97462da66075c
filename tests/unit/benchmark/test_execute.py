"""The engine with executors of its own: parallel, undisturbed by bad episodes, stoppable."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gym_anything.benchmark.episode_record import EpisodeRecord
from gym_anything.benchmark.episode_request import EpisodeRequest
from gym_anything.benchmark.execute import EpisodeNews, execute
from gym_anything.benchmark.report import Report, replaced_tries
from gym_anything.benchmark.results import FinishedRun, ResultsFolder, finish_run
from gym_anything.benchmark.results_index import ResultsIndex
from gym_anything.benchmark.stop_signal import StopLevel, StopSignal
from gym_anything.episode.outcome import Outcome
from gym_anything.errors import Aborted, BenchmarkError, WorldLost

pytestmark = pytest.mark.unit

REQUESTS = [EpisodeRequest(env_dir="/e", env="notes", task=task) for task in "abcdef"]


class Executor:
    """Plays an episode by calling a function."""

    def __init__(self, play: Callable[[EpisodeRequest, StopSignal], Outcome]) -> None:
        self._play = play

    def play(
        self, request: EpisodeRequest, run_dir: Path, *, stop: StopSignal, on_phase: Any, on_step: Any
    ) -> EpisodeRecord:
        on_phase("reset")
        on_step(1, 5)
        return EpisodeRecord(request.public(), self._play(request, stop), steps=1, duration_s=0.5)


@pytest.fixture
def results(tmp_path: Path) -> ResultsFolder:
    return ResultsFolder(tmp_path, "exp")


def test_results_come_in_the_order_of_the_plan_and_are_written(results: ResultsFolder) -> None:
    runs = execute(REQUESTS, Executor(lambda _r, _s: Outcome.passed(100)), results, jobs=3)
    assert [run.record.request["task"] for run in runs] == list("abcdef")
    assert all((run.run_dir / "info.json").is_file() for run in runs)


def test_jobs_play_at_once_and_no_more_than_asked(results: ResultsFolder) -> None:
    together = threading.Barrier(3, timeout=20)
    running, most, lock = 0, 0, threading.Lock()

    def play(_request: EpisodeRequest, _stop: StopSignal) -> Outcome:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        together.wait()  # passes only when three are inside
        with lock:
            running -= 1
        return Outcome.passed(100)

    execute(REQUESTS, Executor(play), results, jobs=3)
    assert most == 3


def test_one_bad_episode_never_stops_the_run(results: ResultsFolder) -> None:
    """V2, V5: what breaks is broken, with blame; the others go on."""

    def play(request: EpisodeRequest, _stop: StopSignal) -> Outcome:
        if request.task == "b":
            raise RuntimeError("a bug in the executor")
        if request.task == "d":
            raise WorldLost("the world died")
        return Outcome.failed(10)

    runs = execute(REQUESTS, Executor(play), results, jobs=2)
    outcomes = {run.record.request["task"]: run.record.outcome for run in runs}
    assert [outcomes[t].status for t in "abcdef"] == ["failed", "broken", "failed", "broken", "failed", "failed"]
    assert (outcomes["b"].blame, outcomes["d"].blame) == ("host", "world")
    assert "a bug in the executor" in outcomes["b"].story


def test_finishing_lets_what_runs_end_and_begins_nothing_new(results: ResultsFolder) -> None:
    stop = StopSignal()

    def play(request: EpisodeRequest, signal: StopSignal) -> Outcome:
        if request.task == "b":
            signal.raise_level()
        return Outcome.passed(100)

    runs = execute(REQUESTS, Executor(play), results, stop=stop)
    assert [run.record.request["task"] for run in runs] == ["a", "b"]


def test_an_episode_that_is_cut_off_is_not_a_finished_run(results: ResultsFolder) -> None:
    """V6: only what is finished has a result."""
    stop, news = StopSignal(), []

    def play(request: EpisodeRequest, signal: StopSignal) -> Outcome:
        if request.task == "a":
            return Outcome.passed(100)
        signal.raise_level()
        signal.raise_level()
        raise Aborted("stopped")

    runs = execute(REQUESTS, Executor(play), results, stop=stop, on_news=news.append)
    assert [run.record.request["task"] for run in runs] == ["a"]
    assert results.finished(REQUESTS[1]) == []
    assert [(n.kind, n.request.task) for n in news if n.kind in ("finished", "cut_off")] == [
        ("finished", "a"),
        ("cut_off", "b"),
    ]


def test_the_news_tell_the_whole_story_of_an_episode(results: ResultsFolder) -> None:
    news: list[EpisodeNews] = []
    execute(REQUESTS[:1], Executor(lambda _r, _s: Outcome.passed(100)), results, on_news=news.append)
    assert [n.kind for n in news] == ["started", "phase", "step", "finished"]
    assert (news[1].phase, news[2].steps, news[2].max_steps) == ("reset", 1, 5)
    assert news[3].record is not None
    assert (news[3].run_dir / "info.json").is_file()  # type: ignore[operator]


def test_results_that_cannot_be_written_end_the_run_with_a_typed_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    begun: list[str] = []
    with pytest.raises(BenchmarkError):
        execute(
            REQUESTS,
            Executor(lambda request, _s: begun.append(request.task) or Outcome.passed(100)),  # type: ignore[func-returns-value]
            ResultsFolder(tmp_path / "file", "exp"),
        )
    assert begun == []


def test_an_empty_plan_is_an_empty_result(results: ResultsFolder) -> None:
    assert execute([], Executor(lambda _r, _s: Outcome.passed(100)), results) == []


def test_a_stop_signal_calls_each_waiter_once_at_its_level() -> None:
    stop, calls = StopSignal(), []
    stop.at(StopLevel.NOW, lambda: calls.append("now"))
    stop.at(StopLevel.FINISH, lambda: calls.append("finish"))
    forget = stop.at(StopLevel.NOW, lambda: calls.append("forgotten"))
    forget()
    stop.raise_level()
    assert (calls, stop.finishing, stop.stopping_now) == (["finish"], True, False)
    for _ in range(3):
        stop.raise_level()
    assert (calls, stop.stopping_now) == (["finish", "now"], True)
    stop.at(StopLevel.FINISH, lambda: calls.append("late"))
    assert calls[-1] == "late"


def test_a_report_leaves_broken_runs_out_of_rate_and_mean(results: ResultsFolder) -> None:
    """V1, V2: a benchmark never counts broken as failed."""
    outcomes = iter(
        [Outcome.passed(100), Outcome.failed(40), Outcome.broken("world", "lost"), Outcome.broken("judge", "x")]
    )
    runs = execute(REQUESTS[:4], Executor(lambda _r, _s: next(outcomes)), results)
    report = Report(runs, already=1, problems=("p",), cut_off=2)
    totals = report.totals()
    assert (totals["passed"], totals["failed"], totals["broken"]) == (1, 1, 2)
    assert (totals["pass_rate"], totals["mean_score"]) == (0.5, 70.0)
    assert totals["broken_by_blame"] == {"judge": 1, "world": 1}
    assert [row[2] for row in report.rows()] == ["passed", "failed", "broken (world)", "broken (judge)"]
    assert "1 passed, 1 failed, 2 broken" in report.summary_line()
    assert report.as_dict()["episodes"][2]["status"] == "broken"
    empty = Report([]).totals()
    assert (empty["pass_rate"], empty["mean_score"], empty["runs"]) == (None, None, 0)


def spending(usd: float | None, broken: bool = False) -> EpisodeRecord:
    outcome = Outcome.broken("world", "no boot", {"setup_failed": ["pre_task"]}) if broken else Outcome.passed(100)
    usage = {"input_tokens": 10, "output_tokens": 2, "cost_usd": usd}
    return EpisodeRecord(REQUESTS[0].public(), outcome, usage=usage, finished_at="2026-01-01")


def test_a_reports_totals_are_of_every_run_or_not_known(results: ResultsFolder) -> None:
    for number, usd in enumerate((0.25, 0.5, None)):
        run_dir = results.new_run_dir(REQUESTS[number])
        finish_run(run_dir, replace(spending(usd), request=REQUESTS[number].public()))
    runs = [run for request in REQUESTS[:3] for run in results.finished(request)]
    priced, all_of_it = Report(runs[:2]).totals(), Report(runs).totals()
    assert (priced["cost_usd"], priced["spent_usd"], priced["input_tokens"]) == (0.75, 0.75, 20)
    assert (all_of_it["cost_usd"], all_of_it["spent_usd"], all_of_it["output_tokens"]) == (None, None, 6)
    assert Report(runs[:2]).summary_line().endswith("; 0.75 USD")


def test_what_a_replaced_try_took_was_spent_too(results: ResultsFolder) -> None:
    records = iter([spending(1.5, broken=True), spending(0.25)])

    class Spending(Executor):
        def play(self, request: EpisodeRequest, run_dir: Path, **more: Any) -> EpisodeRecord:
            return next(records)

    runs = execute(REQUESTS[:1], Spending(lambda _r, _s: Outcome.passed(100)), results, retries=1)
    with ResultsIndex(results.exp_dir) as index:
        index.refresh()
        replaced = replaced_tries(runs, index.rows(), results.exp_dir)
    report = Report(runs, replaced=replaced)
    assert [row.run.rpartition("/")[2] for row in replaced] == ["run_001"]
    totals = report.totals()
    assert (totals["runs"], totals["replaced"], totals["cost_usd"], totals["spent_usd"]) == (1, 1, 0.25, 1.75)
    assert report.summary_line().endswith("; 1.75 USD with what 1 replaced took")


def test_a_row_tells_the_attempt_and_the_limit_that_ended_it(results: ResultsFolder) -> None:
    asked = replace(REQUESTS[0], attempt=2)
    run_dir = results.new_run_dir(asked)
    finish_run(run_dir, EpisodeRecord(asked.public(), Outcome.failed(0, "line 1\nline 2"), reason="timeout"))
    row = Report([FinishedRun(run_dir)]).rows()[0]
    assert row[1] == "a #3"
    assert row[-1] == "[timeout] line 1 line 2"


def broken_setup(request: EpisodeRequest, **more: Any) -> EpisodeRecord:
    return EpisodeRecord(request.public(), Outcome.broken("world", "no boot"), **{"broke_in": "reset", **more})


class Retrying(Executor):
    """Breaks as told, by task, in the first ``times`` tries."""

    def __init__(self, broken: dict[str, EpisodeRecord], times: int = 1) -> None:
        super().__init__(lambda _r, _s: Outcome.passed(100))
        self.broken, self.times, self.begun = broken, times, list[str]()

    def play(self, request: EpisodeRequest, run_dir: Path, **more: Any) -> EpisodeRecord:
        self.begun.append(request.task)
        if request.task in self.broken and self.begun.count(request.task) <= self.times:
            return self.broken[request.task]
        return super().play(request, run_dir, **more)


def test_only_a_broken_setup_is_begun_again_and_after_all_others(results: ResultsFolder) -> None:
    """V1: a set-up that broke says nothing about the agent; a judge or an agent that breaks is a result."""
    broken = {
        "a": broken_setup(REQUESTS[0]),
        "b": broken_setup(REQUESTS[1], broke_in="judge"),
        "c": broken_setup(REQUESTS[2], broke_in="agent"),
    }
    news: list[EpisodeNews] = []
    executor = Retrying(broken)
    runs = execute(REQUESTS[:4], executor, results, retries=3, on_news=news.append)
    assert executor.begun == ["a", "b", "c", "d", "a"]
    assert [run.record.outcome.status for run in runs] == ["passed", "broken", "broken", "passed"]
    assert [run.record.tries for run in runs] == [2, 1, 1, 1]
    assert [n.request.task for n in news if n.kind == "retry"] == ["a"]
    assert [n.request.task for n in news if n.kind == "finished"] == ["b", "c", "d", "a"]
    assert [r.record.outcome.status for r in results.finished(REQUESTS[0])] == ["broken", "passed"]


@pytest.mark.parametrize(
    ("outcome", "again"),
    [
        (Outcome.broken("content", "a hook failed", {"setup_failed": ["pre_task"]}), True),
        (Outcome.broken("caller", "no such option"), False),
    ],
)
def test_a_failed_hook_is_a_broken_setup_and_a_wrong_wish_is_none(
    results: ResultsFolder, outcome: Outcome, again: bool
) -> None:
    record = EpisodeRecord(REQUESTS[0].public(), outcome)
    executor = Retrying({"a": record}, times=9)
    execute(REQUESTS[:1], executor, results, retries=2)
    assert len(executor.begun) == (3 if again else 1)


def test_a_setup_that_stays_broken_is_broken_after_the_last_try(results: ResultsFolder) -> None:
    (run,) = execute(REQUESTS[:1], Retrying({"a": broken_setup(REQUESTS[0])}, times=9), results, retries=2)
    assert (run.record.outcome.status, run.record.tries, run.run_dir.name) == ("broken", 3, "run_003")


class Room:
    """An ``Admission`` for so many at once, which keeps a diary."""

    def __init__(self, places: int) -> None:
        self.places, self.inside, self.diary = places, set[int](), list[str]()

    def ask(self, who: int, request: EpisodeRequest) -> str:
        if len(self.inside) >= self.places:
            return "full"
        self.inside.add(who)
        return ""

    def is_up(self, who: int) -> None:
        self.diary.append(f"up {who}")

    def is_over(self, who: int, record: EpisodeRecord | None) -> None:
        self.inside.discard(who)
        self.diary.append(f"over {who} {record.outcome.status if record else None}")


def test_an_episode_without_room_waits_for_one_that_ends(results: ResultsFolder) -> None:
    room, news, most, lock = Room(2), list[EpisodeNews](), [0], threading.Lock()
    held = threading.Event()

    def on_news(one: EpisodeNews) -> None:
        news.append(one)
        if one.kind == "held":
            held.set()

    def play(_request: EpisodeRequest, _stop: StopSignal) -> Outcome:
        assert held.wait(20)  # two play, and the third thread was told why it cannot
        with lock:
            most[0] = max(most[0], len(room.inside))
        return Outcome.passed(100)

    runs = execute(REQUESTS, Executor(play), results, jobs=3, admission=room, on_news=on_news)
    assert len(runs) == 6
    assert most == [2]
    assert {n.reason for n in news if n.kind == "held"} == {"full"}
    assert sorted(line for line in room.diary if line.startswith("over")) == [f"over {n} passed" for n in range(6)]


def test_without_any_room_episodes_go_one_at_a_time(results: ResultsFolder) -> None:
    assert (
        len(execute(REQUESTS[:3], Executor(lambda _r, _s: Outcome.passed(1)), results, jobs=3, admission=Room(0))) == 3
    )


def test_a_wish_to_finish_reaches_who_waits_for_room(results: ResultsFolder) -> None:
    stop = StopSignal()

    def on_news(news: EpisodeNews) -> None:
        if news.kind == "held":
            threading.Thread(target=stop.raise_level).start()

    def play(_request: EpisodeRequest, signal: StopSignal) -> Outcome:
        reached = threading.Event()
        signal.at(StopLevel.FINISH, reached.set)
        assert reached.wait(20)
        return Outcome.passed(1)

    runs = execute(REQUESTS, Executor(play), results, jobs=2, admission=Room(1), stop=stop, on_news=on_news)
    assert [run.record.request["task"] for run in runs] == ["a"]
