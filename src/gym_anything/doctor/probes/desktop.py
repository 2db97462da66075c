"""An X server really started, a picture really seen, a click that really arrives."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from gym_anything._util import logs
from gym_anything._util.deadline import Deadline
from gym_anything._util.state_dir import Run, WorldDir
from gym_anything._util.supervisor import Supervisor
from gym_anything.actions.model import Click
from gym_anything.doctor.check import Check
from gym_anything.errors import GymAnythingError
from gym_anything.runtime.desktop.private_screen import PACKAGES, SERVERS, PrivateScreen
from gym_anything.runtime.desktop.x_client import XClient

_SIZE = (640, 480)
_INSTALL = "sudo apt-get install -y --no-install-recommends {}"
_COLOUR = 0x2266AA
_POINT = (123, 234)


def desktop(deadline: Deadline) -> Iterator[Check]:
    """Start an X server, look at it and click on it, first through its own protocol, then through our service."""
    name = next((name for name in SERVERS if shutil.which(name)), None)
    if name is None:
        fix = _INSTALL.format(PACKAGES["Xvnc"])
        yield Check("x-server", False, f"none of {', '.join(SERVERS)} is installed", fix=fix)
        return
    world = Run.current().new_world("doctor")
    try:
        yield from _with_server(name, world, deadline)
    finally:
        Supervisor.shared().stop_world(world.id)
        world.remove()


def _with_server(name: str, world: WorldDir, deadline: Deadline) -> Iterator[Check]:
    fix = _INSTALL.format(f"--reinstall {PACKAGES[name]}")
    try:
        screen = PrivateScreen(name, world, _SIZE, deadline)
        client = screen.x_client(deadline)
    except (OSError, GymAnythingError) as error:
        yield Check("x-server", False, f"{name}: {error}", fix=fix)
        return
    with client:
        client.show_window(_COLOUR)
        seen = client.pixel(*_POINT)
        ok = seen == _COLOUR
        detail = f"{name} started, and a window of one colour was seen ({client.width}x{client.height})"
        yield Check("x-server", ok, detail if ok else f"{name} shows {seen:#08x}, not {_COLOUR:#08x}", fix=fix)
        yield from _service(screen, client, deadline)


def _service(screen: PrivateScreen, client: XClient, deadline: Deadline) -> Iterator[Check]:
    try:
        service = screen.start_service(deadline)
    except (OSError, GymAnythingError) as error:
        fix = str(getattr(error, "detail", {}).get("fix") or "gym-anything doctor --fix")
        log = logs.tail(screen.service_log, 3)
        for name in ("desktop-frame", "desktop-input"):
            yield Check(name, False, f"the desktop service did not start: {error} {log}".strip(), fix=fix)
        return
    with service:
        frame = service.frame(deadline=deadline)
        seen = tuple(int(part) for part in frame.array[_POINT[1], _POINT[0]])
        wanted = tuple(_COLOUR.to_bytes(3, "big"))
        ok = seen == wanted and (frame.width, frame.height) == (client.width, client.height)
        detail = f"a frame of {frame.width}x{frame.height} with the right colour"
        fix = "gym-anything doctor --fix"
        yield Check("desktop-frame", ok, detail if ok else f"{detail[:-21]} shows {seen}, not {wanted}", fix=fix)
        acknowledged = service.send([Click("left", *_POINT)], deadline=deadline)
        press, pointer = client.next_press(), client.pointer()
        ok = press == (1, *_POINT) and pointer == acknowledged.pointer == _POINT
        detail = f"a click arrived in a window at {press[1:]}, the pointer is at {pointer}"
        yield Check("desktop-input", ok, detail if ok else f"{detail}; it was sent to {_POINT}", fix=fix)
