"""Which hands a machine is played with, as the environment and the spec say."""

from __future__ import annotations

from typing import Literal

from gym_anything._util import env_vars
from gym_anything._util.settings import Resolved, given, resolve
from gym_anything.errors import SpecInvalid

Keyboard = Literal["uinput", "qmp-experimental", "virtio"]
"""uinput: the guest's own fast keyboard, acknowledged. qmp-experimental: QEMU's ``send-key`` with margins of time.
virtio: QEMU's ``input-send-event`` into a virtio keyboard."""
KEYBOARDS: tuple[Keyboard, ...] = ("uinput", "qmp-experimental", "virtio")
Hands = Literal["guest", "uinput", "qmp-experimental", "virtio"]
"""guest: keys and pointer by the guest's desktop service. Else the pointer is QEMU's tablet, the keyboard as named."""
InputDevices = Literal["virtio", "xhci"]
"""What keyboard and tablet the machine has: virtio ones, or USB ones at an xHCI controller."""
_OWNER = "gym_anything.runtime.qemu.keyboards"
_DEFAULT: Keyboard = "uinput"


def _keyboard(text: str) -> Keyboard:
    for name in KEYBOARDS:
        if text == name:
            return name
    raise ValueError(f"use one of {', '.join(KEYBOARDS)}")


BACKEND: env_vars.EnvVar[Keyboard] = env_vars.declare(
    "GYM_ANYTHING_QEMU_FAST_KEYBOARD_BACKEND",
    _keyboard,
    _DEFAULT,
    "What plays keys of a QEMU world in fast mode: uinput is a keyboard of our own in the guest, acknowledged; "
    "qmp-experimental is QEMU's send-key, which nothing acknowledges; virtio is QEMU's virtio keyboard. Default "
    "uinput: it fails loudly.",
    _OWNER,
)
KEY_HOLD_MS = env_vars.declare(
    "GYM_ANYTHING_QEMU_QMP_KEY_HOLD_MS",
    env_vars.not_negative,
    5.0,
    "Milliseconds that the keyboard qmp-experimental holds a key. Default 5: a margin around QEMU's own timer.",
    _OWNER,
)
KEY_GAP_MS = env_vars.declare(
    "GYM_ANYTHING_QEMU_QMP_KEY_GAP_MS",
    env_vars.not_negative,
    10.0,
    "Milliseconds between two keys of the keyboard qmp-experimental, after the hold. Default 10: as for the hold.",
    _OWNER,
)


def chosen_hands(option: Keyboard | None, *, fast_io: bool, by_guest: bool, devices: InputDevices) -> Hands:
    """Return the hands of a world.

    Args:
        option: the spec's ``fast_keyboard``; the environment is asked first.
        by_guest: pictures come from the guest's desktop service, and so input goes there.
    Raises: SettingInvalid; SpecInvalid for a virtio keyboard in a machine that has none.
    """
    if not fast_io or by_guest:
        return "guest"
    chosen: Resolved[Keyboard] = resolve(
        "fast_keyboard", environment=BACKEND.lookup(), file=given(option), default=_DEFAULT
    )
    if chosen.value == "virtio" and devices != "virtio":
        raise SpecInvalid(
            "the keyboard virtio needs a machine that has one: set runner_options.input_devices to virtio",
            detail={"key": "runner_options.input_devices"},
        )
    return chosen.value
