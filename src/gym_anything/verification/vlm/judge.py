"""Mode ``vlm_checklist``: a vision model looks at the episode's screenshots and judges item by item."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gym_anything.errors import SpecInvalid, VerifierError
from gym_anything.models.asking import ask
from gym_anything.models.calls import CallLimits
from gym_anything.models.endpoint import Endpoint
from gym_anything.models.json_answers import find_json
from gym_anything.models.messages import Message
from gym_anything.models.usage import Usage
from gym_anything.specs.reading import read_document
from gym_anything.verification.cancellation import Cancellation
from gym_anything.verification.contract import JudgeRequest, Verdict
from gym_anything.verification.vlm import setting_names as names
from gym_anything.verification.vlm.checklist import Checklist, read_checklist
from gym_anything.verification.vlm.frames import choose_frames
from gym_anything.verification.vlm.prompt import checklist_prompt, system_prompt
from gym_anything.verification.vlm.query import load_pictures
from gym_anything.verification.vlm.scoring import ItemVerdict, Score, read_answer, score_items
from gym_anything.verification.vlm.settings import VlmSettings, checklist_spec

DEFAULT_COMPLETION_THRESHOLD = 80.0
DEFAULT_INTEGRITY_THRESHOLD = 0.75


def judge_by_checklist(request: JudgeRequest, spec: Mapping[str, Any]) -> Verdict:
    """Have a vision model judge the episode by the checklist beside the task.

    Raises: SpecInvalid (blame content) for a checklist that is missing or malformed, VlmNotConfigured, SettingInvalid,
        ModelError kinds, VerifierError when there are no screenshots or the model answers nonsense again and again,
        Aborted. What was spent until then is in ``request.spending``.
    """
    settings = VlmSettings(request.environment, checklist_spec(spec))
    checklist = load_checklist(request.task_root or request.env_root, settings)
    endpoint = settings.endpoint()
    frames = choose_frames(
        request.traj,
        strategy=settings.value(names.FRAME_STRATEGY) or "",
        most=settings.value(names.MAX_FRAMES) or 0,
    )
    if not frames:
        raise VerifierError("vlm_checklist: the episode has no screenshot to judge by")
    asked = _Asked(request, settings, endpoint, checklist)
    completion, integrity, said = asked.until_it_makes_sense(frames)
    thresholds = _thresholds(settings, checklist)
    score = score_items(completion, integrity, **thresholds)
    return Verdict(
        score.passed, score.score, _feedback(score, said, thresholds), _report(score, asked, frames, thresholds)
    )


def load_checklist(root: Path | None, settings: VlmSettings) -> Checklist:
    """Read the checklist file beside a task (``root``: its folder). Raises: SpecInvalid, SpecNotFound."""
    said = settings.value(names.CHECKLIST) or ""
    name = Path(said)
    if not name.is_absolute():
        if root is None:
            raise SpecInvalid(
                f"the checklist {name} lies beside the task, but the task has no folder",
                detail={"key": "success.spec.checklist"},
            )
        name = root / name
    if not name.is_file():
        raise SpecInvalid(f"there is no checklist {name}", detail={"file": str(name), "key": "success.spec.checklist"})
    return read_checklist(read_document(name).data, file=name)


def limits_of(request: JudgeRequest) -> CallLimits:
    """Return what ends a judge's call of a model."""
    return CallLimits(request.deadline, on_cancel(request.cancellation) if request.cancellation else None)


def on_cancel(cancellation: Cancellation) -> Any:
    """Return the hook that a bounded call registers itself with."""

    def register(callback: Any) -> Any:
        context = cancellation.calls(callback)
        context.__enter__()
        return lambda: context.__exit__(None, None, None)

    return register


