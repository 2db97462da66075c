"""The fake world: a whole desktop in memory that keeps every promise of the runner contract.

It draws a screen by plain rules, takes every input of the contract, has files, a few commands, hooks, checkpoints,
forks and, when asked, a clock of its own. Ground truth for verifiers lies in its files: ``/home/ga/typed.txt`` (text as
typed) and ``/home/ga/clicks.txt`` (``button x y count`` a line). Nothing of it touches the host, so a test may run
thousands.

Spec: ``{"runner": "gym_anything.testing.fakes.world:FakeWorld"}``; ``runner_options`` are in ``options.FakeOptions``.
"""

from __future__ import annotations

from typing import Any

from gym_anything.actions.model import (
    Buttons,
    Click,
    Drag,
    InputAction,
    InputOp,
    KeysDown,
    KeysUp,
    Move,
    PressKeys,
    Scroll,
    SettleAction,
    TypeText,
    WaitAction,
)
from gym_anything.actions.parse import parse_action
from gym_anything.testing.fakes.checkpoints import FakeCheckpoints
from gym_anything.testing.fakes.forks import FakeForks
from gym_anything.testing.fakes.guest import FakeGuest
from gym_anything.testing.fakes.senses import FakeSenses

TYPED_FILE = "/home/ga/typed.txt"
CLICKS_FILE = "/home/ga/clicks.txt"


class FakeWorld(FakeGuest, FakeSenses, FakeCheckpoints, FakeForks):
    """A well-behaved world in memory."""

    def inject_action(self, action: dict[str, Any]) -> Any:
        """Do one action at once; it is visible in the next frame."""
        self.require_ready("inject_action")
        parsed = parse_action(action, screen=(self.screen.width, self.screen.height))
        if isinstance(parsed, InputAction):
            for op in parsed.ops:
                self.do(op)
            self.inputs_acknowledged += 1
            return None
        if isinstance(parsed, WaitAction) and self.supports_time_control():
            self.clock.advance(parsed.seconds)
            return {"now": self.clock.now()}
        if isinstance(parsed, SettleAction):
            return self.settle(parsed.quiet_ms, parsed.max_ms, parsed.ignore)
        raise self.unsupported_action(action)

    def do(self, op: InputOp) -> None:
        """Apply one operation to the screen and to the files that tell of it."""
        if isinstance(op, Click):
            self.screen.click(op.button, op.x, op.y, op.count)
            self.files.write(CLICKS_FILE, f"{op.button} {op.x} {op.y} {op.count}\n".encode(), append=True)
        elif isinstance(op, Drag):
            self.screen.drag(op.button, op.start, op.end)
        elif isinstance(op, Move):
            self.screen.move(op.x, op.y)
        elif isinstance(op, Scroll):
            self.screen.scroll(op.dx, op.dy)
        elif isinstance(op, TypeText):
            self._type(op.text)
        elif isinstance(op, PressKeys):
            self.screen.write("+".join(op.keys))
        elif isinstance(op, KeysDown):
            self.held.update(op.keys)
        elif isinstance(op, KeysUp):
            self.held.difference_update(op.keys)
        elif isinstance(op, Buttons):
            self._change_buttons(op)

    def capture_observation(self) -> dict[str, Any]:
        """Answer for the modality types of the spec that core does not know, with what this world has."""
        self.require_ready("capture_observation")
        known = {"rgb_screen", "audio_waveform", "ui_tree"}
        return {
            item.type: {"inputs": self.inputs_acknowledged, "now": self.clock.now()}
            for item in self.spec.observation
            if item.type not in known
        }

    def release_held_inputs(self) -> None:
        """Release everything."""
        self.held.clear()

    def _type(self, text: str) -> None:
        for char in text:
            self.screen.write(char)
            self.typed = self.typed[:-1] if char == "\b" else self.typed + char
        self.files.write(TYPED_FILE, self.typed.encode("utf-8", "surrogatepass"))

    def _change_buttons(self, op: Buttons) -> None:
        for button, down in op.changes:
            if down:
                self.held.add(f"button-{button}")
            else:
                self.held.discard(f"button-{button}")
