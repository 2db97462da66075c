"""The generic registry: names for plug-ins, from our own and foreign entry points and from code.

Rules, the same for every kind of party:

* A *key* is a short name; anywhere a key is accepted a locator (``pkg.mod:Attr``) is, too, without registration.
* Bundled parties enter by the entry points of our own distribution. Their names, and those set aside for parties of
  ours that are not installed, are *reserved*.
* Two different claims on one key, or a foreign claim on a reserved key, are a conflict. It is an error at the first
  use of that key, and of that key alone. ``replace=True`` in code is the only override; the last one wins.
* What cannot be imported fails alone, with its own error.
"""

from __future__ import annotations

import difflib
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from gym_anything.errors import MissingExtra, PluginConflict, PluginError, UnknownPlugin
from gym_anything.plugins.entry_points import OWN_DISTRIBUTION, EntryPointClaim, claims_of_group
from gym_anything.plugins.locator import is_locator, load_locator

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Claim(Generic[T]):
    """One claim on a key: a locator to load on use, or the object itself."""

    key: str
    target: T | str
    source: str
    own: bool = False
    replace: bool = False

    def same_target(self, other: Claim[T]) -> bool:
        """Tell whether both claims mean the same thing (the same object, or the same place)."""
        return self.target is other.target or self.address() == other.address()

    def address(self) -> str:
        """Return ``module:qualname`` of the target."""
        if isinstance(self.target, str):
            return self.target
        return f"{getattr(self.target, '__module__', '?')}:{getattr(self.target, '__qualname__', repr(self.target))}"


@dataclass(frozen=True, slots=True)
class KnownPlugin:
    """One row of a listing: a key, where it leads, who said so, and what is wrong with it."""

    key: str
    address: str
    source: str
    conflict: str | None = None


