"""A thousand faults: 2,000 episodes on simulated worlds, and smaller series on real local desktops and machines."""

from __future__ import annotations

import json
from typing import Any

from gym_anything.measure.chaos_series import ChaosRequest, measure_chaos
from gym_anything.measure.real_chaos_series import RealChaosRequest, measure_real_chaos

_COUNTS = ("episodes", "attempts", "faults", "lost", "wrong", "twice", "disturbed", "alive")
_REAL = {"desktop": 200, "vm": 100}
"""Episodes on worlds of each kind."""


def main() -> None:
    found = {"simulated": measure_chaos(ChaosRequest())}
    found |= {kind: measure_real_chaos(RealChaosRequest(kind, episodes)) for kind, episodes in _REAL.items()}
    summary: dict[str, Any] = {}
    for kind, one in found.items():
        plain = one.to_dict()
        summary |= {f"{kind}_{key}": plain[key] for key in _COUNTS}
        summary |= {f"{kind}_fault_{name}": count for name, count in sorted(plain["fault_kinds"].items())}
    conditions = (
        "64 simulated worlds, 8 steps an episode; 8 local desktops, and 8 forked machines with 1 GiB, in 2 shards, "
        "6 lines typed into a terminal an episode; up to 50 tries of a task, no retirement of replicas that are broken on purpose"
    )
    print(json.dumps({"summary": summary, "series": {}, "conditions": conditions}))


if __name__ == "__main__":
    main()
