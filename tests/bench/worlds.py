"""What the figure scripts share: the plainest desktop, and what it weighs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gym_anything._util import labels, proc


def desktop_env(artifacts: Path) -> dict[str, Any]:
    """Return the spec of an empty Debian desktop at 1920x1080 that leaves its artifacts in ``artifacts``."""
    return {
        "id": "bench.desktop",
        "base": "debian-desktop",
        "observation": [{"type": "rgb_screen", "resolution": [1920, 1080]}],
        "action": [{"type": "mouse"}, {"type": "keyboard"}],
        "recording": {"enable": False, "output_dir": str(artifacts)},
    }


def world_pids(env: Any) -> set[int]:
    """Return every process of a world: those that carry its label, and all that they started."""
    world = env.runner.get_runtime_info().instance_name
    labelled = [pid for pid in proc.pids() if f"/{world}/" in proc.environ(pid).get(labels.ENV_NAME, "")]
    return {*labelled, *(below for pid in labelled for below in proc.descendants(pid))}


def idle_pss_mib(env: Any) -> float:
    """Return the proportional set size of every process of a world, in MiB."""
    return sum(proc.pss_kib(pid) for pid in world_pids(env)) / 1024
