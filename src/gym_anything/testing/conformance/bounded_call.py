"""A call in a thread of its own, given up after a limit: a runner that hangs must fail a test, not hang it."""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any


class BoundedCall:
    """One call under way."""

    def __init__(self, act: Callable[[], Any], name: str) -> None:
        """Start it."""
        self.name = name
        self.answer: Any = None
        self.error: BaseException | None = None
        self.began = time.monotonic()
        self.ended: float | None = None
        self.story = ""
        self._act = act
        self._thread = threading.Thread(target=self._run, name=f"conformance-{name}", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.answer = self._act()
        except BaseException as error:  # noqa: BLE001 - the boundary: it is raised again where the result is asked for
            # Without the frames it went through, which would keep open whatever they had open.
            self.story = "".join(traceback.format_exception(error))
            self.error = error.with_traceback(None)
        self.ended = time.monotonic()

    def running(self) -> bool:
        """Tell whether it still runs."""
        return self._thread.is_alive()

    def wait(self, limit_s: float) -> bool:
        """Wait for its end; False when it did not come."""
        self._thread.join(limit_s)
        return not self._thread.is_alive()

    def _place(self) -> str:
        """Return where its thread is just now."""
        frame = sys._current_frames().get(self._thread.ident or 0)
        return "".join(traceback.format_stack(frame)) if frame is not None else "its very end"

    def result(self, limit_s: float) -> Any:
        """Return its answer or raise its error. Raises: AssertionError when it does not end in time."""
        if not self.wait(limit_s):
            raise AssertionError(f"{self.name} did not end within {limit_s:g} s; it is at:\n{self._place()}")
        if self.error is not None:
            if self.story:
                self.error.add_note(f"in the thread of {self.name}:\n{self.story}")
                self.story = ""
            raise self.error
        return self.answer
