"""A distribution as pip leaves it (a ``dist-info`` folder), made for one test and put on ``sys.path``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def write_distribution(site: Path, name: str, entry_points: Mapping[str, Mapping[str, str]]) -> Path:
    """Write ``<name>-1.0.dist-info`` into ``site`` and return it. ``entry_points``: group -> name -> value."""
    folder = site / f"{name.replace('-', '_')}-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = []
    for group, points in entry_points.items():
        lines.append(f"[{group}]")
        lines.extend(f"{key} = {value}" for key, value in points.items())
    (folder / "entry_points.txt").write_text("\n".join(lines) + "\n")
    return folder
