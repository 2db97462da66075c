"""The texts that are typed, and how much of them arrived."""

from __future__ import annotations

ASCII = ("".join(chr(code) for code in range(0x20, 0x7F)) * 11)[:1000]
MIXED = ("Grüße aus Köln, привет, שלום, 你好世界, こんにちは, 안녕, ½ €, 😀🎉🚀. " * 3)[:120]
"""Letters of many scripts, as people write them."""


def arrived_in_order(typed: str, arrived: str) -> int:
    """Return how many of the typed characters arrived in order: the length of the longest common subsequence.

    Source: M. Crochemore et al., "A fast and practical bit-vector algorithm for the longest common subsequence
    problem", 2001: one big-integer addition for each character that arrived.
    """
    places: dict[str, int] = {}
    for place, character in enumerate(typed):
        places[character] = places.get(character, 0) | 1 << place
    everything = (1 << len(typed)) - 1
    row = everything
    for character in arrived:
        here = row & places.get(character, 0)
        row = ((row + here) | (row - here)) & everything
    return len(typed) - row.bit_count()
