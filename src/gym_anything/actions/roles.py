"""Multi-agent roles: who sent which action.

A spec's ``multi_agent.roles`` names the roles. ``{role: action}`` (or ``{role: [actions]}``) is split into one action
per role, in the declared order whatever the dict's, and each copy carries ``_role``. With ``turn_based`` an action
without a role gets the current role, and the turn goes to the next role after each call that had such actions: all
plain actions of one ``env.step`` are one turn. An action that names its role itself (``_role``, or by ``{role: …}``)
does not use up a turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gym_anything.actions.values import refuse
from gym_anything.errors import ActionError, SpecInvalid

_TAKEN = frozenset({"mouse", "keyboard", "action", "type", "_role"})


class RoleSplitter:
    """Splits what ``env.step`` receives by role; keeps whose turn it is."""

    def __init__(self, roles: Sequence[str], *, turn_based: bool = False) -> None:
        """Raises: SpecInvalid for no roles, a role named twice, or one named like a part of an action."""
        if not roles or len(set(roles)) != len(roles) or not all(roles):
            raise SpecInvalid(
                f"multi_agent.roles must be different names, got {list(roles)}", detail={"key": "multi_agent.roles"}
            )
        taken = _TAKEN.intersection(roles)
        if taken:
            raise SpecInvalid(
                f"multi_agent.roles: {sorted(taken)} cannot be roles; action dicts use these keys themselves",
                detail={"key": "multi_agent.roles", "fix": "rename the role"},
            )
        self.roles = tuple(roles)
        self.turn_based = turn_based
        self._turn = 0

    @property
    def current(self) -> str | None:
        """The role whose turn it is; None when the roles do not take turns."""
        return self.roles[self._turn] if self.turn_based else None

    def restart(self) -> None:
        """Give the turn to the first role again (at reset)."""
        self._turn = 0

    def split(self, raw: Any) -> list[Any]:
        """Return the action dicts in order, each with ``_role`` where it has one.

        The turn advances only when this returns.
        Raises: ActionError for an unknown ``_role`` and for a dict that mixes roles with parts of an action.
        """
        items = [raw] if isinstance(raw, Mapping) or not isinstance(raw, list | tuple) else raw
        flat: list[Any] = []
        used_turn = False
        for item in items:
            if isinstance(item, Mapping) and any(role in item for role in self.roles):
                flat.extend(self._by_role(item))
            elif isinstance(item, Mapping) and "_role" in item:
                self._check_role(item["_role"])
                flat.append(item)
            elif isinstance(item, Mapping) and self.turn_based:
                flat.append({**item, "_role": self.current})
                used_turn = True
            else:
                flat.append(item)  # what is not a dict is the parser's to refuse
        if used_turn:
            self._turn = (self._turn + 1) % len(self.roles)
        return flat

    def _by_role(self, item: Mapping[str, Any]) -> list[Any]:
        strangers = [key for key in item if key not in self.roles]
        if strangers:
            raise ActionError(
                f"an action by role holds only roles ({', '.join(self.roles)}); {strangers[0]!r:.80} is none"
            )
        copies: list[Any] = []
        for role in self.roles:
            if role not in item:
                continue
            actions = item[role] if isinstance(item[role], list | tuple) else [item[role]]
            for action in actions:
                if not isinstance(action, Mapping):
                    raise refuse(role, f"must be an action dict or a list of them, got {action!r:.80}")
                if action.get("_role", role) != role:
                    raise refuse(role, f"holds an action of role {action['_role']!r:.80}")
                copies.append({**action, "_role": role})
        return copies

    def _check_role(self, role: Any) -> None:
        if role not in self.roles:
            raise refuse("_role", f"unknown role {role!r:.80}; the spec has {', '.join(self.roles)}")
