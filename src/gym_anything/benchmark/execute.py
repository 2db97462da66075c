"""Playing a plan: several episodes at once, each result written the moment it is there.

The engine does not know how an episode is played: it is given an ``EpisodeExecutor`` (a process on this machine, a pool
replica, a remote worker), nor how much this machine carries: it asks an ``Admission`` before each episode. Whatever
happens to one episode, the others go on. What it holds does not grow with the number of episodes, but for their names.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from gym_anything.benchmark import phases
from gym_anything.benchmark.episode_record import EpisodeRecord, utc_now
from gym_anything.benchmark.episode_request import EpisodeRequest
from gym_anything.benchmark.results import FinishedRun, ResultsFolder, finish_run
from gym_anything.benchmark.stop_signal import StopLevel, StopSignal
from gym_anything.episode.outcome import Outcome
from gym_anything.errors import Aborted

_LOOK_AGAIN_S = 2.0


@dataclass(frozen=True, slots=True)
class EpisodeNews:
    """Something that happened to an episode, for whoever shows progress.

    Attributes:
        index: of the request in the plan.
        request: the episode.
        kind: ``held`` (waits for room), ``started``, ``phase``, ``step``, ``retry`` (its set-up broke and it will be
            begun again), ``finished`` or ``cut_off``.
        phase: the phase that began (``phase``).
        steps, max_steps: how far it is (``step``).
        record: its result (``finished``, ``retry``).
        run_dir: its folder.
        reason: why it is held.
    """

    index: int
    request: EpisodeRequest
    kind: str
    phase: str | None = None
    steps: int = 0
    max_steps: int | None = None
    record: EpisodeRecord | None = None
    run_dir: Path | None = None
    reason: str = ""


OnNews = Callable[[EpisodeNews], None]


class EpisodeExecutor(Protocol):
    """Whoever can play one episode to its record."""

    def play(
        self,
        request: EpisodeRequest,
        run_dir: Path,
        *,
        stop: StopSignal,
        on_phase: Callable[[str], None],
        on_step: Callable[[int, int | None], None],
    ) -> EpisodeRecord:
        """Play one episode; called from several threads at once.

        Must return in bounded time whatever the agent, world and verifier do, and clean up after itself. A broken
        episode is a record. At ``stop.stopping_now`` it ends what runs and raises ``Aborted``.
        """
        ...


class Admission(Protocol):
    """Whoever knows whether there is room for one episode more. Called by one thread at a time."""

    def ask(self, who: int, request: EpisodeRequest) -> str:
        """Return why this episode cannot begin now, or nothing: then room is set aside for it."""
        ...

    def is_up(self, who: int) -> None:
        """The episode's world has started; what it takes shows by itself."""
        ...

    def is_over(self, who: int, record: EpisodeRecord | None) -> None:
        """The episode has ended; None: it was cut off."""
        ...


class EverythingFits:
    """An ``Admission`` that never says no."""

    def ask(self, who: int, request: EpisodeRequest) -> str:
        """See ``Admission``."""
        return ""

    def is_up(self, who: int) -> None:
        """See ``Admission``."""

    def is_over(self, who: int, record: EpisodeRecord | None) -> None:
        """See ``Admission``."""


def execute(
    requests: Sequence[EpisodeRequest],
    executor: EpisodeExecutor,
    results: ResultsFolder,
    *,
    jobs: int = 1,
    retries: int = 0,
    admission: Admission | None = None,
    stop: StopSignal | None = None,
    on_news: OnNews = lambda _news: None,
) -> list[FinishedRun]:
    """Play requests, ``jobs`` at a time, and return what came to a record, in the order of the requests.

    Each record is written as ``info.json`` before it is reported. An episode that was cut off by ``stop`` leaves its
    folder without one and is not returned.

    Args:
        retries: how often an episode whose set-up broke is begun again, in a folder of its own, when all others have
            begun. Nothing else is tried again: a fail is a result, and so is a judge that breaks.
        admission: asked before each episode; while others run, one that finds no room waits. None: there is room.
    Raises: BenchmarkError when results cannot be written (then nothing new is begun).
    """
    stop = stop or StopSignal()
    run = _Run(requests, executor, results, stop, on_news, retries, admission or EverythingFits())
    threads = [
        threading.Thread(target=run.work, name=f"episodes-{number}", daemon=True)
        for number in range(max(1, min(jobs, len(requests))))
    ]
    take_back = stop.at(StopLevel.FINISH, run.wake)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        take_back()
    if run.failure is not None:
        raise run.failure
    return [run.played[index] for index in sorted(run.played)]


