"""Keys by QEMU: every press before its release, few enough in one command, held keys let go."""

from __future__ import annotations

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything.actions.model import KeysDown, KeysUp, PressKeys, TypeText
from gym_anything.runtime.qemu.qmp_keyboard import KEYS_PER_COMMAND, ExperimentalKeyboard, VirtioKeyboard
from tests.unit.runtime.qemu.qemu_monitor import monitor

pytestmark = pytest.mark.unit


def keys(batches: list[list[dict[str, object]]]) -> list[str]:
    return [f"{'+' if e['data']['down'] else '-'}{e['data']['key']['data']}" for b in batches for e in b]  # type: ignore[index]


def test_text_is_pressed_and_released_in_order_with_shift() -> None:
    with monitor() as (qmp, asked):
        assert VirtioKeyboard(qmp).send([TypeText("aB!")], Deadline.after(5)) == 3
    assert keys(asked.events()) == ["+a", "-a", "+shift", "+b", "-b", "-shift", "+shift", "+1", "-1", "-shift"]


def test_a_long_text_goes_in_commands_of_a_few_keys() -> None:
    """More than twelve overflow the queue of a virtio keyboard."""
    with monitor() as (qmp, asked):
        VirtioKeyboard(qmp).send([TypeText("abc " * 50)], Deadline.after(5))
    assert all(len(batch) <= KEYS_PER_COMMAND for batch in asked.events())
    assert len(keys(asked.events())) == 2 * 200


def test_a_chord_is_released_in_reverse_and_a_held_key_stays_down() -> None:
    with monitor() as (qmp, asked):
        keyboard = VirtioKeyboard(qmp)
        keyboard.send([KeysDown(("Shift_L",)), PressKeys(("Control_L", "c"))], Deadline.after(5))
        keyboard.send([KeysDown(("Shift_L",)), KeysUp(("Alt_L",))], Deadline.after(5))
        keyboard.release(Deadline.after(5))
        keyboard.release(Deadline.after(5))
    assert keys(asked.events()) == ["+shift", "+ctrl", "+c", "-c", "-ctrl", "-shift"]


def test_the_experimental_keyboard_waits_out_its_margins() -> None:
    """Source: the seeds: 5 ms hold, 10 ms gap."""
    slept: list[float] = []
    with monitor() as (qmp, asked):
        ExperimentalKeyboard(qmp, 5, 10, slept.append).send([TypeText("aB")], Deadline.after(5))
    pressed = [[key["data"] for key in arguments["keys"]] for _, arguments in asked.asked]
    assert [name for name, _ in asked.asked] == ["send-key", "send-key"]
    assert pressed == [["a"], ["shift", "b"]]
    assert {arguments["hold-time"] for _, arguments in asked.asked} == {5}
    assert slept == [0.015, 0.015]
