"""The contract between an episode and its judge.

A judge is handed a ``JudgeRequest`` (what to judge, by which mode) and ``Capabilities`` (what it may ask of the world,
served by the process that owns the episode), and gives a ``Verdict``. It never decides on what the agent claims.

A judge that cannot decide raises: ``VerifierError`` (blame *judge*) when the verifier crashed, hung or returned
nonsense, ``SpecError`` kinds (blame *content*) when the task names a verifier that is not there, and whatever
``Capabilities`` raise when the world is to blame. The episode turns that into the outcome *broken*, never into a fail.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from gym_anything._util.deadline import Deadline
from gym_anything.verification.cancellation import Cancellation
from gym_anything.verification.spending import Spending


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge decided.

    Attributes:
        passed: the task was solved.
        score: 0..100, clamped; without one from the judge 100 or 0 by ``passed``.
        feedback: one or more sentences for a person.
        extra: further keys the verifier returned (``subscores`` …), JSON-serialisable.
        decided: False when there was nothing to judge by (a task without success criteria).
        mode: ``program``, ``image_match``, ``multi`` …; ``none`` when undecided.
        mode_source: where the mode came from: ``task``, ``default``, ``override`` or ``environment``.
        seconds: how long judging took.
    """

    passed: bool
    score: float
    feedback: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    decided: bool = True
    mode: str = "program"
    mode_source: str = "task"
    seconds: float = 0.0

    def report(self) -> dict[str, Any]:
        """Return the public report: the verifier's own keys plus ``decided, mode, mode_source``."""
        return {
            **dict(self.extra),
            "passed": self.passed,
            "score": self.score,
            "feedback": self.feedback,
            "decided": self.decided,
            "mode": self.mode,
            "mode_source": self.mode_source,
        }


class Capabilities(Protocol):
    """What a judge may ask of the world while it decides.

    Called only by the thread that called ``judge``, one call at a time, each bounded by ``deadline``: when it passes,
    the guest command behind the call is stopped in the guest, too. A world that died raises ``WorldLost``.
    """

    def exec_capture(self, command: str, *, deadline: Deadline) -> str:
        """Run a shell command in the guest as root and return its output."""
        ...

    def copy_from_env(self, guest_path: str, host_path: str, *, deadline: Deadline) -> None:
        """Copy a file out. Raises: GuestFileNotFound (a ``FileNotFoundError``)."""
        ...

    def copy_to_env(self, host_path: str, guest_path: str, *, deadline: Deadline) -> None:
        """Copy a file in."""
        ...

    def query_vlm(self, arguments: Mapping[str, Any], *, deadline: Deadline) -> Mapping[str, Any]:
        """Ask the configured vision model; returns what ``vlm.query.query_model`` does, ``usage`` included.

        What it takes counts in the request's ``spending``.

        Raises: VlmNotConfigured, ModelBudgetSpent.
        """
        ...


@dataclass(frozen=True)
class JudgeRequest:
    """All that a judge needs besides capabilities.

    Attributes:
        success: ``{"mode": …, "spec": {…}}`` as the task has it, or None.
        task_root, env_root: the folders the task and environment were loaded from; None for specs given as dicts.
        episode_dir: the artifacts folder of this episode.
        traj: ``steps, episode_dir, frames, step_frames, first_frame, last_frame, final_screenshot,
            post_verification_screenshot`` (paths as strings).
        env_info: the plain part of what a verifier receives: ``env_id, episode_dir, container``.
        task_info: ``task_id, metadata, task_spec``.
        mode_override: a mode given by the caller that wins over the task's.
        environment: extra variables for the verifier's process.
        deadline: by which the verdict must be there.
        secrets: values to scrub from everything the verifier printed or returned.
        output_path: where what the verifier printed is appended; None throws it away.
        cancellation: pressing it, from any thread, ends judging with ``Aborted``.
        spending: what this verdict's judges have asked of models so far; one budget for all of them.
    """

    success: Mapping[str, Any] | None
    task_root: Path | None
    env_root: Path | None
    episode_dir: Path
    traj: Mapping[str, Any]
    env_info: Mapping[str, Any]
    task_info: Mapping[str, Any]
    mode_override: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    deadline: Deadline = field(default_factory=Deadline.never)
    secrets: Sequence[str] = ()
    output_path: Path | None = None
    cancellation: Cancellation | None = None
    spending: Spending = field(default_factory=Spending)
