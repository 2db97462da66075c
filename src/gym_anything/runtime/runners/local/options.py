"""What ``runner_options`` may say for a local world."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

WINDOW_MANAGERS = ("openbox", "none")
PANELS = ("tint2", "none")


class LocalOptions(BaseModel):
    """Options of one local world; all have a default that suits a task written for the ``debian-desktop`` preset."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    sandbox: bool = True
    """False: programs run directly on this host, as this user, without any isolation. Only for worlds you trust."""
    window_manager: Literal["openbox", "none"] = "openbox"
    """Window manager of the desktop. openbox: small, and quick to start."""
    panel: Literal["tint2", "none"] = "tint2"
    """Panel with launchers, task list and clock. tint2: the lightest that has all three."""
    wallpaper: str = "default"
    """``default`` (a gradient of ours), a colour ``#rrggbb``, or the absolute path of a picture on the host."""
    opengl: bool = False
    """OpenGL (GLX, drawn by Mesa in software) for 3D programs. False: it makes the X server 50 MiB larger."""
    accessibility: bool = True
    """Give programs a session bus, which their accessibility tree (``ui_tree``) needs. True: it costs 1 MiB."""
    host_paths: tuple[str, ...] = ()
    """Further host folders and files to show read-only at the same path, such as ``/opt/vendor``. None by default."""
    start_timeout_s: float = Field(default=60.0, gt=0, le=3600)
    """Bound of a start, in seconds. 60: a start takes a second, a heavily loaded machine may need many."""

    @model_validator(mode="after")
    def _panel_is_managed(self) -> LocalOptions:
        if self.window_manager == "none" and self.panel != "none":
            raise ValueError("a panel needs a window manager; set panel to 'none', too")
        return self

    @field_validator("host_paths", mode="before")
    @classmethod
    def _list_to_tuple(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    @field_validator("host_paths")
    @classmethod
    def _absolute(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for path in value:
            if not path.startswith("/") or path == "/" or ".." in path.split("/"):
                raise ValueError(f"{path!r} is not an absolute path below /")
        return value

    @field_validator("wallpaper")
    @classmethod
    def _known_wallpaper(cls, value: str) -> str:
        if value == "default" or value.startswith("/"):
            return value
        digits = value[1:]
        if value.startswith("#") and len(digits) == 6 and all(c in "0123456789abcdefABCDEF" for c in digits):
            return value
        raise ValueError("must be 'default', a colour such as '#224466', or an absolute path")


def option_errors(options: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with these ``runner_options``, one sentence each; ``[]`` when all is well."""
    try:
        LocalOptions.model_validate(dict(options))
    except ValidationError as error:
        return [_sentence(item["loc"], item["type"], item["msg"]) for item in error.errors()]
    return []


def _sentence(place: tuple[int | str, ...], kind: str, message: str) -> str:
    name = ".".join(str(part) for part in place) or "panel"
    if kind != "extra_forbidden":
        return f"runner_options.{name}: {message.removeprefix('Value error, ')}"
    known = sorted(LocalOptions.model_fields)
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
    return f"runner_options.{name}: a local world has no such option; {hint}"
