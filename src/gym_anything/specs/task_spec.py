"""What a task is: the model of ``task.yaml``, ``task.yml`` and ``task.json``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from gym_anything.specs.fields import Name, Text, TextOrNumber, Texts
from gym_anything.specs.spec_model import TopLevelSpec
from gym_anything.specs.task_objects import Success, TaskHooks, TaskInit
from gym_anything.specs.validation import validated

RewardType = Literal["sparse", "dense", "partial", "rubric", "continuous"]
REWARD_TYPES: tuple[RewardType, ...] = ("sparse", "dense", "partial", "rubric", "continuous")


class TaskSpec(TopLevelSpec):
    """One task of an environment. Frozen data.

    Build one with ``from_dict`` or through ``specs.loading.load_task``. The key of a task is its *folder* name; ``id``
    is often ``<folder>@1``.
    """

    id: Name
    """Identity of the task, for people. Required."""
    env_id: Text | None = None
    """Environment that the author had in mind; often out of date, so nobody checks it. None."""
    version: TextOrNumber = "1.0"
    """Version of the content."""
    name: Text | None = None
    """Title for people. None."""
    description: Text = ""
    """What the agent is told to do. Empty: ``natural_language`` is used; see ``prompt``."""
    natural_language: Text | dict[str, Any] | None = None
    """The prompt in everyday words: text, or an object with ``prompt``. None."""
    difficulty: TextOrNumber | None = None
    """Any word (``easy``, ``medium-hard``). None: not rated."""
    deps: Texts = ()
    """What the task depends on; a remark for people."""
    tags: Texts = ()
    """Free words for searching."""
    init: TaskInit = Field(default_factory=TaskInit)
    """Start and limits."""
    hooks: TaskHooks = Field(default_factory=TaskHooks)
    """Set-up and export."""
    success: Success = Field(default_factory=Success)
    """What success means. Left out: a program that was not named, so the episode cannot be judged."""
    metadata: dict[str, Any] = Field(default_factory=dict)
    """Free data for the verifier (``task_info["metadata"]``)."""

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, origin: str = "the task spec") -> TaskSpec:
        """Check plain data and return the spec.

        Args:
            data: as in a file, or what ``to_dict`` returned.
            origin: words for the error: where the data came from.
        Raises: SpecInvalid (``detail``: file, key, fix).
        """
        return validated(cls, data, origin=origin)

    @property
    def prompt(self) -> str:
        """Return what the agent is told: ``description``, else ``natural_language``, else the name or id."""
        spoken = self.natural_language
        if isinstance(spoken, dict):
            spoken = spoken.get("prompt")
        said = spoken if isinstance(spoken, str) else ""
        return self.description or said or self.name or self.id

    @property
    def reward_rule(self) -> RewardType:
        """Return the rule that the reward follows.

        ``dense`` without a shaping function is ``sparse``, and so is every word that is not in ``REWARD_TYPES``
        (``final`` and ``weighted`` are in use: paid once, at the end).
        """
        if self.init.reward_type == "dense" and not self.init.reward_shaping:
            return "sparse"
        return next((r for r in REWARD_TYPES if r == self.init.reward_type), "sparse")

    @property
    def post_task_settle_sec(self) -> float | None:
        """Return the seconds between ``post_task`` and the verifier, from extras, then metadata; None: default."""
        for place in (self.extras, self.metadata):
            value = place.get("post_task_settle_sec")
            if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 86400:
                return float(value)
        return None
