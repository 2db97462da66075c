"""How far a pool is with coming up or ending: a bar on a terminal, elsewhere a line for each change; on stderr."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any, Self

import click

from gym_anything.cli.output import make_console
from gym_anything.errors import GymAnythingError
from gym_anything.pool.started.asking import Asking
from gym_anything.pool.started.folder import PoolEntry

_LINE_S = 30.0


class PoolProgress:
    """Asks a pool how it is and shows that.

    Attributes:
        last: what was shown last, in words.
    """

    def __init__(self, entry: PoolEntry, doing: str, total: int | None = None, *, quiet: bool = False) -> None:
        """Args: total: replicas that are awaited; None: the leases are counted down. quiet: show nothing."""
        self._entry, self._doing, self._total, self._quiet = entry, doing, total, quiet
        self._asking: Asking | None = None
        self._bar: Any = None
        self._task: Any = None
        self._said: tuple[int, bool] | None = None
        self._said_at = float("-inf")
        self.last = ""

    def __enter__(self) -> Self:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        console = make_console(stderr=True)
        if console.is_terminal and not self._quiet:
            columns = (BarColumn(bar_width=24), MofNCompleteColumn(), TimeElapsedColumn())
            self._bar = Progress(*columns, TextColumn("{task.description}"), console=console, transient=True)
            self._task = self._bar.add_task(self._doing, total=self._total)
            self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()
        if self._asking is not None:
            self._asking.close()

    def status(self) -> dict[str, Any] | None:
        """Ask and show; return the status, None where there is no answer."""
        try:
            self._asking = self._asking or Asking(self._entry)
            status: dict[str, Any] = self._asking.ask("status")
        except GymAnythingError:
            self._asking = None
            return None
        self._show(status)
        return status

    def _show(self, status: dict[str, Any]) -> None:
        counts = status["counts"]
        done = counts.get("idle", 0) + counts.get("assigned", 0)
        words = ", ".join(f"{count} {state}" for state, count in counts.items()) or "no replica"
        if self._total is None:
            words += f"; {status['leases']} tasks at work"
        elif status["last_refusal"] and done < self._total:
            words += f"; the guard last said: {status['last_refusal']}"
        self.last = f"{self._doing}: {words}"
        if self._bar is not None:
            self._bar.update(
                self._task, completed=done, total=self._total or sum(counts.values()), description=self.last
            )
        elif not self._quiet:
            self._say((done, bool(status["last_refusal"])))

    def _say(self, news: tuple[int, bool]) -> None:
        """Print a line when there is news, else one now and then: nobody reads hundreds of them."""
        now = time.monotonic()
        if news != self._said or now - self._said_at > _LINE_S:
            self._said, self._said_at = news, now
            click.echo(self.last, err=True)
