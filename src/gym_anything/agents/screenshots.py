"""The screen of an observation, as an image of the agent's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gym_anything.errors import AgentError

if TYPE_CHECKING:
    from PIL.Image import Image


def screen_image(obs: Mapping[str, Any]) -> Image:
    """Return the observation's screen, from memory (fast mode) or from its file.

    Raises: AgentError when there is none: an agent that looks at screenshots cannot play then.
    """
    from PIL import Image as images

    screen = obs.get("screen")
    if isinstance(screen, Mapping):
        if screen.get("image") is not None:
            return screen["image"]  # type: ignore[no-any-return]
        if screen.get("path"):
            with images.open(screen["path"]) as image:
                image.load()
                return image
    raise AgentError(
        "this agent looks at screenshots and the observation has none; "
        'give the environment {"type": "rgb_screen"} among its observations'
    )
