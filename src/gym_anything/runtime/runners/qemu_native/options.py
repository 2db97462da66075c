"""What ``runner_options`` may say for a QEMU world."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from gym_anything.runtime.qemu.keyboards import InputDevices, Keyboard
from gym_anything.runtime.qemu.machine_spec import Frames
from gym_anything.runtime.session.desktop_options import sentences


class QemuOptions(BaseModel):
    """Options of one QEMU world."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    begin: Literal["fork", "boot"] = "fork"
    """fork: a copy of a machine that was started once and saved, ready within a second. boot: started from its disk."""
    fast_io_backend: Frames | None = None
    """How pictures come: ``qmp``, ``dbus`` or ``guest``. ``GYM_ANYTHING_QEMU_FAST_IO_BACKEND`` is asked first; without
    both ``qmp``."""
    fast_keyboard: Keyboard | None = None
    """What plays keys in fast mode: ``uinput``, ``qmp-experimental`` or ``virtio``.
    ``GYM_ANYTHING_QEMU_FAST_KEYBOARD_BACKEND`` is asked first; without both ``uinput``."""
    input_devices: InputDevices = "xhci"
    """The machine's keyboard and tablet: ``xhci`` for USB ones at an xHCI controller, which every system knows, or
    ``virtio``."""
    start_timeout_s: float = Field(default=300.0, gt=0, le=3600)
    """Bound of a start, in seconds. 300: an emulated machine boots in half a minute, on a loaded host in minutes."""


def option_errors(options: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with these ``runner_options``, one sentence each; ``[]`` when all is well."""
    return sentences(QemuOptions, options, world="a QEMU world")
