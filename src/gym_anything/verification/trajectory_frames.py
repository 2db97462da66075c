"""Which screenshots of an episode a judge looks at."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any


def sample_trajectory_frames(
    traj: Mapping[str, Any], n: int | None = None, num_samples: int | None = None, **_: Any
) -> list[str]:
    """Return ``n`` screenshots (host paths) spread evenly over the episode, first and last included.

    Args:
        n: how many; ``num_samples`` is another name for it; 5 by default.
    """
    count = 5 if (n if n is not None else num_samples) is None else int(n if n is not None else num_samples or 0)
    frames = [str(p) for p in traj.get("frames") or () if Path(str(p)).is_file()]
    if count <= 0 or not frames:
        return []
    if count >= len(frames):
        return frames
    if count == 1:
        return [frames[-1]]
    return [frames[round(i * (len(frames) - 1) / (count - 1))] for i in range(count)]


def get_first_screenshot(traj: Mapping[str, Any]) -> str | None:
    """Return the screenshot of the first observation, or None."""
    return _first_that_exists(traj.get("first_frame"), *(traj.get("frames") or ())[:1])


def get_final_screenshot(traj: Mapping[str, Any]) -> str | None:
    """Return the screenshot of the judged state, or the last one there is, or None."""
    last = (traj.get("frames") or ())[-1:]
    return _first_that_exists(
        traj.get("final_screenshot"), traj.get("post_verification_screenshot"), traj.get("last_frame"), *last
    )


def _first_that_exists(*paths: Any) -> str | None:
    return next((str(p) for p in paths if p and Path(str(p)).is_file()), None)
