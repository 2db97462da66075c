"""What ``runner_options`` may say for a Docker world."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from gym_anything.runtime.session.desktop_options import DesktopOptions, sentences


class DockerOptions(DesktopOptions):
    """Options of one Docker world; all have a default that suits a task written for the ``debian-desktop`` preset."""

    pull: Literal["missing", "never"] = "missing"
    """Fetch an image that the engine does not have from its registry. missing: as ``docker run`` does."""
    start_timeout_s: float = Field(default=120.0, gt=0, le=3600)
    """Bound of a start without the making of its image, in seconds. 120: it takes one; a loaded engine needs many."""
    image_timeout_s: float = Field(default=1800.0, gt=0, le=24 * 3600)
    """Bound of loading, pulling or building the image, in seconds. 1800: some gigabytes over a slow line."""


def option_errors(options: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with these ``runner_options``, one sentence each; ``[]`` when all is well."""
    return sentences(DockerOptions, options, world="a Docker world")
