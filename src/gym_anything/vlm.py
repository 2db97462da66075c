"""What verifiers import to look at screenshots, where existing content expects it."""

from gym_anything.verification.judge_process.owner_calls import query_vlm
from gym_anything.verification.trajectory_frames import (
    get_final_screenshot,
    get_first_screenshot,
    sample_trajectory_frames,
)

__all__ = ["get_final_screenshot", "get_first_screenshot", "query_vlm", "sample_trajectory_frames"]
