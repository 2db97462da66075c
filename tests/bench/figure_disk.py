"""`gym-anything bench disk`: disks of replicas by shared blocks, beside full copies, by turns."""

from __future__ import annotations

import json

from gym_anything.measure.disk_series import DiskRequest, measure_disks


def main() -> None:
    request = DiskRequest()
    found = measure_disks(request).to_dict()
    series = {"share_ms": found.pop("share_ms"), "copy_ms": found.pop("copy_ms")}
    conditions = f"XFS in a file, a base of {request.base_mib} MiB of data, {request.count} disks, 16 places of 4 KiB written in each"
    summary = {key: round(value, 4) for key, value in found.items()}
    print(json.dumps({"summary": summary, "series": series, "conditions": conditions}))


if __name__ == "__main__":
    main()
