"""Settings of an agent (``--agent-arg K=V``), read strictly: what is wrong is refused before a world starts."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from gym_anything.errors import SettingInvalid

_SIZE = re.compile(r"(\d{1,5})\s*[xX]\s*(\d{1,5})")


class Arguments:
    """Reads one setting after the other; ``refuse_unknown`` at the end names what nobody asked for.

    Raises: SettingInvalid (blame caller) that names the setting, never the value of a secret one.
    """

    def __init__(self, given: Mapping[str, Any], agent: str) -> None:
        self._given = dict(given)
        self._agent = agent
        self._known: list[str] = []

    def text(self, name: str, default: str | None = None, *, secret: bool = False) -> str | None:
        """Return a text; numbers are taken as written."""
        value = self._take(name)
        if value is None:
            return default
        if isinstance(value, bool | Mapping | list):
            raise self._wrong(name, "secret" if secret else value, "must be text")
        return str(value)

    def choice(self, name: str, options: Sequence[str], default: str) -> str:
        """Return one of some words."""
        value = self.text(name, default)
        assert value is not None
        if value not in options:
            raise self._wrong(name, value, f"must be one of {', '.join(options)}")
        return value

    def number(self, name: str, default: float | None = None, *, low: float = 0.0) -> float | None:
        """Return a finite number, at least ``low``."""
        value = self._take(name)
        if value is None:
            return default
        try:
            number = math.nan if isinstance(value, bool) else float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not (math.isfinite(number) and number >= low):
            raise self._wrong(name, value, f"must be a number of {low:g} or more")
        return number

    def count(self, name: str, default: int | None = None, *, low: int = 1) -> int | None:
        """Return a whole number, at least ``low``."""
        number = self.number(name, None, low=low)
        if number is None:
            return default
        if number != int(number):
            raise self._wrong(name, number, "must be a whole number")
        return int(number)

    def flag(self, name: str, default: bool = False) -> bool:
        """Return true or false."""
        value = self._take(name)
        if value is None:
            return default
        if isinstance(value, bool):
            return value
        if str(value).lower() in ("1", "true", "yes", "0", "false", "no"):
            return str(value).lower() in ("1", "true", "yes")
        raise self._wrong(name, value, "must be true or false")

    def size(self, name: str) -> tuple[int, int] | None:
        """Return ``WIDTHxHEIGHT``."""
        value = self.text(name)
        match = _SIZE.fullmatch(value) if value is not None else None
        if value is not None and (match is None or 0 in (int(match[1]), int(match[2]))):
            raise self._wrong(name, value, "must be WIDTHxHEIGHT, such as 1280x800")
        return (int(match[1]), int(match[2])) if match is not None else None

    def refuse_unknown(self) -> None:
        """Refuse settings that were given and never asked for."""
        unknown = sorted(set(self._given) - set(self._known))
        if unknown:
            near = difflib.get_close_matches(unknown[0], self._known, n=1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise SettingInvalid(
                f"{self._agent} has no argument {unknown[0]!r}{hint}; it has {', '.join(sorted(self._known))}",
                detail={"setting": unknown[0], "known": sorted(self._known)},
            )

    def _take(self, name: str) -> Any:
        self._known.append(name)
        value = self._given.get(name)
        return None if value == "" else value

    def _wrong(self, name: str, value: Any, what: str) -> SettingInvalid:
        shown = "a value that is not usable" if value == "secret" else f"{value!r:.80}"
        return SettingInvalid(f"agent argument {name}: {shown} {what} (agent {self._agent})", detail={"setting": name})
