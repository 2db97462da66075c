"""The thread that an agent lives in, so that one that hangs can be left behind."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any

from gym_anything._util.deadline import Deadline
from gym_anything.errors import AgentError, AgentTimedOut


class EpisodeStop:
    """Somebody's wish that an episode end at the next chance. Set from any thread, but not in a signal handler."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        """Notified when the wish is made; whoever waits for something else too may notify it."""
        self._is_set = False

    @property
    def is_set(self) -> bool:
        """Tell whether the episode is to end."""
        return self._is_set

    def set(self) -> None:
        """Ask the episode to end."""
        with self.changed:
            self._is_set = True
            self.changed.notify_all()


class StopRequested(Exception):
    """The episode was asked to end while a call of the agent was running."""


class AgentThread:
    """Runs an agent's calls one after the other in one daemon thread of its own.

    An agent may keep things that belong to a thread (event loops, connections) from one call to the next.
    """

    def __init__(self, stop: EpisodeStop) -> None:
        """Args: stop: ends a wait early."""
        self._stop = stop
        self._calls: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._hung: str | None = None
        threading.Thread(target=self._serve, name="agent", daemon=True).start()

    def call(
        self,
        function: Callable[[], Any],
        *,
        doing: str,
        deadline: Deadline,
        answer: Callable[[], Deadline] = Deadline.never,
    ) -> Any:
        """Run ``function`` in the agent's thread and return its result or raise its exception.

        Args: answer: returns the deadline of what the agent owes at the moment; ``look_again`` says that it is another.
        Raises: AgentTimedOut when the deadline passes (every later call raises it at once), StopRequested, AgentError
            for an agent that wanted to end the process (``SystemExit``, ``KeyboardInterrupt``).
        """
        if self._hung is not None:
            raise AgentTimedOut(f"the agent still hangs in {self._hung}")
        box: list[tuple[Any, BaseException | None]] = []
        changed = self._stop.changed

        def run() -> None:
            result: Any = None
            raised: BaseException | None = None
            try:
                result = function()
            except BaseException as error:  # noqa: BLE001 - the boundary to the agent's code; the caller raises it again
                raised = error
            with changed:
                box.append((result, raised))
                changed.notify_all()

        self._calls.put(run)
        with changed:
            while not (box or self._stop.is_set or deadline.expired() or answer().expired()):
                changed.wait(min((deadline, answer()), key=lambda each: each.at).remaining_or_none())
        if box:
            result, raised = box[0]
            if raised is None:
                return result
            if isinstance(raised, Exception):
                raise raised
            raise AgentError(f"the agent raised {type(raised).__name__} in {doing}: {raised}") from raised
        self._hung = doing
        if self._stop.is_set:
            raise StopRequested
        if not deadline.expired():
            raise AgentTimedOut(f"the agent did not act any more in {doing} before the time for one answer was up")
        raise AgentTimedOut(f"the agent did not return from {doing} before the episode's time was up")

    def look_again(self) -> None:
        """Let who waits for a call ask for the ``answer`` deadline anew. From any thread."""
        with self._stop.changed:
            self._stop.changed.notify_all()

    def end(self) -> None:
        """Let the thread end once it is idle; a hung one dies with the process."""
        self._calls.put(None)

    def _serve(self) -> None:
        while (call := self._calls.get()) is not None:
            call()
