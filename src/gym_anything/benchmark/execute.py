"""Playing a plan: several episodes at once, each result written the moment it is there.

The engine does not know how an episode is played: it is given an ``EpisodeExecutor`` (a process on this machine, a pool
replica, a remote worker). Whatever happens to one episode, the others go on.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from gym_anything.benchmark.episode_record import EpisodeRecord
from gym_anything.benchmark.episode_request import EpisodeRequest
from gym_anything.benchmark.results import FinishedRun, ResultsFolder, finish_run
from gym_anything.benchmark.stop_signal import StopSignal
from gym_anything.episode.outcome import Outcome
from gym_anything.errors import Aborted


@dataclass(frozen=True, slots=True)
class EpisodeNews:
    """Something that happened to an episode, for whoever shows progress.

    Attributes:
        index: of the request in the plan.
        request: the episode.
        kind: ``started``, ``phase``, ``step``, ``finished`` or ``cut_off``.
        phase: the phase that began (``phase``).
        steps, max_steps: how far it is (``step``).
        record: its result (``finished``).
        run_dir: its folder.
    """

    index: int
    request: EpisodeRequest
    kind: str
    phase: str | None = None
    steps: int = 0
    max_steps: int | None = None
    record: EpisodeRecord | None = None
    run_dir: Path | None = None


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


def execute(
    requests: Sequence[EpisodeRequest],
    executor: EpisodeExecutor,
    results: ResultsFolder,
    *,
    jobs: int = 1,
    stop: StopSignal | None = None,
    on_news: OnNews = lambda _news: None,
) -> list[FinishedRun]:
    """Play requests, ``jobs`` at a time, and return what came to a record, in the order of the requests.

    Each record is written as ``info.json`` before it is reported. An episode that was cut off by ``stop`` leaves its
    folder without one and is not returned.
    Raises: BenchmarkError when results cannot be written (then nothing new is begun).
    """
    run = _Run(requests, executor, results, stop or StopSignal(), on_news)
    threads = [
        threading.Thread(target=run.work, name=f"episodes-{number}", daemon=True)
        for number in range(max(1, min(jobs, len(requests))))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if run.failure is not None:
        raise run.failure
    return [run.played[index] for index in sorted(run.played)]


class _Run:
    def __init__(
        self,
        requests: Sequence[EpisodeRequest],
        executor: EpisodeExecutor,
        results: ResultsFolder,
        stop: StopSignal,
        on_news: OnNews,
    ) -> None:
        self._waiting = list(enumerate(requests))[::-1]
        self._executor = executor
        self._results = results
        self._stop = stop
        self._on_news = on_news
        self._lock = threading.Lock()
        self.played: dict[int, FinishedRun] = {}
        self.failure: Exception | None = None

    def work(self) -> None:
        """Play one episode after the other until there is none left or a stop is asked for."""
        while True:
            with self._lock:
                if not self._waiting or self._stop.finishing or self.failure is not None:
                    return
                index, request = self._waiting.pop()
            try:
                self._play_one(index, request)
            except Exception as error:  # noqa: BLE001 - the boundary of a thread; raised again in the caller's
                with self._lock:
                    self.failure = self.failure or error
                return

    def _play_one(self, index: int, request: EpisodeRequest) -> None:
        run_dir = self._results.new_run_dir(request)

        def tell(kind: str, **more: object) -> None:
            self._on_news(EpisodeNews(index, request, kind, run_dir=run_dir, **more))  # type: ignore[arg-type]

        tell("started")
        began = time.monotonic()
        try:
            record = self._executor.play(
                request,
                run_dir,
                stop=self._stop,
                on_phase=lambda phase: tell("phase", phase=phase),
                on_step=lambda steps, most: tell("step", steps=steps, max_steps=most),
            )
        except Aborted:
            tell("cut_off")
            return
        except Exception as error:  # noqa: BLE001 - the boundary of an episode: one bad episode never stops the run
            outcome = Outcome.from_error(error, default_blame="host", doing="playing the episode")
            record = EpisodeRecord(request.public(), outcome, duration_s=round(time.monotonic() - began, 3))
        finish_run(run_dir, record)
        with self._lock:
            self.played[index] = FinishedRun(run_dir, record)
        tell("finished", record=record)
