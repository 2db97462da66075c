"""The plan of a desktop session: plain JSON data, made by the runner, carried out beside or inside the world."""

from __future__ import annotations

from typing import TypedDict


class SessionPlan(TypedDict):
    """The desktop of a world: what ``session`` starts, as whom, in which environment."""

    display: int
    user: list[int]
    groups: list[int]
    switch_user: bool
    home: str
    env: dict[str, str]
    early: list[list[str]]
    server_argv: list[str]
    desktop_argv: list[str]
    gradient: list[int]
    wallpaper: list[str]
    size: list[int]
    window_manager: list[str]
    panel: list[str]
    stale_locks: list[list[str]]
    wait_s: float