class Registry(Generic[T]):
    """All plug-ins of one kind. Thread safe; loads nothing before it is asked for."""

    def __init__(
        self,
        *,
        group: str,
        noun: str,
        check: Callable[[str, object], T],
        reserved: Mapping[str, str] | None = None,
    ) -> None:
        """Describe the kind.

        Args:
            group: entry-point group, such as ``gym_anything.runners``.
            noun: the word for messages, such as ``runner``.
            check: takes ``(key or locator, loaded object)`` and returns it as a ``T``, or raises ``PluginError``.
            reserved: names set aside, each with the pip extra that brings it (empty for none).
        """
        self.group = group
        self.noun = noun
        self._check = check
        self._reserved = dict(reserved or {})
        self._from_code: dict[str, list[Claim[T]]] = {}
        self._lock = threading.RLock()
        self._scanned: tuple[tuple[str, ...], list[EntryPointClaim]] | None = None

    def register(self, key: str, target: T | str, *, replace: bool = False) -> None:
        """Claim a key in code, with an object or a locator.

        A conflict is not raised here but at the first use of the key, so that the order of imports does not matter.
        Raises: ValueError for something that cannot be a key.
        """
        if not isinstance(key, str) or not key or is_locator(key) or key != key.strip():
            raise ValueError(f"a {self.noun} key is a short name without a colon, got {key!r}")
        claim: Claim[T] = Claim(key, target, "registered in code", replace=replace)
        with self._lock:
            claims = self._from_code.setdefault(key, [])
            if replace:
                claims.clear()
            if not any(c.same_target(claim) for c in claims):
                claims.append(claim)

    def unregister(self, key: str) -> None:
        """Forget what code claimed for a key; entry points stay. Harmless for a key nobody claimed."""
        with self._lock:
            self._from_code.pop(key, None)

    def resolve(self, key_or_locator: str) -> T:
        """Return what a key or locator names, loaded and checked.

        Raises: UnknownPlugin (with the known keys and near matches), MissingExtra (a reserved name whose party is
            not installed, with the pip line), PluginConflict, PluginImportFailed, PluginError (loaded, but not valid).
        """
        if not isinstance(key_or_locator, str) or not key_or_locator.strip():
            raise UnknownPlugin(f"a {self.noun} is named by a key or a locator, got {key_or_locator!r}")
        if is_locator(key_or_locator):
            return self._check(key_or_locator, load_locator(key_or_locator))
        claim = self._winner(key_or_locator)
        loaded = load_locator(claim.target) if isinstance(claim.target, str) else claim.target
        return self._check(key_or_locator, loaded)

    def known(self) -> list[KnownPlugin]:
        """Return every claimed key in alphabetical order, conflicts included; loads nothing."""
        rows = []
        for key in self._claimed_keys():
            claims = self._claims(key)
            conflict = self._conflict(key, claims)
            chosen = claims[-1]
            rows.append(KnownPlugin(key, chosen.address(), chosen.source, str(conflict) if conflict else None))
        return rows

    def keys(self) -> list[str]:
        """Return every claimed key in alphabetical order."""
        return self._claimed_keys()

    def conflicts(self) -> list[PluginConflict]:
        """Return the conflicts that a use of their keys would raise."""
        found = (self._conflict(key, self._claims(key)) for key in self._claimed_keys())
        return [conflict for conflict in found if conflict is not None]

    def missing_reserved(self) -> dict[str, str]:
        """Return the reserved names that nobody of ours provides here, each with how to get it."""
        claimed = set(self._claimed_keys())
        return {key: self._how_to_get(key) for key in self._reserved if key not in claimed}

    def _winner(self, key: str) -> Claim[T]:
        """Return the one claim a key leads to, or raise why there is none."""
        claims = self._claims(key)
        if not claims:
            raise self._unknown(key)
        conflict = self._conflict(key, claims)
        if conflict is not None:
            raise conflict
        return claims[-1]

    def _claims(self, key: str) -> list[Claim[T]]:
        """Return the distinct claims that count for a key: a replacing one alone, else all of them."""
        with self._lock:
            from_code = list(self._from_code.get(key, ()))
        if any(claim.replace for claim in from_code):
            return from_code
        distinct: list[Claim[T]] = []
        for point in self._entry_points():
            if point.name == key:
                claim: Claim[T] = Claim(key, point.value, f"entry point of {point.distribution}", own=point.own)
                if not any(claim.same_target(c) for c in distinct):
                    distinct.append(claim)
        distinct.extend(claim for claim in from_code if not any(claim.same_target(c) for c in distinct))
        return distinct

    def _conflict(self, key: str, claims: list[Claim[T]]) -> PluginConflict | None:
        """Return what is wrong with the claims on a key, if anything."""
        detail = {"key": key, "claims": [{"target": c.address(), "source": c.source} for c in claims]}
        listed = "; ".join(f"{c.address()} ({c.source})" for c in claims)
        if len(claims) > 1:
            return PluginConflict(
                f"{self.noun} {key!r} is claimed more than once: {listed}. Use a locator, another key, or"
                " register one of them with replace=True",
                detail=detail,
            )
        if claims and key in self._reserved and not claims[0].own and not claims[0].replace:
            return PluginConflict(
                f"{self.noun} {key!r} is a reserved name, claimed by {listed}. Use another key, a locator, or"
                " register it with replace=True",
                detail=detail,
            )
        return None

    def _entry_points(self) -> list[EntryPointClaim]:
        """Return the group's entry points; read again when ``sys.path`` has changed."""
        path = tuple(sys.path)
        with self._lock:
            if self._scanned is None or self._scanned[0] != path:
                self._scanned = (path, claims_of_group(self.group))
            return self._scanned[1]

    def _claimed_keys(self) -> list[str]:
        with self._lock:
            return sorted({point.name for point in self._entry_points()} | set(self._from_code))

    def _unknown(self, key: str) -> PluginError:
        """Build the error for a key nobody claims."""
        if key in self._reserved:
            extra = self._reserved[key]
            return MissingExtra(
                f"{self.noun} {key!r} is not installed here: {self._how_to_get(key)}",
                detail={"key": key, "extra": extra, "fix": self._how_to_get(key)},
            )
        known = self._claimed_keys()
        near = difflib.get_close_matches(key, dict.fromkeys([*known, *self._reserved]), n=3)
        hint = f" (did you mean {' or '.join(repr(n) for n in near)}?)" if near else ""
        return UnknownPlugin(
            f"there is no {self.noun} {key!r}{hint}. Known: {', '.join(known) or 'none'}. A locator"
            " ('package.module:Name') works without registration",
            detail={"key": key, "known": known, "near": near},
        )

    def _how_to_get(self, key: str) -> str:
        extra = self._reserved[key]
        return (
            f'pip install "{OWN_DISTRIBUTION}[{extra}]"'
            if extra
            else f"pip install --force-reinstall {OWN_DISTRIBUTION}"
        )
