"""A conversation with a model, free of any provider's shapes."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Literal, TypeAlias

from gym_anything.models.usage import Usage


@dataclass(frozen=True, slots=True)
class Picture:
    """An encoded image.

    Attributes:
        data: the file's bytes.
        media_type: such as ``image/png``.
    """

    data: bytes
    media_type: str = "image/png"

    @property
    def base64(self) -> str:
        """The bytes as base64 text."""
        return base64.b64encode(self.data).decode("ascii")

    @property
    def data_url(self) -> str:
        """The image as a ``data:`` address."""
        return f"data:{self.media_type};base64,{self.base64}"


Part: TypeAlias = str | Picture


@dataclass(frozen=True, slots=True)
class Message:
    """What one side said: texts and pictures in order (pictures only by the user)."""

    role: Literal["user", "assistant"]
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the answer is drawn. None leaves it to the server: some models refuse the parameter.

    Attributes:
        max_tokens: the longest answer.
    """

    max_tokens: int = 4096
    temperature: float | None = None
    top_p: float | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer.

    Attributes:
        text: all text of it, in order.
        usage: what this call took.
        stopped_by: the provider's word for why it ended (``stop``, ``end_turn``, ``length``, ``max_tokens`` …).
    """

    text: str
    usage: Usage
    stopped_by: str = ""
