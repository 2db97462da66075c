"""Chords: keys pressed together, from the strings and lists that agents write."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from gym_anything.actions.keys import MODIFIERS, canonical_key, char_of_keysym, find_key, keysym_of, unknown_key
from gym_anything.errors import ActionError

MOST_KEYS = 32
LONGEST_CHORD = 512
"""Characters in a chord string."""


def keys_of(spec: str) -> tuple[str, ...]:
    """Return the canonical keys of one key name or chord string, in the order to press them.

    Chords: ``ctrl+shift+t``, ``CTRL+,``, ``ctrl++``, ``<ctrl>c``; also ``ctrl c`` and ``ctrl-c`` when all but the last
    are modifiers. Letters of a chord are as ``chord`` has them.
    Raises: ActionError.
    """
    if not isinstance(spec, str):
        raise ActionError(f"a key is named by a string, got {spec!r:.80}")
    return chord((spec,))


def chord(specs: Iterable[str]) -> tuple[str, ...]:
    """Return the canonical keys of several names or chord strings pressed together.

    In a chord with a modifier an upper-case letter names the key by its cap: ``["CTRL", "C"]`` is Control and ``c``,
    not Control, Shift and ``c``; Shift is said aloud. Without a modifier ``A`` is the capital letter.
    Raises: ActionError for an unknown key and for a key that is named twice (it cannot be pressed while it is down).
    """
    keys: list[str] = []
    for spec in specs:
        if len(keys) > MOST_KEYS:
            raise ActionError(f"a chord has at most {MOST_KEYS} keys; use keyboard.text to type text")
        single = find_key(spec) if isinstance(spec, str) else canonical_key(spec)
        keys.extend((single,) if single is not None else _split_chord(spec))
    if any(key in MODIFIERS for key in keys):
        keys = [_keycap(key) for key in keys]
    for index, key in enumerate(keys):
        if key in keys[:index]:
            raise ActionError(f"key {key!r} is named twice in one chord; send one action for each press")
    return tuple(keys)


def _keycap(key: str) -> str:
    """Return the key whose cap shows this letter: the lower-case one."""
    char = char_of_keysym(keysym_of(key))
    if char is None or not char.isupper() or len(char.lower()) != 1:
        return key
    return canonical_key(char.lower())


def _split_chord(spec: str) -> Sequence[str]:
    """Split a chord string into canonical keys; raises for the part that is unknown."""
    if len(spec) > LONGEST_CHORD:
        raise unknown_key(spec)
    text = re.sub(r"<([A-Za-z_]+)>(?:\+?(?=.))?", lambda m: m[1] + "+" * (m.end() < len(spec)), spec).strip()
    if not text:
        raise unknown_key(spec)
    if "+" in text:
        parts = _plus_parts(text)
        if "" in parts:
            raise ActionError(f"a key is missing in the chord {spec!r:.80}", detail={"key": spec[:64]})
        return [canonical_key(part) for part in parts]
    for pieces in (text.split(), text.split("-") if not text.endswith("-") else [*text[:-2].split("-"), "-"]):
        found = [find_key(piece) for piece in pieces]
        if None not in found and all(key in MODIFIERS for key in found[:-1]):
            return [key for key in found if key is not None]
    raise unknown_key(spec)


def _plus_parts(text: str) -> list[str]:
    head = text.removesuffix("+").rstrip()
    if head != text and head.endswith("+"):  # "ctrl++" and "ctrl + +" end with the key "+"
        return [*(part.strip() for part in head.removesuffix("+").split("+")), "+"]
    return [part.strip() for part in text.split("+")]
