"""What ``runner_options`` may say for an Apptainer world."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from gym_anything.runtime.session.desktop_options import DesktopOptions, sentences


class ApptainerOptions(DesktopOptions):
    """Options of one Apptainer world; image and binds stand in the spec's own ``apptainer``."""

    image_timeout_s: float = Field(default=1800.0, gt=0, le=24 * 3600)
    """Bound of building or fetching the image, in seconds. 1800: some gigabytes over a slow line."""


def option_errors(options: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with these ``runner_options``, one sentence each; ``[]`` when all is well."""
    return sentences(ApptainerOptions, options, world="an Apptainer world")
