"""Asking a world to come to rest, with what is left out, and telling what it found."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gym_anything.actions.values import MOST_BOXES, read_boxes
from gym_anything.errors import ActionError, ActionUnsupported

if TYPE_CHECKING:
    from gym_anything.actions.model import Box
    from gym_anything.runtime.runners.base import BaseRunner
    from gym_anything.runtime.runners.base_senses import SettleResult


@dataclass(frozen=True, slots=True)
class SettleRule:
    """Wait until the screen has been still for ``quiet_ms``, at most ``max_ms``."""

    quiet_ms: float
    max_ms: float


def settle_world(runner: BaseRunner, rule: SettleRule, ignore: tuple[Box, ...] = ()) -> SettleResult:
    """Let the world settle; changes inside the boxes do not count.

    Raises: ActionUnsupported for boxes that its own ``settle`` does not take; whatever it raises.
    """
    if not ignore:
        return runner.settle(rule.quiet_ms, rule.max_ms)
    if not leaves_out(runner):
        raise ActionUnsupported(f"{runner.runner_name()} cannot leave boxes out of settle; give none")
    return runner.settle(rule.quiet_ms, rule.max_ms, ignore=ignore)


def leaves_out(runner: BaseRunner) -> bool:
    """Tell whether the world's ``settle`` takes boxes: a runner written before there were any does not."""
    parameters = inspect.signature(runner.settle).parameters.values()
    return any(one.name == "ignore" or one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters)


def joined_boxes(known: tuple[Box, ...], more: Any, screen: tuple[int, int] | None) -> tuple[Box, ...]:
    """Return the known boxes and the caller's, each once. Raises: ActionError for what are no boxes, or too many."""
    boxes = tuple(dict.fromkeys([*known, *read_boxes(more, "settle_ignore", screen)]))
    if len(boxes) > MOST_BOXES:
        raise ActionError(f"one settle can leave out {MOST_BOXES} boxes; these are {len(boxes)} with the environment's")
    return boxes


def told(rest: SettleResult) -> dict[str, Any]:
    """Return a settle's result as ``info`` has it."""
    return {
        "settled": rest.settled,
        "waited_ms": round(rest.waited_ms, 3),
        "ignored": [list(box) for box in rest.ignored],
    }
