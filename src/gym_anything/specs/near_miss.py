"""Did you mean: the known word that an unknown one was probably meant to be."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def near_miss(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that ``word`` is probably a slip of, or None.

    Found are: other case or hyphens (``preTask``, ``pre-task``), typing slips (``obsevation``), a singular for a
    plural, and the tail of a longer name (``cache_level`` for ``default_cache_level``).
    """
    if not 2 <= len(word) <= 80:
        return None
    candidates = list(known)
    folded = {_fold(k): k for k in candidates}
    mine = _fold(word)
    if mine in folded:
        return folded[mine]
    close = difflib.get_close_matches(mine, list(folded), n=1, cutoff=0.8)
    if close:
        return folded[close[0]]
    tails = [k for k in candidates if "_" in word and k.endswith(f"_{word}")]
    return tails[0] if len(tails) == 1 else None


def listed(names: Iterable[str], limit: int = 40) -> str:
    """Return the names as one line, shortened when there are very many."""
    all_names = list(names)
    shown = ", ".join(all_names[:limit])
    more = len(all_names) - limit
    return f"{shown} and {more} more" if more > 0 else shown or "none"


def suggestion(word: str, known: Iterable[str], what: str) -> str:
    """Return the fix sentence for an unknown name: a near miss if there is one, and what exists."""
    names = list(known)
    close = near_miss(word, names)
    return f"{f'did you mean {close!r}? ' if close else ''}{what}: {listed(names)}"


def _fold(word: str) -> str:
    return "".join(c for c in word.lower() if c.isalnum())
