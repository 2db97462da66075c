"""What is being tested: one runner, one spec, and what is known about it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gym_anything.runtime.runners.base import BaseRunner
from gym_anything.runtime.runners.base_senses import SCREEN_METHODS
from gym_anything.specs.env_spec import EnvSpec

CORE_OBSERVATIONS = frozenset({"rgb_screen", "audio_waveform", "ui_tree", "cli_stdout"})
DEFAULT_RESOLUTION = (1280, 720)


@dataclass(frozen=True)
class Subject:
    """One runner under test.

    Attributes:
        cls: the runner class.
        reference: the key or locator it was given by.
        env_data: the spec as plain data, complete.
        task_data: the task as plain data, or None.
        actions: actions of the world's own that must work, as given by the author.
        restored: worlds come from a checkpoint instead of a start.
        start_limit_s: how long a start may take before the suite gives up on it.
        known_failures: test names and the reason why they are known to fail.
        declared_observations: the author said what the world shows (else the suite guessed).
    """

    cls: type[BaseRunner]
    reference: str
    env_data: Mapping[str, Any]
    task_data: Mapping[str, Any] | None = None
    actions: tuple[Mapping[str, Any], ...] = ()
    restored: bool = False
    start_limit_s: float = 300.0
    known_failures: Mapping[str, str] = field(default_factory=dict)
    declared_observations: bool = False

    def spec(self, **changes: Any) -> EnvSpec:
        """Return the spec, with top-level keys changed."""
        return EnvSpec.from_dict({**self.env_data, **changes})

    @property
    def profile(self) -> str:
        """The runner's conformance profile."""
        return self.cls.conformance_profile()

    def requires_desktop(self) -> bool:
        """Tell whether screen and input must be there."""
        return self.profile in ("desktop", "desktop_linux")

    def shows(self, kind: str) -> bool:
        """Tell whether the spec declares an observation type."""
        return self.spec().observation_of(kind) is not None

    def takes(self, kind: str) -> bool:
        """Tell whether the spec declares an action type."""
        return self.spec().action_of(kind) is not None


def minimal_env(cls: type[BaseRunner], reference: str) -> dict[str, Any]:
    """Return the smallest valid spec for a runner: a screen and input where it has a screen."""
    screen: dict[str, Any] = {"type": "rgb_screen", "fps": 10, "resolution": list(DEFAULT_RESOLUTION)}
    has_screen = cls.overrides(SCREEN_METHODS)
    return {
        "id": f"conformance-{uuid.uuid4().hex[:8]}@1",
        "runner": reference,
        "observation": [screen if has_screen else {"type": "world"}],
        "action": [{"type": "mouse"}, {"type": "keyboard"}] if has_screen else [{"type": "world"}],
        "recording": {"enable": False},
    }


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``over`` merged over ``base``: objects merge, everything else is replaced."""
    result = dict(base)
    for key, value in over.items():
        before = result.get(key)
        both = isinstance(before, Mapping) and isinstance(value, Mapping)
        result[key] = merged(before, value) if both else value  # type: ignore[arg-type]
    return result


def plain(spec: Any) -> dict[str, Any]:
    """Return a spec as plain data, whether it came as data or as a spec object."""
    if isinstance(spec, Mapping):
        return dict(spec)
    return dict(spec.to_dict())


def frozen_actions(actions: Sequence[Mapping[str, Any]] | None) -> tuple[Mapping[str, Any], ...]:
    """Return the author's actions as a tuple."""
    return tuple(dict(action) for action in actions or ())
