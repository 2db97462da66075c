"""Keeping secrets out of everything that is written: artifacts, logs, error details, process lists."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

MASK = "[secret]"
SHORTEST = 4
"""A shorter secret is not searched for: it would be found in every second word."""


class Redactor:
    """Replaces known secret values by ``[secret]``, also where they stand JSON-escaped, URL-quoted or in base64.

    Immutable and thread safe. Values, not names, are what it looks for: a secret is one wherever it turns up.
    """

    __slots__ = ("_binary", "_texts")

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        """Args: secrets: the values; those shorter than 4 characters are only masked where they are a whole value."""
        self._texts: tuple[str, ...] = tuple(sorted(set(secrets) - {""}, key=lambda text: (-len(text), text)))
        forms = {form for secret in self._texts if len(secret) >= SHORTEST for form in _forms(secret)}
        self._binary = tuple(sorted(forms, key=lambda form: (-len(form), form)))

    def with_secrets(self, secrets: Iterable[str]) -> Redactor:
        """Return a redactor that knows these too."""
        return Redactor((*self._texts, *secrets))

    def text(self, text: str) -> str:
        """Return the text with every secret masked."""
        if text in self._texts:
            return MASK
        if not self._binary:
            return text
        # surrogatepass: text may hold lone surrogates (from file names); they must survive the trip.
        data = text.encode("utf-8", "surrogatepass")
        cleaned = self.data(data)
        return text if cleaned is data else cleaned.decode("utf-8", "surrogatepass")

    def data(self, data: bytes) -> bytes:
        """Return the bytes with every secret masked; the same object when there was none."""
        for form in self._binary:
            if form in data:
                data = data.replace(form, MASK.encode())
        return data

    def json(self, value: Any) -> Any:
        """Return a JSON-like value with every secret in strings, keys and bytes masked; numbers stay as they are."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, bytes):
            return self.data(value)
        if isinstance(value, Mapping):
            return {self.text(key) if isinstance(key, str) else key: self.json(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.json(item) for item in value]
        return value

    def __repr__(self) -> str:
        return f"<Redactor of {len(self._texts)} secrets>"

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a Redactor holds secrets and is not serialised")


def _forms(secret: str) -> set[bytes]:
    raw = secret.encode("utf-8", "surrogatepass")
    texts = {json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    forms = {raw, *(text.encode("utf-8", "surrogatepass") for text in texts)}
    forms |= {quote(raw, safe="").encode(), quote(raw).encode(), quote_plus(raw).encode()}
    for start in range(3):
        forms |= _base64_core(raw, start)
    return {form for form in forms if len(form) >= SHORTEST}


def _base64_core(raw: bytes, start: int) -> set[bytes]:
    """The part of the base64 of any text around the secret that depends on the secret alone, by its offset modulo 3."""
    lead = (3 - start) % 3
    core = raw[lead : lead + (len(raw) - lead) // 3 * 3]
    return {base64.b64encode(core), base64.urlsafe_b64encode(core)} if len(core) >= 6 else set()
