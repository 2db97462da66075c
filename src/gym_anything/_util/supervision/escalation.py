"""The stop of one process tree, as a pure state machine: time and facts in, instructions out."""

from __future__ import annotations

FIRST_PASS_S = 0.001
LONGEST_PASS_S = 0.05
STUCK_AFTER_S = 5.0
"""This long after the first SIGKILL what is left hangs in the kernel, and whoever waits is told so."""

POLITE, KILL, DONE, STUCK = "polite", "kill", "done", "stuck"


class Escalation:
    """Ask politely, wait, kill, look again until nothing is left.

    ``look(now, left)`` is called at once and then whenever ``next_look`` has come or something of the tree has ended.
    """

    def __init__(self, now: float, grace_s: float) -> None:
        self.kill_at = now + grace_s
        self.next_look = now
        self._asked = False
        self._pass_s = FIRST_PASS_S
        self._killing_since: float | None = None

    def hurry(self, now: float, grace_s: float) -> None:
        """Look at once, and shorten the grace; it never gets longer."""
        self.kill_at = min(self.kill_at, now + grace_s)
        self.next_look = now

    def wait(self, now: float) -> None:
        """Put the next look off: nothing can be done yet."""
        self.next_look = min(now + FIRST_PASS_S, self.kill_at)

    def look(self, now: float, left: int) -> str | None:
        """Decide what to do now.

        Args:
            left: how many processes of the tree still live.
        Returns: ``POLITE``, ``KILL``, ``DONE``, ``STUCK`` (kill again, and say so) or ``None`` (wait).
        """
        if left == 0:
            return DONE
        if now >= self.kill_at:
            if self._killing_since is None:
                self._killing_since, self._pass_s = now, FIRST_PASS_S
            self._schedule(now)
            return STUCK if now - self._killing_since >= STUCK_AFTER_S else KILL
        self._schedule(now)
        if not self._asked:
            self._asked = True
            return POLITE
        return None

    def _schedule(self, now: float) -> None:
        self.next_look = now + self._pass_s
        if self._killing_since is None:
            self.next_look = min(self.next_look, self.kill_at)
        self._pass_s = min(self._pass_s * 1.6, LONGEST_PASS_S)
