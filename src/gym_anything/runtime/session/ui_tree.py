"""The accessibility tree of a desktop, as text."""

from __future__ import annotations

from pathlib import Path

from gym_anything._util.deadline import Deadline
from gym_anything.errors import ObservationError
from gym_anything.runtime.guest.channel import GuestChannel
from gym_anything.runtime.session import ui_tree_walk

PROGRAMS = {"/usr/bin/python3": "python3", "/usr/libexec/at-spi-bus-launcher": "at-spi2-core"}
"""What the walk needs of the host, and the package it comes with."""
# In an emulated machine that has just started Python alone takes seconds to start.
_CALL_S = ui_tree_walk.LIMIT_S + ui_tree_walk.START_S + 25
_MAX_BYTES = 16 << 20


def missing_packages() -> list[str]:
    """Return the Debian packages without which there is no accessibility tree."""
    return [package for path, package in PROGRAMS.items() if not Path(path).exists()]


def read_ui_tree(channel: GuestChannel, env: dict[str, str], user: str) -> str:
    """Walk the tree inside the world and return it: one line an element, indented by depth.

    Raises: ObservationError when there is no accessibility bus, or it does not answer.
    """
    source = Path(ui_tree_walk.__file__).read_bytes()
    result = channel.exec(
        ["/usr/bin/python3", "-I", "-S", "-"],
        stdin=source,
        user=user,
        env=env,
        deadline=Deadline.after(_CALL_S),
        max_output_bytes=_MAX_BYTES,
    )
    if not result.ok:
        said = result.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise ObservationError(f"no accessibility tree: {' '.join(said) or f'exit {result.exit_code}'}")
    return result.stdout.decode("utf-8", errors="replace")
