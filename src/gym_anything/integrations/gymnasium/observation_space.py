"""What an agent sees, as a Gymnasium space: the screen. What has no space of a fixed shape goes into ``info``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from gym_anything.errors import CaptureFailed
from gym_anything.integrations.gymnasium.action_space import screen_size
from gym_anything.specs.env_spec import EnvSpec

Picture = npt.NDArray[np.uint8]


def observation_space(spec: EnvSpec) -> spaces.Dict:
    """Return ``{"screen": Box(0, 255, (height, width, 3), uint8)}``. Raises: SpecInvalid without a stated size."""
    width, height = screen_size(spec)
    return spaces.Dict({"screen": spaces.Box(0, 255, (height, width, 3), np.uint8)})


def shape_of(space: spaces.Dict) -> tuple[int, ...]:
    """Return the shape of the pictures in a space of observations."""
    shape = space["screen"].shape
    assert shape is not None
    return shape


def picture(observation: Mapping[str, Any], shape: tuple[int, ...]) -> Picture:
    """Return the screen of an observation as an array of the caller's own, (height, width, 3).

    Raises: CaptureFailed when there is none, or one of another shape than the space's.
    """
    screen = observation.get("screen")
    if screen is None:
        raise CaptureFailed("the observation has no screen")
    if "array" in screen:
        seen = np.array(screen["array"], dtype=np.uint8)
    else:
        from PIL import Image

        with Image.open(Path(screen["path"])) as image:
            seen = np.array(image.convert("RGB"), dtype=np.uint8)
    if seen.shape != shape:
        raise CaptureFailed(
            f"the screen is {seen.shape[1]}×{seen.shape[0]}, the spec (and so the space) says {shape[1]}×{shape[0]}"
        )
    return seen


def beside_the_screen(observation: Mapping[str, Any]) -> dict[str, Any]:
    """Return the other modalities, as they came."""
    return {name: value for name, value in observation.items() if name != "screen"}
