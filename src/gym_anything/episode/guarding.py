"""What happens when something goes wrong under a call of the environment: nothing is left behind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gym_anything.episode import finish
from gym_anything.episode.episode import Episode
from gym_anything.episode.interrupts import interrupts_held
from gym_anything.episode.session import Session
from gym_anything.errors import Aborted, WorldLost


def stop_world(session: Session) -> None:
    """Stop the world if it was started; a second Ctrl-C does not cut that short. Idempotent."""
    if not session.world_is_up:
        return
    with interrupts_held():
        warm, session.warm = session.warm, None
        if warm is not None:
            warm.forget()
        session.runner.stop()
        session.world_is_up = False


@contextmanager
def guarded(session: Session, episode: Episode, doing: str, *, stop_on_any_error: bool = False) -> Iterator[None]:
    """Run a call on the world; every error goes on to the caller, and before that:

    * an interrupt (Ctrl-C, ``SystemExit`` …) ends the episode and stops the world;
    * a lost or aborted world ends the episode;
    * with ``stop_on_any_error`` every error ends the episode and stops the world.
    """
    try:
        yield
    except BaseException as error:
        interrupt = not isinstance(error, Exception)
        try:
            if isinstance(error, WorldLost):
                finish.lose(session, episode, error, doing)
            elif interrupt or stop_on_any_error or isinstance(error, Aborted):
                finish.abandon(session, episode, error, doing)
        finally:
            if interrupt or stop_on_any_error:
                stop_world(session)
        raise
