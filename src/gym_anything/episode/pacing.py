"""How long an episode waits: between actions, after input, and at the end of a step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gym_anything._util import env_vars
from gym_anything._util.deadline import Deadline
from gym_anything.episode.settling import SettleRule, settle_world, told

if TYPE_CHECKING:
    from gym_anything.actions.model import Box
    from gym_anything.runtime.runners.base import BaseRunner

DEFAULT_GAP_S = 0.2
LEGACY_SETTLE_S = 2.0
PACINGS = ("legacy", "fast", "settle")

_OWNER = "episode"
ACTION_SETTLE = env_vars.declare(
    "GYM_ANYTHING_FAST_IO_ACTION_SETTLE_MS",
    env_vars.not_negative,
    0.0,
    "Fast mode: milliseconds to wait after input before the observation. 0: acknowledged input needs no wait.",
    _OWNER,
)
STEP_CYCLE = env_vars.declare(
    "GYM_ANYTHING_FAST_IO_STEP_CYCLE_MS",
    env_vars.not_negative,
    0.0,
    "Fast mode: milliseconds that a synchronous environment waits at the end of each step.",
    _OWNER,
)
ACTION_GAP = env_vars.declare(
    "GYM_ANYTHING_FAST_IO_ACTION_GAP_MS",
    env_vars.not_negative,
    0.0,
    "Fast mode: milliseconds between two actions of one step, for worlds that acknowledge input delivery.",
    _OWNER,
)


AFTER_INPUT = SettleRule(quiet_ms=100, max_ms=LEGACY_SETTLE_S * 1000)
"""In place of the sleep after input: never longer than that."""
BETWEEN_ACTIONS = SettleRule(quiet_ms=40, max_ms=DEFAULT_GAP_S * 1000)
"""In place of the default gap: never longer than that."""


@dataclass(frozen=True, slots=True)
class Pacing:
    """The waits of one environment, in seconds.

    Attributes:
        after_input_s: after the last action of a step, when it held input.
        step_cycle_s: at the end of every step.
        acknowledged_gap_s: between two actions when the world acknowledges input; None: the caller's own gap counts.
        settles: the world's ``settle`` takes the place of these waits; only a gap that the caller chose is slept.
        ignore: boxes in which changes do not count for a settle, whoever asks for it.
    """

    after_input_s: float
    step_cycle_s: float
    acknowledged_gap_s: float | None
    settles: bool = False
    ignore: tuple[Box, ...] = ()

    def gap_s(self, asked_s: float) -> float:
        """Return the wait between two actions, for the caller's ``wait_between_actions``.

        Where input is acknowledged the default gap falls away; a gap that the caller chose stays.
        """
        if self.acknowledged_gap_s is not None and asked_s == DEFAULT_GAP_S:
            return self.acknowledged_gap_s
        return asked_s


def choose_pacing(kind: str, *, acknowledges_input: bool, step_cycle_s: float, ignore: tuple[Box, ...] = ()) -> Pacing:
    """Return the waits of ``legacy`` (normal mode), ``fast`` or ``settle`` pacing.

    Args:
        acknowledges_input: ``inject_action`` returns only after the world took the input.
        step_cycle_s: of a synchronous environment, else 0.
        ignore: boxes that every settle leaves out.
    """
    if kind == "legacy":
        return Pacing(LEGACY_SETTLE_S, step_cycle_s, None, ignore=ignore)
    if kind == "fast":
        gap = ACTION_GAP.get() / 1000 if acknowledges_input else None
        cycle_s = STEP_CYCLE.get() / 1000 if step_cycle_s > 0 else 0.0
        return Pacing(ACTION_SETTLE.get() / 1000, cycle_s, gap, ignore=ignore)
    if kind == "settle":
        return Pacing(0.0, 0.0, None, settles=True, ignore=ignore)
    raise ValueError(f"pacing must be one of {', '.join(PACINGS)}, not {kind!r}")


def let_time_pass(runner: BaseRunner, seconds: float, doing: str) -> object:
    """Let ``seconds`` of the world's time pass: a world with its own clock receives a wait, else the wall clock runs.

    Returns: what such a world answered, else None. Raises: Aborted as soon as the runner is aborted.
    """
    if seconds <= 0:
        return None
    if runner.supports_time_control():
        return runner.inject_action({"action": "wait", "time": seconds})
    runner.abort_signal.wait(Deadline.after(seconds), doing)
    return None


def pause_between_actions(runner: BaseRunner, pacing: Pacing, asked_s: float, doing: str) -> None:
    """Wait between two actions, for the caller's ``wait_between_actions``.

    Raises: as ``let_time_pass``; with settle pacing whatever the world's ``settle`` raises.
    """
    if pacing.settles and asked_s == DEFAULT_GAP_S:
        settle_world(runner, BETWEEN_ACTIONS, pacing.ignore)
    else:
        let_time_pass(runner, pacing.gap_s(asked_s), doing)


def pause_after_input(runner: BaseRunner, pacing: Pacing) -> dict[str, object] | None:
    """Wait after the input of a step.

    Returns: with settle pacing, whether the screen came to rest within ``max_ms``, after how long, and in which boxes
        changes did not count; else None.
    """
    if not pacing.settles:
        let_time_pass(runner, pacing.after_input_s, "the settle after input")
        return None
    return {**told(settle_world(runner, AFTER_INPUT, pacing.ignore)), "max_ms": AFTER_INPUT.max_ms}
