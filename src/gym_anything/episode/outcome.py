"""The outcome of an episode: passed, failed or broken.

A *failed* episode is one where the agent had a working world, a task that was set up, and a judge that decided. All
else that ends an episode without a pass is *broken*, with who is to blame and the story of how it came about. A
benchmark counts broken apart from failed: a world that died, a set-up hook that failed or a crashed judge says nothing
about the agent.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from gym_anything.errors import Blame, GymAnythingError

Status = Literal["passed", "failed", "broken"]
STATUSES: tuple[Status, ...] = ("passed", "failed", "broken")

_HOST_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO})


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an episode ended.

    Attributes:
        status: ``passed``, ``failed`` or ``broken``.
        score: 0..100; 0.0 when broken.
        blame: who has to act; ``None`` unless broken.
        story: one paragraph a person can act on. For a pass or fail: the judge's feedback.
        detail: JSON-serialisable facts (error code, log tail, failed hook stage …). Never a secret.
    """

    status: Status
    score: float = 0.0
    blame: Blame | None = None
    story: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def passed(cls, score: float, story: str = "") -> Outcome:
        """Return the outcome of a task that was solved."""
        return cls("passed", score, None, story)

    @classmethod
    def failed(cls, score: float, story: str = "") -> Outcome:
        """Return the outcome of a task that a working judge found unsolved."""
        return cls("failed", score, None, story)

    @classmethod
    def broken(cls, blame: Blame, story: str, detail: Mapping[str, Any] | None = None) -> Outcome:
        """Return the outcome of an episode that says nothing about the agent."""
        return cls("broken", 0.0, blame, story, dict(detail or {}))

    @classmethod
    def from_error(cls, error: BaseException, *, default_blame: Blame, doing: str) -> Outcome:
        """Return the broken outcome of an error; a typed error names its own blame.

        Args:
            default_blame: blamed when the error is none of ours (a bug of whoever's code was running), unless it says
                that this machine has run out of something.
            doing: what was under way, for the story ("capturing the screen").
        """
        if isinstance(error, GymAnythingError):
            detail: dict[str, Any] = {"code": error.code, "retryable": error.retryable, **error.detail}
            return cls.broken(error.blame, f"while {doing}: {error}", detail)
        blame = "host" if isinstance(error, OSError) and error.errno in _HOST_ERRORS else default_blame
        story = f"while {doing}: {type(error).__name__}: {error}"
        return cls.broken(blame, story, {"code": "error", "type": type(error).__name__})

    @property
    def is_broken(self) -> bool:
        """Tell whether the episode says nothing about the agent."""
        return self.status == "broken"

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form: ``{status, score, blame, story, detail}``."""
        return {
            "status": self.status,
            "score": self.score,
            "blame": self.blame,
            "story": self.story,
            "detail": dict(self.detail),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Outcome:
        """Rebuild from ``as_dict``. Raises: ValueError for an unknown status."""
        status = data.get("status")
        if status not in STATUSES:
            raise ValueError(f"an outcome's status is one of {', '.join(STATUSES)}, not {status!r}")
        return cls(
            status,
            float(data.get("score") or 0.0),
            data.get("blame"),
            str(data.get("story") or ""),
            dict(data.get("detail") or {}),
        )
