"""Where a setting comes from: argument, environment, file, preset or default, in that order. The one place for it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Generic, Literal, TypeVar

from gym_anything.errors import SettingInvalid

T = TypeVar("T")

Source = Literal["argument", "environment", "file", "preset", "default"]


class Unset(Enum):
    """The type of ``UNSET``: "nobody said anything", which is not ``None``, ``False`` or ``0``."""

    UNSET = "unset"

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "UNSET"


UNSET = Unset.UNSET


@dataclass(frozen=True, slots=True)
class Resolved(Generic[T]):
    """A setting's value and where it came from, so that a report can say both."""

    value: T
    source: Source


def resolve(
    name: str,
    *,
    argument: T | Unset = UNSET,
    environment: T | Unset = UNSET,
    file: T | Unset = UNSET,
    preset: T | Unset = UNSET,
    default: T | Unset = UNSET,
) -> Resolved[T]:
    """Return the first given value in the order argument, environment, file, preset, default.

    ``None`` is a value like any other; where an API uses ``None`` for "not given", pass ``given(x)``.

    Args:
        name: the setting's name, for the error.
        environment: the parsed value, usually ``variable.lookup()``.
    Raises: SettingInvalid when no source gives a value.
    """
    sources: tuple[tuple[Source, T | Unset], ...] = (
        ("argument", argument),
        ("environment", environment),
        ("file", file),
        ("preset", preset),
        ("default", default),
    )
    for source, value in sources:
        if not isinstance(value, Unset):
            return Resolved(value, source)
    raise SettingInvalid(f"setting {name!r} has no value and no default", detail={"setting": name})


def given(value: T | None) -> T | Unset:
    """Turn ``None`` into ``UNSET``, for arguments where ``None`` means "not given"."""
    return UNSET if value is None else value
