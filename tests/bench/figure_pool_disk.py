"""Disks for 128 replicas, of shared blocks and of full copies."""

from __future__ import annotations

import json

from gym_anything.measure.disk_series import DiskRequest, measure_disks


def main() -> None:
    request = DiskRequest()
    found = measure_disks(request).to_dict()
    series = {key: [round(value, 4) for value in found.pop(key)] for key in ("share_ms", "copy_ms")}
    conditions = f"a base of {request.base_mib} MiB that cannot be compressed, {request.count} disks, XFS"
    print(json.dumps({"summary": found, "series": series, "conditions": conditions}))


if __name__ == "__main__":
    main()
