"""Rules of replicas as plain data, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from gym_anything.pool.replica_health import HealthRules
from gym_anything.pool.replica_state import ReplicaRules


def replica_rules_to_plain(rules: ReplicaRules) -> dict[str, Any]:
    """Return JSON data."""
    return asdict(rules)


def replica_rules_from_plain(data: Mapping[str, Any]) -> ReplicaRules:
    """Rebuild them. Raises: TypeError for fields there are none of."""
    return ReplicaRules(**{**data, "health": HealthRules(**data["health"])})
