"""The sub-objects of a task: how it starts, its hooks, and what success means."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from gym_anything.specs.fields import PositiveCount, PositiveNumber, Text
from gym_anything.specs.spec_model import SpecObject

SuccessMode = Literal["program", "image_match", "multi", "vlm_checklist"]
SUCCESS_MODES: tuple[SuccessMode, ...] = ("program", "image_match", "multi", "vlm_checklist")


class TaskInit(SpecObject):
    """How an episode of the task starts and how long it may last."""

    init_script: Text | None = None
    """Command line that runs in the guest before the first observation. None."""
    init_pyautogui: tuple[dict[str, Any] | Text, ...] = ()
    """Input before the first observation: ``{"type": "keys", "keys": […]}``, ``text``, ``wait`` …, or calls as text."""
    timeout_sec: PositiveNumber = 600
    """Seconds that an episode may last."""
    max_steps: PositiveCount = 2000
    """Steps that an episode may have."""
    reward_type: Text = "sparse"
    """``sparse``, ``dense``, ``partial``, ``rubric`` or ``continuous``. Others are scored as sparse, with a warning."""
    reward_shaping: Text | dict[str, Any] | None = None
    """Shaping function of dense rewards, ``file.py::func`` or ``pkg.mod:func``. None: dense is scored as sparse."""


class TaskHooks(SpecObject):
    """Command lines that run as root in the guest, through a login shell."""

    pre_task: Text | None = None
    """Brings the world into the task's initial state. None: nothing to do."""
    post_task: Text | None = None
    """Exports the result for the verifier. None: nothing to do."""
    pre_task_timeout: PositiveNumber = 600
    """Seconds that ``pre_task`` may take."""


class Success(SpecObject):
    """What success means."""

    mode: SuccessMode = "program"
    """Kind of judge. ``program``: a function that reads ground truth."""
    spec: dict[str, Any] = Field(default_factory=dict)
    """What the judge needs: ``program``, ``target``, ``checks`` …, by mode."""
