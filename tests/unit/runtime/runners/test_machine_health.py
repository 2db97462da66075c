"""What QEMU says of a machine, and what that means for its world."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gym_anything.errors import WorldError, WorldLost
from gym_anything.runtime.runners.qemu_native.health import ask_emulator

pytestmark = pytest.mark.unit


def machine(status: str) -> Any:
    answer = {"status": status, "running": status == "running"}
    return SimpleNamespace(name="a machine", qmp=SimpleNamespace(execute=lambda command, *, deadline: answer))


@pytest.mark.parametrize("resting", [False, True])
@pytest.mark.parametrize("status", ["guest-panicked", "io-error", "internal-error", "shutdown", "watchdog"])
def test_a_machine_that_will_not_go_on_is_lost(status: str, resting: bool) -> None:
    with pytest.raises(WorldLost, match=rf"has stopped: .* \(QEMU: {status}\)") as raised:
        ask_emulator(machine(status), resting=resting)
    assert raised.value.detail == {"status": status}


def test_a_machine_may_stand_still_only_when_it_was_told_to() -> None:
    """Somebody may just be saving it: that is no answer, and three of these are a hang."""
    ask_emulator(machine("running"))
    ask_emulator(machine("paused"), resting=True)
    with pytest.raises(WorldError, match=r"was not told to \(QEMU: paused\)") as raised:
        ask_emulator(machine("paused"))
    assert not isinstance(raised.value, WorldLost)
