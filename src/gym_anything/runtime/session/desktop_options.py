"""What ``runner_options`` may say about the desktop of a world, whichever runner brings it up."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator


class DesktopOptions(BaseModel):
    """The look of a desktop; every option has a default that suits a task for the ``debian-desktop`` preset."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    window_manager: Literal["openbox", "none"] = "openbox"
    """Window manager of the desktop. openbox: small, and quick to start."""
    panel: Literal["tint2", "none"] = "tint2"
    """Panel with launchers, task list and tray. tint2: the lightest that has all three."""
    wallpaper: str = "default"
    """``default`` (a gradient of ours), a colour ``#rrggbb``, or the absolute path of a picture."""
    opengl: bool = False
    """OpenGL (GLX, drawn by Mesa in software) for 3D programs. False: it makes the X server 50 MiB larger."""
    accessibility: bool = True
    """Give programs a session bus, which their accessibility tree (``ui_tree``) needs. True: it costs 1 MiB."""
    start_timeout_s: float = Field(default=60.0, gt=0, le=3600)
    """Bound of a start, in seconds. 60: a start takes a second, a heavily loaded machine may need many."""

    @model_validator(mode="after")
    def _panel_is_managed(self) -> DesktopOptions:
        if self.window_manager == "none" and self.panel != "none":
            raise ValueError("a panel needs a window manager; set panel to 'none', too")
        return self

    @field_validator("wallpaper")
    @classmethod
    def _known_wallpaper(cls, value: str) -> str:
        if value == "default" or value.startswith("/"):
            return value
        digits = value[1:]
        if value.startswith("#") and len(digits) == 6 and all(c in "0123456789abcdefABCDEF" for c in digits):
            return value
        raise ValueError("must be 'default', a colour such as '#224466', or an absolute path")


def sentences(model: type[BaseModel], options: Mapping[str, Any], *, world: str) -> list[str]:
    """Return what is wrong with these ``runner_options``, one sentence each; ``[]`` when all is well.

    Args: model: the runner's own options. world: how a person calls such a world (``a local world``).
    """
    try:
        model.model_validate(dict(options))
    except ValidationError as error:
        return [_sentence(model, world, item["loc"], item["type"], item["msg"]) for item in error.errors()]
    return []


def _sentence(model: type[BaseModel], world: str, place: tuple[int | str, ...], kind: str, message: str) -> str:
    name = ".".join(str(part) for part in place) or "panel"
    if kind != "extra_forbidden":
        return f"runner_options.{name}: {message.removeprefix('Value error, ')}"
    known = sorted(model.model_fields)
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
    return f"runner_options.{name}: {world} has no such option; {hint}"
