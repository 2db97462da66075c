"""What every part of an environment works on: its session and its present episode."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any

from gym_anything.episode.episode import Episode
from gym_anything.episode.session import Session
from gym_anything.errors import StateError


class EnvState:
    """Session, episode, and the last screen handed out."""

    _session: Session
    _episode: Episode | None = None
    _last_screen: weakref.ref[Any] | None = None

    def _started_episode(self, doing: str) -> Episode:
        if self._episode is None:
            raise StateError(f"{doing}: no episode; call reset() first")
        return self._episode

    def _open_episode(self, doing: str) -> Episode:
        episode = self._started_episode(doing)
        if episode.is_over:
            raise StateError(f"{doing}: the episode is over ({episode.reason}); call reset() for a new one")
        return episode

    def _reachable_episode(self, doing: str) -> Episode:
        """Return the present or last episode while its world can still be looked at."""
        episode = self._started_episode(doing)
        if not self._session.world_is_up:
            raise StateError(f"{doing}: the world has been stopped; call reset() for a new one")
        return episode

    def _remember(self, observation: dict[str, Any]) -> dict[str, Any]:
        """Keep a weak hold of a screen whose memory the world will reuse."""
        screen = observation.get("screen")
        if hasattr(screen, "detach") and not self._session.runner.pins_frames():
            self._last_screen = weakref.ref(screen)
        return observation

    def _detach_last_screen(self) -> None:
        """Give the holder of the last screen its own copy, before the world reuses the memory."""
        screen = self._last_screen() if self._last_screen is not None else None
        if screen is not None:
            screen.detach()
        self._last_screen = None

    def _end_info(self, episode: Episode, info: Mapping[str, Any]) -> dict[str, Any]:
        """Return ``info`` of the last step: how and why the episode ended."""
        report = dict(episode.report or {})
        outcome = report.pop("outcome", None)
        return {
            **info,
            "reason": episode.reason,
            "verifier": report,
            "outcome": outcome,
            "episode_timings": dict(episode.timings),
            **({"warnings": list(self._session.warnings)} if self._session.warnings else {}),
        }
