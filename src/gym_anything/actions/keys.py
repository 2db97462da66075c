"""The one key table: any vendor's name for a key in, canonical X11 keysym name and number out.

Canonical names: ASCII letters and digits are themselves; every other Latin-1 character and every key without a
character has its X11 name (``comma``, ``eacute``, ``Return``, ``Control_L``); characters from U+0100 up are ``U`` and
their code point in upper-case hex (``U20AC``). ``canonical_key`` of a canonical name is that name.

A key is looked up in this order: a single character; an exact X11 name; the vocabulary that a prefix names (``VK_``,
``KEY_``, ``KEYCODE_``, ``Key.``); the alias table, without regard to case, spaces, ``_`` and ``-``; ``U<hex>``. A name
that none of them knows is an ``ActionError`` that lists near matches: a key is never guessed.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from gym_anything.actions.key_table import UNICODE_KEYSYM_BASE, key_table, normalised
from gym_anything.errors import ActionError

MODIFIERS = frozenset(
    {"Shift_L", "Shift_R", "Control_L", "Control_R", "Alt_L", "Alt_R", "Meta_L", "Meta_R", "Super_L", "Super_R"}
    | {"Hyper_L", "Hyper_R", "ISO_Level3_Shift", "Mode_switch", "XF86Fn"}
)
"""Canonical names of the keys that change what another key means."""

_TYPED_CONTROL = {"\n": "Return", "\r": "Return", "\t": "Tab", "\b": "BackSpace"}
_KEY_CONTROL = {**_TYPED_CONTROL, "\x1b": "Escape", "\x7f": "Delete"}
_PREFIXES = (("keycode_", "keycode"), ("vk_", "vk"), ("key_", "key"), ("key.", "general"))
_CODE_NAME = re.compile(r"(?:Key|Digit|[Dd])([A-Z0-9])")  # KeyA, Digit1, D1
_UNICODE_NAME = re.compile(r"[Uu]\+?([0-9A-Fa-f]{4,6})")
_LONGEST_NAME = 64


def canonical_key(name: str) -> str:
    """Return the canonical X11 keysym name of one key.

    Args:
        name: a name from any vocabulary named above, or a single character.
    Raises: ActionError, with near matches in the message and in ``detail["near"]``, when no vocabulary has it.
    """
    if not isinstance(name, str):
        raise ActionError(f"a key is named by a string, got {name!r:.80}")
    found = find_key(name)
    if found is None:
        raise unknown_key(name)
    return found


def keysym_of(name: str) -> int:
    """Return the X11 keysym number of a key (canonical name or alias). Raises: ActionError."""
    canonical = canonical_key(name)
    number = key_table().number_of.get(canonical)
    if number is not None:
        return number
    return _keysym_of_codepoint(int(canonical[1:], 16))


def keysym_for_char(ch: str) -> int:
    r"""Return the keysym that types one character of a text.

    ``\n`` and ``\r`` are Return, ``\t`` Tab, ``\b`` BackSpace.
    Raises: ActionError for any other control character, a surrogate, or not exactly one character: no key types it.
    """
    if len(ch) != 1:
        raise ActionError(f"exactly one character is needed, got {ch!r:.40}")
    if not is_typable(ch):
        raise ActionError(f"no key types {ch!r} (U+{ord(ch):04X}); name the key in keyboard.keys instead")
    control = _TYPED_CONTROL.get(ch)
    return key_table().number_of[control] if control else _keysym_of_codepoint(ord(ch))


def char_of_keysym(keysym: int) -> str | None:
    """Return the character a keysym types, or None for a key that types none (Shift_L, F1, Return …)."""
    if 0x20 <= keysym <= 0x7E or 0xA0 <= keysym <= 0xFF:
        return chr(keysym)
    codepoint = keysym - UNICODE_KEYSYM_BASE
    return chr(codepoint) if 0x100 <= codepoint <= 0x10FFFF and is_typable(chr(codepoint)) else None


def is_typable(ch: str) -> bool:
    """Tell whether a key can type this character: not a control character but the four above, not a surrogate."""
    return ch in _TYPED_CONTROL or unicodedata.category(ch) not in ("Cc", "Cs")


@lru_cache(maxsize=4096)
def find_key(name: str) -> str | None:
    """Return the canonical name of one key, or None when no vocabulary has it."""
    if len(name) > _LONGEST_NAME:
        return None
    name = unicodedata.normalize("NFC", name)
    if len(name) == 1:
        return _key_of_char(name)
    stripped = name.strip()
    if len(stripped) == 1:
        return _key_of_char(stripped)
    table = key_table()
    if stripped in table.number_of:
        return _name_of_number(table.number_of[stripped])
    code = _CODE_NAME.fullmatch(stripped)
    if code:
        return code[1].lower()
    return _by_prefix(stripped) or table.alias_of["general"].get(_alias_spelling(stripped)) or _unicode_name(stripped)


def _alias_spelling(name: str) -> str:
    """Return the spelling to look up, or none: "shift left" is a chord, "left shift" and "shiftleft" are a key."""
    words = name.casefold().split()
    if not name or name[0] in "-_" or name[-1] in "-_":
        return ""
    if len(words) > 1 and key_table().alias_of["general"].get(words[0]) in MODIFIERS:
        return ""
    return normalised(name)


def _by_prefix(name: str) -> str | None:
    lowered = name.casefold()
    general = key_table().alias_of["general"]
    for prefix, vocabulary in _PREFIXES:
        rest = lowered.removeprefix(prefix)
        if rest == lowered or not rest:
            continue
        if len(rest) == 1:
            return _key_of_char(rest)
        spelling = normalised(rest)
        return key_table().alias_of[vocabulary].get(spelling) or general.get(spelling)
    return None


def _key_of_char(ch: str) -> str | None:
    control = _KEY_CONTROL.get(ch)
    if control:
        return control
    special = key_table().alias_of["general"].get(ch)  # ⌘ and its like name keys
    if special:
        return special
    return _name_of_number(_keysym_of_codepoint(ord(ch))) if is_typable(ch) else None


def _unicode_name(name: str) -> str | None:
    match = _UNICODE_NAME.fullmatch(name)
    if match is None:
        return None
    codepoint = int(match[1], 16)
    if codepoint < 0x20 or codepoint > 0x10FFFF or not is_typable(chr(codepoint)):
        return None
    return _name_of_number(_keysym_of_codepoint(codepoint))


def _keysym_of_codepoint(codepoint: int) -> int:
    return codepoint if codepoint <= 0xFF else UNICODE_KEYSYM_BASE + codepoint


def _name_of_number(number: int) -> str:
    return key_table().name_of.get(number) or f"U{number - UNICODE_KEYSYM_BASE:04X}"


def unknown_key(name: str) -> ActionError:
    """Build the error of an unknown key, with near matches."""
    near = _near_keys(name)
    hint = f"; did you mean {', '.join(near)}?" if near else "; use an X11 keysym name, or keyboard.text to type text"
    return ActionError(f"unknown key {name!r:.80}{hint}", detail={"key": name[:_LONGEST_NAME], "near": near})


def _near_keys(name: str) -> list[str]:
    import difflib

    table = key_table()
    spelling = normalised(name[:_LONGEST_NAME])
    if len(spelling) < 2:
        return []
    known: dict[str, tuple[str, ...]] = {normalised(name): (name,) for name in table.number_of}
    known.update({alias: (name,) for alias, name in table.alias_of["general"].items()})
    for name in table.number_of:  # eacute and Eacute
        if name not in known[normalised(name)] and name in table.name_of.values():
            known[normalised(name)] += (name,)
    near = difflib.get_close_matches(spelling, known, n=6, cutoff=0.7)
    return list(dict.fromkeys(key for alias in near for key in known[alias]))[:3]
