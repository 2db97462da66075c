"""Whether a task could be judged at all, looked at before it is played: judging comes when all has been paid for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gym_anything.models.asking import require_sdk
from gym_anything.models.sdk_variables import address_of
from gym_anything.verification.image_match import check_image_match
from gym_anything.verification.judge import choose_mode, mode_of_part, require_depth, require_object, unknown_mode
from gym_anything.verification.multi import read_parts
from gym_anything.verification.program import locate_program
from gym_anything.verification.spending import Spending
from gym_anything.verification.vlm import setting_names as names
from gym_anything.verification.vlm.frames import choose_frames
from gym_anything.verification.vlm.judge import load_checklist
from gym_anything.verification.vlm.settings import VlmSettings, checklist_spec


def check_judge(success: Mapping[str, Any] | None, *, task_root: Path | None, env_root: Path | None) -> None:
    """Look for what would keep ``judge`` from a verdict; nobody is asked and no code of the task runs.

    The mode must be known, its files there and readable, its settings usable, a model's address, key and SDK there; all
    parts of ``multi`` likewise. Whether a program asks a model is not known before it runs.

    Args: as ``JudgeRequest`` has them; a task without criteria is left alone, as ``judge`` leaves it.
    Blocks: while a few files are read.
    Raises: what ``judge`` would raise: SpecInvalid, SpecNotFound, VlmNotConfigured, SettingInvalid, MissingExtra,
        ModelBudgetSpent (a bound on cost without prices).
    """
    if success is None:
        return
    chosen = choose_mode(success)
    _check(chosen.mode, chosen.spec, task_root, env_root, depth=0)


def _check(mode: str, spec: Mapping[str, Any], task_root: Path | None, env_root: Path | None, *, depth: int) -> None:
    require_object(spec)
    if mode == "program":
        locate_program(spec.get("program"), task_root)
    elif mode == "image_match":
        check_image_match(spec, task_root)
    elif mode == "multi":
        require_depth(depth)
        for part in read_parts(spec):
            _check(mode_of_part(part.success), part.success["spec"], task_root, env_root, depth=depth + 1)
    elif mode == "vlm_checklist":
        _check_checklist(spec, task_root or env_root)
    else:
        raise unknown_mode(mode)


def _check_checklist(spec: Mapping[str, Any], root: Path | None) -> None:
    settings = VlmSettings(None, checklist_spec(spec))
    load_checklist(root, settings)
    every: tuple[names.Setting[Any], ...] = names.CHECKLIST_KEYS
    for setting in every:
        settings.value(setting)
    choose_frames({}, strategy=settings.value(names.FRAME_STRATEGY) or "", most=0)
    endpoint = settings.endpoint()
    Spending().check(settings.budget(), endpoint)
    address_of(endpoint)
    require_sdk(endpoint.protocol)
