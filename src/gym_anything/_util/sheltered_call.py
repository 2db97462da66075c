"""A call that Ctrl-C cannot hit in the middle.

Python raises ``KeyboardInterrupt`` in the main thread between any two instructions: after a pipe was made and before
anybody owned it, say. A sheltered call is done by another thread while the main thread only waits and takes notes; the
call is told to give up, everything it made has an owner, and then the interrupt goes on.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Generic, TypeVar, cast

T = TypeVar("T")

_LOOK_S = 0.05
"""How often the main thread looks. A signal that comes just before a wait begins does not end that wait."""


def sheltered(act: Callable[[], T], *, give_up: Callable[[], object], name: str) -> T:
    """Return ``act()``; an interrupt waits until it has ended.

    In other threads than the main one ``act`` is simply called: no interrupt comes there.

    Args:
        act: must not depend on the thread it runs in.
        give_up: makes ``act`` end soon. Called again and again after an interrupt (also before ``act`` has got far
            enough to hear it), so it must be idempotent, quick and raise nothing.
        name: of the thread, for those who look.
    Raises: what ``act`` raises; after an interrupt ``KeyboardInterrupt`` (or what the handler that was there does),
        once ``act`` has ended, whatever became of it.
    """
    if threading.current_thread() is not threading.main_thread():
        return act()
    call = _Call(act, name)
    held = _HeldInterrupt()
    try:
        call.begin()
        while not call.ended.wait(_LOOK_S):
            if held.came:
                give_up()
    except BaseException:  # another signal's handler raised: not before the call has ended
        while call.begun() and not call.ended.wait(_LOOK_S):
            give_up()
        raise
    finally:
        try:
            held.let_go()
        except BaseException:
            call.forget()
            raise
    return call.result()


class _HeldInterrupt:
    """Takes note of Ctrl-C instead of raising it, until it is let go."""

    def __init__(self) -> None:
        self.came = False
        self._before = signal.getsignal(signal.SIGINT)
        if callable(self._before):
            signal.signal(signal.SIGINT, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.came = True

    def let_go(self) -> None:
        """Put the handler back; an interrupt that came is handed to it now."""
        if not callable(self._before):
            return
        signal.signal(signal.SIGINT, self._before)
        if self.came:
            self._before(signal.SIGINT, None)


class _Call(Generic[T]):
    """One call in a thread of its own."""

    def __init__(self, act: Callable[[], T], name: str) -> None:
        self.ended = threading.Event()
        self._act = act
        self._answer: T | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def begin(self) -> None:
        """Start the thread."""
        self._thread.start()

    def begun(self) -> bool:
        """Tell whether the thread ever started."""
        return self._thread.ident is not None

    def result(self) -> T:
        """Return the answer or raise the error; once only."""
        self._thread.join()
        answer, error = self._answer, self._error
        self.forget()
        if error is not None:
            try:
                raise error
            finally:
                del error
        return cast(T, answer)

    def forget(self) -> None:
        """Let go of what came out. An error holds the frames it went through, and with them what they had open."""
        self._answer = self._error = None

    def _run(self) -> None:
        try:
            self._answer = self._act()
        except BaseException as error:  # noqa: BLE001 - the boundary of the thread: raised again by result()
            self._error = error
        finally:
            self.ended.set()