@dataclass(frozen=True, slots=True)
class _Begin:
    index: int
    request: EpisodeRequest
    tries: int = 1


class _Run:
    def __init__(
        self,
        requests: Sequence[EpisodeRequest],
        executor: EpisodeExecutor,
        results: ResultsFolder,
        stop: StopSignal,
        on_news: OnNews,
        retries: int,
        admission: Admission,
    ) -> None:
        self._waiting = deque(_Begin(index, request) for index, request in enumerate(requests))
        self._executor = executor
        self._results = results
        self._stop = stop
        self._on_news = on_news
        self._retries = retries
        self._admission = admission
        self._running = 0
        self._told: _Begin | None = None
        self._changed = threading.Condition()
        self.played: dict[int, FinishedRun] = {}
        self.failure: Exception | None = None

    def wake(self) -> None:
        """Let those who wait for room look again."""
        with self._changed:
            self._changed.notify_all()

    def work(self) -> None:
        """Play one episode after the other until there is none left or a stop is asked for."""
        while (begin := self._next()) is not None:
            record: EpisodeRecord | None = None
            try:
                record = self._play_one(begin)
            except Exception as error:  # noqa: BLE001 - the boundary of a thread; raised again in the caller's
                with self._changed:
                    self.failure = self.failure or error
            finally:
                with self._changed:
                    self._running -= 1
                    self._admission.is_over(begin.index, record)
                    self._changed.notify_all()

    def _next(self) -> _Begin | None:
        """Return the next episode once there is room for it; None when nothing is to be begun any more.

        An episode is begun without room, too, when no other runs: so a run gets on, however small the machine.
        """
        with self._changed:
            while self._waiting and not self._stop.finishing and self.failure is None:
                begin = self._waiting[0]
                reason = self._admission.ask(begin.index, begin.request)
                if not reason or not self._running:
                    self._running += 1
                    return self._waiting.popleft()
                if self._told is not begin:  # by whichever thread looks first
                    self._told = begin
                    self._on_news(EpisodeNews(begin.index, begin.request, "held", reason=reason))
                self._changed.wait(_LOOK_AGAIN_S)
        return None

    def _play_one(self, begin: _Begin) -> EpisodeRecord | None:
        with self._results.begun(begin.request) as (request, run_dir):
            return self._play_in(run_dir, replace(begin, request=request))

    def _play_in(self, run_dir: Path, begin: _Begin) -> EpisodeRecord | None:
        index, request = begin.index, begin.request

        def tell(kind: str, **more: object) -> None:
            self._on_news(EpisodeNews(index, request, kind, run_dir=run_dir, **more))  # type: ignore[arg-type]

        def on_phase(phase: str) -> None:
            if phase not in (phases.LOAD, phases.RESET):
                with self._changed:
                    self._admission.is_up(index)
            tell("phase", phase=phase)

        tell("started")
        began = time.monotonic()
        try:
            record = self._executor.play(
                request,
                run_dir,
                stop=self._stop,
                on_phase=on_phase,
                on_step=lambda steps, most: tell("step", steps=steps, max_steps=most),
            )
        except Aborted:
            tell("cut_off")
            return None
        except Exception as error:  # noqa: BLE001 - the boundary of an episode: one bad episode never stops the run
            outcome = Outcome.from_error(error, default_blame="host", doing="playing the episode")
            lasted_s = round(time.monotonic() - began, 3)
            record = EpisodeRecord(request.public(), outcome, finished_at=utc_now(), duration_s=lasted_s)
        record = replace(record, tries=begin.tries)
        finish_run(run_dir, record)
        again = record.is_broken_setup and begin.tries <= self._retries and not self._stop.finishing
        with self._changed:
            self.played[index] = FinishedRun(run_dir)
            if again:
                self._waiting.append(_Begin(index, request, begin.tries + 1))
        tell("retry" if again else "finished", record=record)
        return record
