"""Entry points of one group, read distribution by distribution so that a broken one hurts nobody else."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import metadata

OWN_DISTRIBUTION = "gym-anything"


@dataclass(frozen=True, slots=True)
class EntryPointClaim:
    """One line of some distribution's ``entry_points.txt``."""

    name: str
    value: str
    distribution: str

    @property
    def own(self) -> bool:
        """Tell whether it is ours."""
        return self.distribution == OWN_DISTRIBUTION


def claims_of_group(group: str) -> list[EntryPointClaim]:
    """Return the entry points of a group, ours first, then by distribution and name.

    The first distribution of a name on ``sys.path`` counts, as for imports. One whose metadata cannot be read is left
    out.
    """
    seen: set[str] = set()
    claims: list[EntryPointClaim] = []
    for distribution in metadata.distributions():
        try:
            name = normalized(distribution.name)
            points = [p for p in distribution.entry_points if p.group == group] if name not in seen else []
        except Exception:  # noqa: BLE001 - the boundary to foreign metadata: unreadable files, missing names, bad syntax
            continue
        seen.add(name)
        claims.extend(EntryPointClaim(p.name, p.value.split("[")[0].strip(), name) for p in points)
    return sorted(claims, key=lambda claim: (not claim.own, claim.distribution, claim.name))


def normalized(name: str) -> str:
    """Return a distribution's name in its normal form. Source: PEP 503."""
    return re.sub(r"[-_.]+", "-", name).lower()
