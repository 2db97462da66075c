"""A world that is nothing but the desktop being measured, so that ``env.step`` can be measured on it."""

from __future__ import annotations

from typing import Any

from gym_anything.actions.model import InputAction
from gym_anything.actions.parse import parse_action
from gym_anything.observations.frame import Frame
from gym_anything.runtime.desktop.client import DesktopClient
from gym_anything.runtime.runners.base import BaseRunner
from gym_anything.specs.env_spec import EnvSpec


class MeasuredWorld(BaseRunner):
    """Starts nothing and ends nothing: the desktop is there already."""

    def __init__(self, spec: EnvSpec, desktop: DesktopClient) -> None:
        """Measure on this desktop."""
        super().__init__(spec)
        self._desktop = desktop

    def start(self, seed: int | None = None) -> None:
        """See ``BaseRunner``."""

    def stop(self) -> None:
        """See ``BaseRunner``."""

    def run_reset(self, script: str, seed: int | None = None) -> None:
        """See ``BaseRunner``."""
        raise self.unsupported("reset_script", "there is no guest")

    def run_task_init(self, script: str) -> None:
        """See ``BaseRunner``."""
        raise self.unsupported("init_script", "there is no guest")

    def inject_action(self, action: dict[str, Any]) -> Any:
        """See ``BaseRunner``."""
        parsed = parse_action(action, screen=self._desktop.size)
        if not isinstance(parsed, InputAction):
            raise self.unsupported("action", "only input is measured")
        self._desktop.send(parsed.ops)

    def capture_frame(self, after_input: int | None = None) -> Frame:
        """See ``SenseAccess``."""
        return self._desktop.frame()

    def capture_observation(self) -> dict[str, Any]:
        """See ``BaseRunner``."""
        return {}

    def acks_input_delivery(self) -> bool:
        """See ``BaseRunner``."""
        return True

    def supports_fast_io(self) -> bool:
        """See ``BaseRunner``."""
        return True
