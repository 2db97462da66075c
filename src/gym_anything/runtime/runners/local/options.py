"""What ``runner_options`` may say for a local world."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import field_validator

from gym_anything.runtime.session.desktop_options import DesktopOptions, sentences


class LocalOptions(DesktopOptions):
    """Options of one local world; all have a default that suits a task written for the ``debian-desktop`` preset."""

    sandbox: bool = True
    """False: programs run directly on this host, as this user, without any isolation. Only for worlds you trust."""
    host_paths: tuple[str, ...] = ()
    """Further host folders and files to show read-only at the same path, such as ``/opt/vendor``. None by default."""

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


def option_errors(options: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with these ``runner_options``, one sentence each; ``[]`` when all is well."""
    return sentences(LocalOptions, options, world="a local world")
