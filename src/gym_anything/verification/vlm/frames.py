"""Which screenshots of an episode a checklist is judged by."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gym_anything.errors import SettingInvalid

_EDGE = 3


def choose_frames(traj: Mapping[str, Any], *, strategy: str, most: int) -> list[str]:
    """Return screenshots (host paths) in the order they were taken; the judged state is always the last one.

    Args:
        strategy: ``first3_every3_last3`` (the beginning, the end and every third between them), ``uniform``, ``last``
            (the newest ``most``) or ``all``.
        most: no more than these; more are thinned out evenly, first and last kept. 0: no bound.
    Raises: SettingInvalid for an unknown strategy.
    """
    frames = _existing(traj)
    word = strategy.strip().lower()
    if word not in STRATEGIES:
        known = ", ".join(STRATEGIES)
        raise SettingInvalid(
            f"frame_strategy {strategy!r} is unknown; known: {known}", detail={"setting": "frame_strategy"}
        )
    chosen = STRATEGIES[word](frames)
    if most <= 0 or len(chosen) <= most:
        return chosen
    return chosen[-most:] if word == "last" else spread(chosen, most)


def spread(frames: Sequence[str], count: int) -> list[str]:
    """Return ``count`` of them, evenly spread, first and last included; the last one if it is one."""
    if count >= len(frames):
        return list(frames)
    if count == 1:
        return [frames[-1]]
    return [frames[round(i * (len(frames) - 1) / (count - 1))] for i in range(count)]


def _existing(traj: Mapping[str, Any]) -> list[str]:
    frames = [path for path in map(str, traj.get("frames") or ()) if Path(path).is_file()]
    # The two are one picture under two names: either is the judged state, both would show it twice.
    last = [traj.get("final_screenshot"), traj.get("post_verification_screenshot")]
    judged = next((str(path) for path in last if path and Path(str(path)).is_file()), None)
    return list(dict.fromkeys([*frames, judged] if judged is not None else frames))


def _edges_and_thirds(frames: Sequence[str]) -> list[str]:
    if len(frames) <= 2 * _EDGE:
        return list(frames)
    return [*frames[:_EDGE], *frames[_EDGE:-_EDGE:3], *frames[-_EDGE:]]


STRATEGIES: Mapping[str, Callable[[Sequence[str]], list[str]]] = {
    "first3_every3_last3": _edges_and_thirds,
    "legacy_every_third": _edges_and_thirds,  # the names that existing settings use
    "legacy": _edges_and_thirds,
    "uniform": list,
    "last": list,
    "all": list,
}
