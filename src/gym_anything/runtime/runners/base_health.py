"""The health part of the runner contract: what a pool asks of a world while somebody works in it."""

from __future__ import annotations


class HealthAccess:
    """Signs of life. Asked in a thread of their own, beside any other method, and also while that one hangs.

    They hold no lock that another method holds while it waits. The defaults know nothing and say nothing.
    """

    def check_life(self, deep: bool = False) -> None:
        """Return when the world shows a sign of life.

        Called: READY, every few seconds, for very many worlds at once. Blocks: a millisecond as a rule; the caller
            gives up after two seconds.
        Args:
            deep: ask inside the guest, too, and its desktop, which costs it something; done when there is a suspicion.
        Raises: WorldLost when the world is gone for good; any other error counts as no answer.
        """

    def rest(self) -> None:
        """Have a world that nobody uses for a while stand still, where that saves something; the default does nothing.

        Called: READY, by who keeps worlds warm. Until ``go_on`` only signs of life are asked of it, or it is stopped.
        Raises: WorldLost; a world that cannot stand still goes on.
        """

    def go_on(self) -> None:
        """Have it run again after ``rest``, with the time of now; it answers when this returns. Raises: WorldLost."""

    def memory_mib(self) -> float | None:
        """Return how much memory the world takes: the proportional share of what it shares; None: not known.

        Asked once a minute, for the estimate of what one more world needs.
        """
        return None
