"""The senses part of the local runner: screen, input, accessibility tree."""

from __future__ import annotations

from typing import Any

from gym_anything.actions.model import InputAction, PassthroughAction
from gym_anything.actions.parse import parse_action
from gym_anything.errors import ActionUnsupported
from gym_anything.observations.frame import Frame
from gym_anything.runtime.runners.base_senses import SettleResult
from gym_anything.runtime.runners.local.commands import LocalCommands
from gym_anything.runtime.runners.local.desktop_session import DEFAULT_SIZE
from gym_anything.runtime.runners.local.ui_tree import missing_packages, read_ui_tree


class LocalSenses(LocalCommands):
    """Everything that goes through the desktop service, and the tree."""

    def screen_size(self) -> tuple[int, int]:
        return self.spec.screen_size or DEFAULT_SIZE

    def inject_action(self, action: dict[str, Any]) -> Any:
        world = self._running("inject_action")
        parsed = parse_action(action, screen=self.screen_size())
        if isinstance(parsed, InputAction):
            with world.explaining():
                world.desktop.send(parsed.ops)
            return None
        what = parsed.raw if isinstance(parsed, PassthroughAction) else action
        raise ActionUnsupported(f"a local desktop cannot do this action: {str(what)[:200]}")

    def release_held_inputs(self) -> None:
        self._running("release_held_inputs").desktop.release_held()

    def capture_frame(self, after_input: int | None = None) -> Frame:
        world = self._running("capture_frame")
        with world.explaining():
            return world.desktop.frame()

    def settle(self, quiet_ms: float = 100, max_ms: float = 2000) -> SettleResult:
        world = self._running("settle")
        with world.explaining():
            return world.desktop.settle(quiet_ms, max_ms)

    def capture_ui_tree(self) -> str:
        world = self._running("capture_ui_tree")
        missing = missing_packages()
        if missing:
            raise self.unsupported("ui_tree", f"not installed: {', '.join(missing)}", f"apt-get install {missing[0]}")
        return read_ui_tree(world.channel, self.merge_exec_env(), world.people.desktop)

    def capture_observation(self) -> dict[str, Any]:
        self._running("capture_observation")
        return {}
