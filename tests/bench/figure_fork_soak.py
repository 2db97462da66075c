"""200 forks of one saved QEMU world: distinct in identity and random numbers, with the right time, none corrupt."""

from __future__ import annotations

import json
import tempfile

from tests.bench.fork_soak import CLOCK_S, soak

FORKS = 200


def main() -> None:
    with tempfile.TemporaryDirectory() as artifacts:
        found = soak(FORKS, artifacts)
    summary = {
        "forks": found.forks,
        "corrupt": len(found.broken),
        "repeated": sum(found.repeated.values()),
        "clock_wrong": sum(off > CLOCK_S for off in found.clock_off_s),
        "clock_off_s_max": max(found.clock_off_s),
    }
    conditions = "debian-desktop-vm, 1 GiB; a clock more than 1 s off counts as wrong"
    print(json.dumps({"summary": summary, "series": {"clock_off_s": found.clock_off_s}, "conditions": conditions}))


if __name__ == "__main__":
    main()
