"""Showing how a run gets on: a live display on a terminal, plain lines elsewhere; always on standard error."""

from __future__ import annotations

import threading
from collections import Counter
from types import TracebackType
from typing import TYPE_CHECKING, Any

from gym_anything.cli.output import make_console

if TYPE_CHECKING:
    from rich.progress import TaskID

    from gym_anything.benchmark.execute import EpisodeNews

COLOURS = {"passed": "green", "failed": "yellow", "broken": "red"}
_PHASES = {
    "load": "loading",
    "reset": "starting",
    "agent": "agent",
    "world": "acting",
    "judge": "judging",
    "finish": "finishing",
    "close": "stopping",
}


class RunProgress:
    """Takes the engine's news from any thread."""

    def __init__(self, total: int, *, quiet: bool = False) -> None:
        """Args: total: episodes to play; quiet: show nothing."""
        self._total = total
        self._quiet = quiet
        self._console = make_console(stderr=True)
        self._live: Any = None
        self._bars: dict[int, TaskID] = {}
        self._overall: TaskID | None = None
        self._count: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __enter__(self) -> RunProgress:
        if not self._quiet and self._console.is_terminal:
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

            columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), MofNCompleteColumn())
            self._live = Progress(*columns, TimeElapsedColumn(), console=self._console, transient=True)
            self._overall = self._live.add_task("episodes", total=self._total)
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._live is not None:
            self._live.stop()

    def news(self, news: EpisodeNews) -> None:
        """Show one piece of news."""
        with self._lock:
            if news.kind == "finished" and news.record is not None:
                self._count[news.record.outcome.status] += 1
            if self._live is not None:
                self._show(news)
            elif not self._quiet and news.kind in ("held", "retry", "finished", "cut_off"):
                self._print(news)

    def _show(self, news: EpisodeNews) -> None:
        label = news.request.label
        if news.kind == "held":
            self._print(news)
            return
        if news.kind == "started":
            self._bars[news.index] = self._live.add_task(f"{label}: starting", total=None)
            return
        bar = self._bars.get(news.index)
        if bar is None:
            return
        if news.kind == "phase":
            self._live.update(bar, description=f"{label}: {_PHASES.get(news.phase or '', news.phase)}")
        elif news.kind == "step":
            self._live.update(bar, completed=news.steps, total=news.max_steps)
        else:
            self._live.remove_task(self._bars.pop(news.index))
            done = news.kind != "retry"
            self._live.update(self._overall, advance=1 if done else 0, description=self._tally())
            self._print(news)

    def _print(self, news: EpisodeNews) -> None:
        from rich.text import Text

        record = news.record
        if news.kind == "held":
            line = Text(f"{news.request.label}: waits for memory: {news.reason}", style="dim")
        elif record is None:
            line = Text(f"{news.request.label}: cut off", style="dim")
        else:
            status = record.outcome.status
            line = Text(f"{news.request.label}: ")
            line.append(status, style=COLOURS[status])
            line.append(f"  {record.steps} steps, {record.duration_s:.1f} s")
            if news.kind == "retry":
                line.append(
                    f"; its set-up broke, it will be begun again: {' '.join(record.outcome.story.split())[:120]}"
                )
        target = self._live.console if self._live is not None else self._console
        target.print(line)

    def _tally(self) -> str:
        counts = (f"[{colour}]{self._count[status]} {status}[/]" for status, colour in COLOURS.items())
        return "episodes: " + ", ".join(counts)
