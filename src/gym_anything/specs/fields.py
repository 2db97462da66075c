"""The types of spec fields: strict, so that a wrong value is an error and is never turned into another one.

``True`` is not a number, ``"4"`` is not ``4`` and ``NaN`` is nothing. Lists become tuples, since specs are frozen.
"""

from __future__ import annotations

import math
import unicodedata
from typing import Annotated, Any

from pydantic import AfterValidator, Field, PlainSerializer, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

_LARGEST = 1e15


def _number(value: Any) -> float:
    """Take a finite number as it is written: an integer stays one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise PydanticCustomError("number_type", "must be a number")
    if abs(value) > _LARGEST or math.isnan(value):
        raise PydanticCustomError("number_range", "must be a finite number of sensible size")
    return value


def _as_it_is(value: object) -> object:
    return value


def _text_or_number(value: Any) -> str:
    """Take text; a number (an unquoted ``version: 0.1`` in YAML) becomes its text."""
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(_number(value))
    raise PydanticCustomError("string_type", "must be text")


def _text_or_texts(value: Any) -> str | tuple[str, ...]:
    """Take one text or a list of them."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and all(isinstance(v, str) for v in value):
        return tuple(value)
    raise PydanticCustomError("text_or_list", "must be text or a list of texts")


def _one_line(value: str) -> str:
    if any(unicodedata.category(ch) == "Cc" for ch in value):
        raise PydanticCustomError("one_line", "must be one line without control characters")
    return value


def _account_name(value: str) -> str:
    """Refuse what would be another line or field in a guest's account files, or an option of its commands."""
    if value.startswith("-") or any(ch in ":,/" for ch in value):
        raise PydanticCustomError("account_name", "must not start with '-' nor hold ':', ',' or '/'")
    return _one_line(value)


Text = Annotated[str, Field(strict=True)]
"""Any text."""
Name = Annotated[str, Field(strict=True, min_length=1)]
"""Text that is not empty."""
Line = Annotated[Name, AfterValidator(_one_line)]
"""One line of text that is not empty."""
AccountName = Annotated[Name, AfterValidator(_account_name)]
"""The name of a user or group; spaces and any letters are allowed."""
Flag = Annotated[bool, Field(strict=True)]
"""true or false."""
Whole = Annotated[int, Field(strict=True)]
"""An integer."""
Count = Annotated[int, Field(strict=True, ge=0, le=1_000_000_000)]
"""An integer of zero or more."""
PositiveCount = Annotated[int, Field(strict=True, ge=1, le=1_000_000_000)]
"""An integer of one or more."""
Pixels = Annotated[int, Field(strict=True, ge=1, le=32767)]
"""A width or height; X11 ends at 32767."""
Port = Annotated[int, Field(strict=True, ge=1, le=65535)]
"""A TCP port."""
HostPort = Annotated[int, Field(strict=True, ge=-1, le=65535)]
"""A TCP port on the host; -1 (and 0) is "any free one"."""
Number = Annotated[
    float,
    PlainValidator(_number),
    PlainSerializer(_as_it_is, return_type=Any),
    WithJsonSchema({"type": "number"}),
]
"""A finite number; ``2`` stays ``2`` and does not become ``2.0``."""
PositiveNumber = Annotated[Number, Field(gt=0)]
"""A finite number above zero."""
NotNegative = Annotated[Number, Field(ge=0)]
"""A finite number of zero or more."""
TextOrNumber = Annotated[str, PlainValidator(_text_or_number), WithJsonSchema({"type": ["string", "number"]})]
"""Text; a number is taken as its text."""
TextOrTexts = Annotated[
    str | tuple[str, ...],
    PlainValidator(_text_or_texts),
    PlainSerializer(_as_it_is, return_type=Any),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]
"""One text or a list of texts."""
Texts = tuple[Text, ...]
"""A list of texts."""
TextMap = dict[Text, TextOrNumber]
"""Names to texts (environment variables)."""
Resolution = tuple[Pixels, Pixels]
"""``[width, height]`` in pixels."""
