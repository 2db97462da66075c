"""Pointer and keyboard of a machine together: what is said of input of which only a part was done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything.actions.model import Click, InputOp, PressKeys, TypeText
from gym_anything.errors import InputDeliveryUnknown, InputNotDelivered
from gym_anything.runtime.desktop.desktop import InputAck
from gym_anything.runtime.qemu.fast_input import FastHands
from gym_anything.runtime.qemu.fast_keyboard import PointerState
from tests.unit.runtime.qemu.qemu_monitor import monitor
from tests.unit.runtime.qemu.test_qmp_pointer import SIZE, Tablet

pytestmark = pytest.mark.unit
CLICK, KEYS = Click("left", 10, 10), PressKeys(("Control_L", "s"))


class DeafWitness(Tablet):
    """A keyboard that no display server reads; after so many looks it has no pointing device either."""

    def __init__(self, looks: int = 1 << 30) -> None:
        super().__init__()
        self.looks = looks

    def pointer(self, deadline: Deadline | None = None) -> PointerState:
        self.looks -= 1
        if self.looks < 0:
            raise InputNotDelivered("the machine has no pointing device")
        return self.state

    def send(self, ops: Sequence[InputOp], deadline: Deadline | None = None) -> int:
        raise InputNotDelivered("no display server reads the keyboard")


class Service:
    """A desktop service that takes all it is told."""

    size = SIZE

    def send_by_service(self, ops: Sequence[InputOp], deadline: Deadline) -> InputAck:
        return InputAck(1, (0, 0), 1)

    def tell_of_input(self, kinds: int, deadline: Deadline) -> tuple[int, int]:
        return (0, 0)

    def settle(self, quiet_ms: float = 100, max_ms: float = 2000, *, deadline: Deadline | None = None) -> object:
        return None


def do(witness: Any, *ops: InputOp) -> None:
    with monitor() as (qmp, asked):
        asked.told = witness.told
        FastHands("uinput", qmp, witness, Service()).do(ops, Deadline.after(5))


def test_keys_that_go_nowhere_before_anything_was_done_may_be_sent_again() -> None:
    with pytest.raises(InputNotDelivered):
        do(DeafWitness(), KEYS)


@pytest.mark.parametrize("before", [CLICK, TypeText("é")])
def test_keys_that_go_nowhere_after_something_else_are_never_sent_again(before: InputOp) -> None:
    """A click and keys are one action: sent again, it would click twice."""
    witness = DeafWitness()
    with pytest.raises(InputDeliveryUnknown, match="1 of 2 parts") as raised:
        do(witness, before, KEYS)
    assert raised.value.detail["ops_done"] == 1
    assert [what for what, _ in witness.history] == (["+left", "-left"] if before is CLICK else [])


def test_a_tablet_that_vanishes_after_an_event_may_have_taken_it() -> None:
    with pytest.raises(InputNotDelivered):
        do(DeafWitness(looks=0), CLICK)
    with pytest.raises(InputDeliveryUnknown, match="no pointing device"):
        do(DeafWitness(looks=1), CLICK)
