"""The senses part of a runner whose worlds have a ``ga-desktop``: screen, input, accessibility tree."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from gym_anything.actions.model import Box, InputAction, PassthroughAction
from gym_anything.actions.parse import parse_action
from gym_anything.errors import ActionUnsupported, WorldLost
from gym_anything.observations.frame import Frame
from gym_anything.runtime.runners.base_senses import SettleResult
from gym_anything.runtime.runners.channel_commands import ChannelCommands
from gym_anything.runtime.session.desktop_session import DEFAULT_SIZE
from gym_anything.runtime.session.ui_tree import read_ui_tree


class DesktopSenses(ChannelCommands):
    """Everything that goes through the desktop service, and the tree; and what such a world can do for that reason."""

    @classmethod
    def conformance_profile(cls) -> str:
        return "desktop_linux"

    def seed_matters_at_start(self) -> bool:
        return False

    def supports_fast_io(self) -> bool:
        return True

    def supports_live_recording(self) -> bool:
        return True

    def pins_frames(self) -> bool:
        return True

    def acks_input_delivery(self) -> bool:
        return True

    def screen_size(self) -> tuple[int, int]:
        """While a world runs: of its last frame, since its programs may change the resolution."""
        if self._world is not None:
            with contextlib.suppress(WorldLost):  # its desktop is not up yet, or gone
                return self._world.desktop.size
        return self.spec.screen_size or DEFAULT_SIZE

    def inject_action(self, action: dict[str, Any]) -> Any:
        world = self._running("inject_action")
        parsed = parse_action(action, screen=self.screen_size())
        if isinstance(parsed, InputAction):
            with world.explaining():
                world.desktop.send(parsed.ops)
            return None
        what = parsed.raw if isinstance(parsed, PassthroughAction) else action
        raise ActionUnsupported(f"a desktop cannot do this action: {str(what)[:200]}")

    def release_held_inputs(self) -> None:
        self._running("release_held_inputs").desktop.release_held()

    def capture_frame(self, after_input: int | None = None) -> Frame:
        world = self._running("capture_frame")
        with world.explaining():
            return world.desktop.frame()

    def settle(self, quiet_ms: float = 100, max_ms: float = 2000, ignore: Sequence[Box] = ()) -> SettleResult:
        world = self._running("settle")
        with world.explaining():
            return world.desktop.settle(quiet_ms, max_ms, ignore=ignore)

    def capture_ui_tree(self) -> str:
        world = self._running("capture_ui_tree")
        return read_ui_tree(world.channel, self.merge_exec_env(), world.people.desktop)

    def capture_observation(self) -> dict[str, Any]:
        self._running("capture_observation")
        return {}
