"""Values between processes: JSON text, with arrays in a slab and bytes as base64. Nothing is unpickled, ever.

What JSON has no word for becomes a dict with one key that no world uses: it begins with a NUL. Tuples become lists,
paths become text, specs what their ``to_dict`` says.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gym_anything.errors import BadWire, StateError
from gym_anything.observations.frame import Frame
from gym_anything.observations.screen import FastScreen
from gym_anything.pool.shards.slab import SlabReader, SlabWriter

_ARRAY, _BYTES, _SCREEN = "\0array", "\0bytes", "\0screen"
_encode = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
_PLAIN = (str, int, float, bool, type(None))


class _NoRoom(Exception):
    """The slab is too small."""


@dataclass(frozen=True, slots=True)
class Shipped:
    """A value, ready to go.

    Attributes:
        text: JSON. special: it has more in it than JSON knows.
    """

    text: str
    special: bool = False


def ship(value: Any, slab: SlabWriter | None = None) -> Shipped:
    """Return a value as text, its arrays written to the slab (without one: refused).

    Raises: StateError for what no other process can be given.
    """
    if value is None or type(value) is int:
        return Shipped("null" if value is None else str(value))
    packer = _Packer(slab)
    if slab is not None:
        slab.begin()
    try:
        packed = packer.pack(value)
    except _NoRoom:
        assert slab is not None
        slab.grow(_Packer(None).room(value))
        packed = packer.pack(value)
    return Shipped(_encode(packed), packer.special)


class _Packer:
    def __init__(self, slab: SlabWriter | None) -> None:
        self._slab = slab
        self.special = False

    def pack(self, value: Any) -> Any:
        if isinstance(value, _PLAIN):
            return value
        if isinstance(value, FastScreen):
            self.special = True
            facts = [dict.__getitem__(value, key) for key in ("array", "seq", "captured_at")]
            return {_SCREEN: [self._array(facts[0]), *facts[1:]]}
        if isinstance(value, Mapping):
            return {str(key): self.pack(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.pack(item) for item in value]
        if isinstance(value, np.ndarray):
            self.special = True
            return {_ARRAY: self._array(value)}
        if isinstance(value, bytes | bytearray | memoryview):
            self.special = True
            return {_BYTES: base64.b64encode(value).decode("ascii")}
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, Path):
            return str(value)
        if callable(to_dict := getattr(value, "to_dict", None)):  # a spec, a request
            return self.pack(to_dict())
        raise StateError(f"a {type(value).__name__} cannot be given to another process: {value!r:.80}")

    def _array(self, array: Any) -> list[Any]:
        if self._slab is None:
            raise StateError("arrays are results; an argument of an operation has none")
        ref = self._slab.write(array)
        if ref is None:
            raise _NoRoom
        return ref

    def room(self, value: Any) -> int:
        """Return how many bytes the arrays in a value take, each with room to align it."""
        if isinstance(value, FastScreen):
            return self.room(dict.__getitem__(value, "array"))
        if isinstance(value, np.ndarray):
            return value.nbytes + 64
        if isinstance(value, Mapping):
            return sum(self.room(item) for item in value.values())
        return sum(self.room(item) for item in value) if isinstance(value, list | tuple) else 0


def unship(value: Any, slab: SlabReader | None, on_screen: Callable[[FastScreen], None]) -> Any:
    """Return a special value, parsed from its text, as it was: arrays are read-only views of the slab.

    Args: on_screen: told each screen in it, whose holder must be given a copy before the slab is written again.
    Raises: BadWire.
    """
    if isinstance(value, list):
        return [unship(item, slab, on_screen) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((key, item),) = value.items()
        if key == _BYTES:
            return base64.b64decode(item)
        if key in (_ARRAY, _SCREEN):
            if slab is None:
                raise BadWire("an array came before its slab")
            if key == _ARRAY:
                return slab.view(item)
            ref, seq, captured_at = item
            screen = FastScreen(Frame(slab.view(ref), seq, captured_at))
            on_screen(screen)
            return screen
    return {key: unship(item, slab, on_screen) for key, item in value.items()}
