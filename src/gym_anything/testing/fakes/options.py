"""The fake world's ``runner_options``."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class FakeOptions:
    """What a spec can ask of a fake world; every field is a key of ``runner_options``.

    Attributes:
        time_control: it has its own clock, moved by ``wait`` actions; ``sleep`` in it takes no wall-clock time.
        fast_io: it can do fast I/O.
        acks_input: its input is acknowledged.
        fork: it can branch into several.
        boot_s: seconds that ``start`` takes.
        episode_tag: a name that belongs to one episode; never part of a checkpoint key.
        misbehave: which of its ways a misbehaving sibling takes; a well-behaved fake world refuses it.
    """

    time_control: bool = False
    fast_io: bool = True
    acks_input: bool = True
    fork: bool = True
    boot_s: float = 0.0
    episode_tag: str = ""
    misbehave: str = ""

    @classmethod
    def read(cls, options: Mapping[str, Any]) -> FakeOptions:
        """Build from checked options; what does not fit is left at its default (``problems`` says so)."""
        known = {f.name for f in fields(cls)}
        return cls(**{k: v for k, v in options.items() if k in known})


def problems(options: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with fake options, one sentence each."""
    found = []
    types = {f.name: type(f.default) for f in fields(FakeOptions)}
    for name, value in options.items():
        if name not in types:
            near = difflib.get_close_matches(name, types, n=1)
            found.append(f"unknown option {name!r}" + (f", did you mean {near[0]!r}?" if near else ""))
        elif types[name] is float and (isinstance(value, bool) or not isinstance(value, int | float) or value < 0):
            found.append(f"{name} must be a number of seconds, zero or more, got {value!r}")
        elif types[name] is not float and not isinstance(value, types[name]):
            found.append(f"{name} must be a {types[name].__name__}, got {value!r}")
    return found
