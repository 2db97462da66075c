"""Ctrl-C on the command line: once to finish cleanly, twice to stop now."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from gym_anything.benchmark.stop_signal import StopSignal


@contextmanager
def interrupts_stop(stop: StopSignal, *, first_says: str) -> Iterator[None]:
    """Turn SIGINT into the next level of a stop signal, and SIGTERM into the last.

    Args: first_says: what the first Ctrl-C tells the person.
    """
    messages = [f"{first_says} Press Ctrl-C again to stop now.", "stopping now …"]

    def raise_levels(times: int) -> None:
        for _ in range(times):
            stop.raise_level()

    def on_signal(number: int, _frame: Any) -> None:
        if number == signal.SIGINT and messages:
            click.echo(f"\n{messages.pop(0)}", err=True)
        # Not in the handler itself: it may have interrupted the holder of a lock that stopping needs.
        threading.Thread(target=raise_levels, args=(2 if number == signal.SIGTERM else 1,), name="stop").start()

    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