class _Asked:
    """The conversation: asks again, with what was wrong, while the answer is malformed."""

    def __init__(self, request: JudgeRequest, settings: VlmSettings, endpoint: Endpoint, checklist: Checklist) -> None:
        self.endpoint, self.usage = endpoint, Usage()
        self._request, self._settings, self._checklist = request, settings, checklist

    def until_it_makes_sense(self, frames: list[str]) -> tuple[tuple[ItemVerdict, ...], tuple[ItemVerdict, ...], str]:
        """Return the verdicts. Raises: VerifierError after ``MAX_RETRIES`` malformed answers."""
        task = _prompt_of(self._request)
        pictures = load_pictures(frames, self._settings)
        prompt = checklist_prompt(self._checklist, task=task, pictures=len(pictures))
        messages = [Message("user", (*pictures, prompt))]
        budget, limits, sampling = self._settings.budget(), limits_of(self._request), self._settings.sampling()
        wrong, spending = "", self._request.spending
        for _ in range(self.endpoint.attempts):
            spending.check(budget, self.endpoint)
            reply = ask(self.endpoint, messages, system=system_prompt(), sampling=sampling, limits=limits)
            self.usage += reply.usage
            spending.add(self.endpoint.model, reply.usage)
            try:
                return read_answer(find_json(reply.text), self._checklist)
            except ValueError as error:
                wrong = f"{error} (the answer ended by {reply.stopped_by or 'itself'})"
            messages = [
                *messages[:1],
                Message("assistant", (reply.text or "(nothing)",)),
                Message("user", (f"That cannot be used: {wrong}. Answer again with the whole JSON object.",)),
            ]
        raise VerifierError(
            f"vlm_checklist: {self.endpoint.model} gave no usable answer in {self.endpoint.attempts} tries: {wrong}",
            detail={"model": self.endpoint.model, "vlm_usage": self.usage.as_dict()},
        )


def _prompt_of(request: JudgeRequest) -> str:
    """Return what the agent was told, as ``TaskSpec.prompt`` has it."""
    task = request.task_info.get("task_spec") or {}
    spoken = task.get("natural_language")
    if isinstance(spoken, Mapping):
        spoken = spoken.get("prompt")
    return str(task.get("description") or spoken or task.get("name") or task.get("id") or "")


def _thresholds(settings: VlmSettings, checklist: Checklist) -> dict[str, float]:
    completion = settings.value(names.COMPLETION_THRESHOLD)
    if completion is None:
        completion = checklist.pass_threshold
    integrity = settings.value(names.INTEGRITY_THRESHOLD)
    return {
        "completion_threshold": DEFAULT_COMPLETION_THRESHOLD if completion is None else completion,
        "integrity_threshold": DEFAULT_INTEGRITY_THRESHOLD if integrity is None else integrity,
    }


def _feedback(score: Score, said: str, thresholds: Mapping[str, float]) -> str:
    if score.integrity_rate < thresholds["integrity_threshold"]:
        failed = ", ".join(v.item.id for v in score.integrity if v.verdict != "pass")
        head = f"integrity {score.integrity_rate:.2f} is under {thresholds['integrity_threshold']:g} ({failed})"
    else:
        missing = ", ".join(f"{v.item.id} {v.verdict}" for v in score.completion if v.verdict != "pass")
        head = f"{score.completion_score:g} of 100 points, {thresholds['completion_threshold']:g} pass"
        head += f"; {missing}" if missing else ""
    return f"{head}. {said}".strip()


def _report(score: Score, asked: _Asked, frames: list[str], thresholds: Mapping[str, float]) -> dict[str, Any]:
    return {
        "subscores": {v.item.id: v.as_dict(with_points=True)["earned"] for v in score.completion},
        "completion": [v.as_dict(with_points=True) for v in score.completion],
        "integrity": [v.as_dict(with_points=False) for v in score.integrity],
        "completion_score": score.completion_score,
        "integrity_rate": round(score.integrity_rate, 4),
        **thresholds,
        "frames": [Path(frame).name for frame in frames],
        "vlm": {"model": asked.endpoint.model, **asked.usage.as_dict()},
    }
