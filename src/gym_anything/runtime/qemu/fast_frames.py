"""Which way a machine's pictures come, and what each way needs."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from functools import lru_cache
from typing import cast

from gym_anything._util import env_vars
from gym_anything._util.deadline import Deadline
from gym_anything._util.settings import Resolved, given, resolve
from gym_anything.errors import MissingDependency, UnsupportedFeature
from gym_anything.runtime.qemu.dbus_desktop import DbusDesktop
from gym_anything.runtime.qemu.dbus_display import DbusDisplay
from gym_anything.runtime.qemu.emulator import Emulator, HostEmulator
from gym_anything.runtime.qemu.guest_desktop import GuestDesktop
from gym_anything.runtime.qemu.machine_spec import FRAMES, Frames
from gym_anything.runtime.qemu.qmp import QmpClient
from gym_anything.runtime.qemu.region_desktop import RegionDesktop
from gym_anything.runtime.qemu.screendump import Screendump
from gym_anything.runtime.qemu.shared_region import SharedRegion

_DEFAULT: Frames = "qmp"
_PACKAGE = "qemu-system-gui qemu-system-modules-opengl"
_LIMIT_S = 20.0


BACKEND: env_vars.EnvVar[Frames] = env_vars.declare(
    "GYM_ANYTHING_QEMU_FAST_IO_BACKEND",
    cast(Callable[[str], Frames], env_vars.one_of(*FRAMES)),
    _DEFAULT,
    "How pictures of a QEMU world come: qmp asks QEMU for each; dbus has QEMU send what changed; guest has the "
    "world's own desktop service write what changed into shared memory. Default qmp: it works with every guest.",
    "gym_anything.runtime.qemu.fast_frames",
)


def chosen_frames(option: Frames | None) -> Frames:
    """Return the way that is asked for: by the environment, else by the spec's option, else qmp.

    Raises: SettingInvalid.
    """
    chosen: Resolved[Frames] = resolve(
        "fast_io_backend", environment=BACKEND.lookup(), file=given(option), default=_DEFAULT
    )
    return chosen.value


def require_frames(emulator: Emulator, frames: Frames) -> None:
    """Refuse a way that this QEMU does not have. Raises: MissingDependency with the fix."""
    if frames != "dbus" or not isinstance(emulator, HostEmulator):
        return  # in an image of apptainer's QEMU itself says what it lacks
    if "dbus" not in _displays(emulator.program):
        fix = f"sudo apt-get install --no-install-recommends {_PACKAGE}; or unset {BACKEND.name}"
        raise MissingDependency(f"{emulator.program} has no D-Bus display. Fix: {fix}", detail={"fix": fix})


def require_qmp(system: str) -> None:
    """Refuse every way but QMP, for guests that have no other. Raises: UnsupportedFeature with the fix."""
    asked = BACKEND.get()
    if asked == _DEFAULT:
        return
    raise UnsupportedFeature(
        f"{BACKEND.name}={asked}: pictures of a QEMU world with {system} come by {_DEFAULT} only; unset it",
        detail={"feature": BACKEND.name, "reason": f"{system} guest", "fix": f"unset {BACKEND.name}"},
    )


def connect_desktop(
    qmp: QmpClient, frames: Frames, port: int, screen: Screendump, *, token: bytes, deadline: Deadline
) -> GuestDesktop:
    """Connect to a machine's desktop in the way that it was started for.

    Raises: as ``GuestDesktop.connect``.
    """
    if frames == "dbus":
        return DbusDesktop.reach(port, screen, DbusDisplay(qmp), token=token, deadline=deadline)
    if frames == "guest":
        return RegionDesktop.reach(port, screen, SharedRegion(qmp), token=token, deadline=deadline)
    return GuestDesktop.connect(port, screen, token=token, deadline=deadline)


@lru_cache(maxsize=4)
def _displays(program: str) -> frozenset[str]:
    argv = [program, "-display", "help"]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=_LIMIT_S, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise MissingDependency(f"{program} does not run: {error}", detail={"fix": "reinstall QEMU"}) from error
    return frozenset(done.stdout.split())
