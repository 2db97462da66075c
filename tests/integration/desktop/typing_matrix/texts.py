"""Random texts of many scripts, for typing them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

LENGTH = 200
LAYOUTS = ("us", "de", "fr", "ru")

ASCII = "".join(map(chr, range(0x20, 0x7F)))
LATIN1 = "".join(map(chr, range(0xA0, 0x100)))
CYRILLIC = "".join(map(chr, [*range(0x400, 0x460), 0x490, 0x491])) + "  .,—«»№"
HEBREW = "".join(map(chr, [*range(0x5D0, 0x5EB), 0x5B0, 0x5B4, 0x5BC])) + "   .,׳״־"
GREEK = "".join(chr(c) for c in range(0x386, 0x3CF) if chr(c).isalpha())
CJK = "".join(map(chr, range(0x4E00, 0x9FA6)))
COMBINING = "\u0300\u0301\u0302\u0303\u0308\u030a\u0327"
PICTURES = "".join(map(chr, [*range(0x1F600, 0x1F645), *range(0x1F300, 0x1F321), *range(0x1F40C, 0x1F43F), 0x1FAE0]))
SEQUENCES = [
    "👩‍💻",
    "👨‍👩‍👧‍👦",
    "🏳️‍🌈",
    "👋🏽",
    "🧑🏿‍🚀",
    "🇩🇪",
    "🇯🇵",
    "☃️",
    "❤️",
    "✈︎",
    "1️⃣",
    "🏴󠁧󠁢󠁳󠁣󠁴󠁿",
]
PHRASES = [
    '<a href="x">&amp;</a>',
    '"; rm -rf /',
    "--help -0.07",
    "$(id) `id` %s",
    "\\ \\\\ 'quoted'",
    "{[(~^´`@€|)]}",
    "a\tb",
    "  two  spaces  ",
    "\n",
]


def _fill(pieces: Iterator[str], length: int) -> str:
    """Join pieces to exactly this many characters; the last one may be cut."""
    text = ""
    while len(text) < length:
        text += next(pieces)
    return text[:length]


def _from(alphabet: str) -> Callable[[Random], str]:
    return lambda random: "".join(random.choices(alphabet, k=LENGTH))


def _cjk(random: Random) -> str:
    return "".join(random.sample(CJK, LENGTH))


def _emoji(random: Random) -> str:
    def pieces() -> Iterator[str]:
        while True:
            yield random.choice(PICTURES) if random.random() < 0.6 else random.choice(SEQUENCES)

    return _fill(pieces(), LENGTH)


def _mixed(random: Random) -> str:
    def piece() -> str:
        match random.randrange(7):
            case 0:
                return random.choice(PHRASES)
            case 1:
                return random.choice("aeinouAEU") + random.choice(COMBINING)
            case 2:
                return random.choice(SEQUENCES) if random.random() < 0.5 else random.choice(PICTURES)
            case n:
                return "".join(random.choices((ASCII, GREEK + HEBREW, CYRILLIC + LATIN1, CJK)[n - 3], k=4))

    return _fill(iter(piece, ""), LENGTH - 2) + "\n\n"


SCRIPTS: dict[str, Callable[[Random], str]] = {
    "ascii": _from(ASCII),
    "latin1": _from(LATIN1 + ASCII),
    "cyrillic": _from(CYRILLIC),
    "hebrew": _from(HEBREW),
    "cjk": _cjk,
    "emoji": _emoji,
    "mixed": _mixed,
}
"""Each makes another text of ``LENGTH`` characters: CJK of different ones only, emoji with joiners, flags, skin tones and
variation selectors, mixed with Greek, combining marks, markup, tabs, line ends, and two of these at the end."""
