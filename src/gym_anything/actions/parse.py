"""From action dicts to typed actions; the signatures (the body follows)."""

from __future__ import annotations

from typing import Any

from gym_anything.actions.model import Action


def parse_action(raw: Any, *, screen: tuple[int, int] | None) -> Action:
    """Parse one action dict; ``screen`` is (width, height) in guest pixels or None when unknown. Raises: ActionError."""
    raise NotImplementedError


def parse_actions(raw: Any, *, screen: tuple[int, int] | None) -> list[Action]:
    """Parse one dict or a list of dicts, all before anything is done. Raises: ActionError naming the index."""
    raise NotImplementedError
