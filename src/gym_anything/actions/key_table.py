"""The data behind ``keys.py``: X11 names and numbers, and other vocabularies' names, read once when first needed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

UNICODE_KEYSYM_BASE = 0x01000000
"""Keysym of a character from U+0100 up = this + code point. Source: X11 protocol, appendix A."""


@dataclass(frozen=True, slots=True)
class KeyTable:
    """All key names.

    Attributes:
        number_of: X11 name to keysym number.
        name_of: keysym number to canonical name.
        alias_of: vocabulary ("general", "vk", "key", "keycode") to {normalised alias: canonical name}.
    """

    number_of: dict[str, int]
    name_of: dict[int, str]
    alias_of: dict[str, dict[str, str]]


def normalised(name: str) -> str:
    """Return ``name`` in lower case without white space, ``_`` and ``-``: how aliases are compared."""
    return "".join(name.casefold().replace("_", "").replace("-", "").split())


@cache
def key_table() -> KeyTable:
    """Read the two data files (about 2 ms, once)."""
    number_of, name_of = _read_keysyms()
    alias_of = _read_aliases()
    general = alias_of["general"]
    for alias, name in _spellings(number_of, name_of).items():
        general.setdefault(alias, name)
    return KeyTable(number_of, name_of, alias_of)


def _lines(file_name: str) -> list[str]:
    text = files("gym_anything.actions").joinpath(file_name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def _read_keysyms() -> tuple[dict[str, int], dict[int, str]]:
    number_of: dict[str, int] = {}
    name_of: dict[int, str] = {}
    for line in _lines("keysyms.txt"):
        name, number_hex = line.split()
        number = int(number_hex, 16)
        number_of[name] = number
        if number < UNICODE_KEYSYM_BASE or number >= UNICODE_KEYSYM_BASE + 0x110000:
            name_of.setdefault(number, name)  # characters from U+0100 up are named by their number
    for char in "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz":
        number_of[char] = ord(char)
        name_of[ord(char)] = char
    return number_of, name_of


def _read_aliases() -> dict[str, dict[str, str]]:
    alias_of: dict[str, dict[str, str]] = {}
    section: dict[str, str] = {}
    for line in _lines("key_aliases.txt"):
        if line.startswith("["):
            section = alias_of.setdefault(line.strip("[]"), {})
            continue
        name, _, aliases = line.partition(":")
        for alias in aliases.split():
            section[alias] = name
    return alias_of


def _spellings(number_of: dict[str, int], name_of: dict[int, str]) -> dict[str, str]:
    """Return the normalised spellings of the X11 names that mean one key only (``eacute``/``Eacute`` do not)."""
    found: dict[str, str] = {}
    ambiguous: set[str] = set()
    for name, number in number_of.items():
        if len(name) == 1:
            continue
        spelling = normalised(name)
        canonical = name_of.get(number, f"U{number - UNICODE_KEYSYM_BASE:04X}")
        if found.setdefault(spelling, canonical) != canonical:
            ambiguous.add(spelling)
    return {spelling: name for spelling, name in found.items() if spelling not in ambiguous}
