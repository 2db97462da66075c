"""Environment variables: each is declared once, by whoever reads it, and one registry knows them all.

A module that reads a variable declares it at import time and keeps the ``EnvVar``; nothing else in the package reads
``os.environ`` for settings. The reference documentation and ``doctor`` are made from the registry.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from gym_anything._util.settings import UNSET, Unset
from gym_anything.errors import PluginConflict, SettingInvalid

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class EnvVar(Generic[T]):
    """One declared variable.

    Attributes:
        name: its full name.
        parse: text to value; raises ``ValueError`` with the reason when the text is wrong.
        default: the value when it is unset or empty.
        doc: one or two sentences: meaning, unit, default's reason.
        owner: the module or party that reads it.
        secret: its value is never shown, logged or stored.
    """

    name: str
    parse: Callable[[str], T]
    default: T
    doc: str
    owner: str
    secret: bool = False

    def get(self, environ: Mapping[str, str] | None = None) -> T:
        """Return the present value, or the default.

        Raises: SettingInvalid when the variable is set to something that does not parse.
        """
        value = self.lookup(environ)
        return self.default if isinstance(value, Unset) else value

    def lookup(self, environ: Mapping[str, str] | None = None) -> T | Unset:
        """Return the present value, or ``UNSET``; for ``settings.resolve(environment=…)``."""
        text = (os.environ if environ is None else environ).get(self.name, "")
        if not text.strip():
            return UNSET
        try:
            return self.parse(text)
        except ValueError as error:
            shown = "its value" if self.secret else repr(text)
            reason = "" if self.secret else f": {error}"
            raise SettingInvalid(
                f"environment variable {self.name}: {shown} is not usable{reason}. {self.doc}",
                detail={"setting": self.name, "source": "environment", "fix": f"unset {self.name}"},
            ) from (None if self.secret else error)


_SHORTEST_SECRET = 8
_DECLARED: dict[str, EnvVar[object]] = {}


def declare(
    name: str, parse: Callable[[str], T], default: T, doc: str, owner: str, *, secret: bool = False
) -> EnvVar[T]:
    """Declare a variable and return it. Declaring the same one again (a reloaded module) is fine.

    Raises: PluginConflict when another owner has declared that name.
    """
    other = _DECLARED.get(name)
    if other is not None and other.owner != owner:
        raise PluginConflict(f"environment variable {name} is declared by both {other.owner} and {owner}")
    variable = EnvVar(name, parse, default, doc, owner, secret)
    _DECLARED[name] = variable  # type: ignore[assignment]
    return variable


def declared() -> list[EnvVar[object]]:
    """Return all variables declared so far (by the modules imported so far), by name."""
    return [_DECLARED[name] for name in sorted(_DECLARED)]


def secret_values(environ: Mapping[str, str] | None = None) -> list[str]:
    """Return the values of every secret variable that is set, to be scrubbed from what is written.

    Very short ones are left out: placeholders such as ``EMPTY`` would be found in ordinary text.
    """
    place = os.environ if environ is None else environ
    values = (place.get(v.name, "").strip() for v in declared() if v.secret)
    return [value for value in values if len(value) >= _SHORTEST_SECRET]


def text(value: str) -> str:
    """Take any text as it is."""
    return value


def boolean(value: str) -> bool:
    """Parse 1/0, true/false, yes/no, on/off."""
    word = value.strip().lower()
    if word in ("1", "true", "yes", "on"):
        return True
    if word in ("0", "false", "no", "off"):
        return False
    raise ValueError("use 1 or 0")


def number(value: str) -> float:
    """Parse a finite number."""
    result = float(value)
    if result != result or result in (float("inf"), float("-inf")):
        raise ValueError("a finite number is needed")
    return result


def not_negative(value: str) -> float:
    """Parse a finite number that is zero or more (seconds, milliseconds)."""
    result = number(value)
    if result < 0:
        raise ValueError("a number of zero or more is needed")
    return result


def whole_number(value: str) -> int:
    """Parse an integer that is zero or more."""
    result = int(value)
    if result < 0:
        raise ValueError("an integer of zero or more is needed")
    return result


def path(value: str) -> Path:
    """Parse a path; ``~`` is the home folder."""
    return Path(value).expanduser()


def one_of(*choices: str) -> Callable[[str], str]:
    """Return a parser that takes only these words."""

    def parse(value: str) -> str:
        if value not in choices:
            raise ValueError(f"use one of {', '.join(choices)}")
        return value

    return parse
