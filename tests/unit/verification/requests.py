"""What judges are asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gym_anything.verification.contract import JudgeRequest


def request(folder: Path, **changes: Any) -> JudgeRequest:
    return JudgeRequest(
        **{
            "success": None, "task_root": folder, "env_root": None, "episode_dir": folder,
            "traj": {}, "env_info": {}, "task_info": {}, **changes,
        }
    )  # fmt: skip
