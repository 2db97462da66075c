"""A verifier for tasks in the fake world: ``"program": "gym_anything.testing.fakes.judge:verify_typed"``."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gym_anything.testing.fakes.world import TYPED_FILE


def verify_typed(traj: Any, env_info: Mapping[str, Any], task_info: Mapping[str, Any]) -> dict[str, Any]:
    """Pass when exactly ``metadata.text`` was typed; half the points for a part of it."""
    wanted = str(task_info["metadata"]["text"])
    with tempfile.TemporaryDirectory() as folder:
        try:
            env_info["copy_from_env"](TYPED_FILE, str(Path(folder) / "typed"))
            typed = (Path(folder) / "typed").read_text(encoding="utf-8")
        except FileNotFoundError:
            typed = ""
    score = 100 if typed == wanted else 50 if typed and wanted.startswith(typed) else 0
    return {"passed": score == 100, "score": score, "feedback": f"typed {typed!r}"}
