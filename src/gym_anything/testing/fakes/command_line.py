"""Command lines of the fake world taken apart: joiners, words, variables."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+|\?))")
_JOINERS = {";", "&&", "||", "&"}
_QUOTED_DOLLAR = "\ue000"


def expanded(word: str, scope: Mapping[str, str]) -> str:
    """Replace ``$NAME``; a dollar that stood in single quotes comes back as it was."""
    return _VARIABLE.sub(lambda m: scope.get(m[1] or m[2], ""), word).replace(_QUOTED_DOLLAR, "$")


def split_commands(text: str) -> list[tuple[str, list[str]]]:
    """Split a command line into (joiner before it, words). Raises: ValueError for an open quote."""
    parts: list[tuple[str, list[str]]] = []
    joiner: str = ";"
    words: list[str] = []
    for line in _lines(text.replace("2>&1", " ")):
        lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|<>")
        lexer.whitespace_split = True
        for token in lexer:
            if token in _JOINERS:
                if words:
                    parts.append((joiner, words))
                joiner, words = token, []
            else:
                words.append(token)
        if words:
            parts.append((joiner, words))
        joiner, words = ";", []
    return parts


def _lines(text: str) -> list[str]:
    """Split at newlines that stand in no quotes, drop comment lines, mark dollars in single quotes."""
    lines, current, quote = [], "", ""
    for char in text:
        if char == "$" and quote == "'":
            char = _QUOTED_DOLLAR
        if char == "\n" and not quote:
            lines.append(current)
            current = ""
            continue
        if char in "'\"" and quote in ("", char):
            quote = "" if quote else char
        current += char
    lines.append(current)
    return [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
