"""A cancel button that one thread holds while another one waits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Cancellation:
    """Set once, from any thread; whoever waits registers what ends the wait."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], None]] = []
        self._set = False

    def cancel(self) -> None:
        """End every registered wait. Harmless when repeated."""
        with self._lock:
            self._set = True
            callbacks = list(self._callbacks)
        for callback in callbacks:
            callback()

    def is_set(self) -> bool:
        """Tell whether the button was pressed."""
        return self._set

    @contextmanager
    def calls(self, callback: Callable[[], None]) -> Iterator[None]:
        """While inside, ``cancel`` calls ``callback`` (once at least, at once when already cancelled)."""
        with self._lock:
            self._callbacks.append(callback)
            already = self._set
        try:
            if already:
                callback()
            yield
        finally:
            with self._lock:
                self._callbacks.remove(callback)
