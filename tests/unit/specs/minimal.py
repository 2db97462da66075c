"""The smallest valid specs, for tests to build on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def env_data(**more: Any) -> dict[str, Any]:
    """Return a minimal environment with ``more`` keys laid over it."""
    return {"id": "e@1", "observation": [{"type": "rgb_screen"}], "action": [{"type": "mouse"}], **more}


def task_data(**more: Any) -> dict[str, Any]:
    """Return a minimal task with ``more`` keys laid over it."""
    return {"id": "t@1", "description": "Do it.", "success": {"spec": {"program": "verifier.py::check"}}, **more}


def write_json(file: Path, data: Any) -> Path:
    """Write ``data`` as JSON, making the folders above."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(data), encoding="utf-8")
    return file
