"""An X server really started, a picture really seen, a click that really arrives."""

from __future__ import annotations

import os
import select
import shutil
from collections.abc import Iterator
from pathlib import Path

from gym_anything._util import logs
from gym_anything._util.deadline import Deadline, expired_error
from gym_anything._util.state_dir import Run, WorldDir
from gym_anything._util.supervisor import SupervisedProcess, Supervisor
from gym_anything.actions.model import Click
from gym_anything.doctor.check import Check
from gym_anything.doctor.x_client import XClient, write_cookie_file
from gym_anything.errors import GymAnythingError, HostError, NativeProgramMissing
from gym_anything.runtime.desktop.client import DesktopClient
from gym_anything.runtime.native.locate import find_program

# The options differ in what keeps the server to itself: no TCP, no abstract socket, VNC on a private Unix socket.
_SERVERS = {
    "Xvnc": "-geometry 640x480 -depth 24 -rfbport -1 -rfbunixpath {folder}/vnc -SecurityTypes None",
    "Xvfb": "-screen 0 640x480x24",
}
_PACKAGES = {"Xvnc": "tigervnc-standalone-server", "Xvfb": "xvfb"}
_COMMON = "-displayfd {fd} -auth {folder}/cookie -nolisten tcp -nolisten local -noreset"
_INSTALL = "sudo apt-get install -y --no-install-recommends {}"
_COLOUR = 0x2266AA
_POINT = (123, 234)


def desktop(deadline: Deadline) -> Iterator[Check]:
    """Start an X server, look at it and click on it, first through its own protocol, then through our service."""
    name = next((name for name in _SERVERS if shutil.which(name)), None)
    if name is None:
        fix = _INSTALL.format(_PACKAGES["Xvnc"])
        yield Check("x-server", False, f"none of {', '.join(_SERVERS)} is installed", fix=fix)
        return
    world = Run.current().new_world("doctor")
    try:
        yield from _with_server(name, world, deadline)
    finally:
        Supervisor.shared().stop_world(world.id)
        world.remove()


def _with_server(name: str, world: WorldDir, deadline: Deadline) -> Iterator[Check]:
    cookie = os.urandom(16)
    write_cookie_file(world.path / "cookie", cookie)
    fix = _INSTALL.format(f"--reinstall {_PACKAGES[name]}")
    try:
        display = _start_server(name, world, deadline)
        client = XClient(f"/tmp/.X11-unix/X{display}", cookie, deadline)
    except (OSError, GymAnythingError) as error:
        yield Check("x-server", False, f"{name}: {error}", fix=fix)
        return
    with client:
        client.show_window(_COLOUR)
        seen = client.pixel(*_POINT)
        ok = seen == _COLOUR
        size = f"{client.width}x{client.height}"
        detail = f"{name} started, a window of one colour was seen ({size})"
        yield Check("x-server", ok, detail if ok else f"{name} shows {seen:#08x}, not {_COLOUR:#08x}", fix=fix)
        yield from _service(world, display, client, deadline)


def _start_server(name: str, world: WorldDir, deadline: Deadline) -> int:
    readable, writable = os.pipe()
    log = world.path / "server.log"
    try:
        try:
            options = f"{_COMMON} {_SERVERS[name]}".format(fd=writable, folder="{folder}").split()
            argv = [name, *(option.format(folder=world.path) for option in options)]
            with log.open("wb") as file:
                process = Supervisor.shared().spawn(
                    argv,
                    name=f"doctor's {name}",
                    env={**os.environ, **world.env},
                    stdout=file.fileno(),
                    stderr=file.fileno(),
                    pass_fds={writable: writable},
                )
        finally:
            os.close(writable)
        return _read_display(readable, process, log, deadline)
    finally:
        os.close(readable)


def _read_display(fd: int, process: SupervisedProcess, log: Path, deadline: Deadline) -> int:
    text = b""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    while not text.endswith(b"\n"):
        if not poll.poll(deadline.remaining() * 1000):
            raise expired_error(f"{process.name}'s display number", log_tail=logs.tail(log, 5))
        part = os.read(fd, 16)
        if not part:
            raise HostError(f"it ended with {process.wait(deadline)}: {logs.tail(log, 5)}")
        text += part
    return int(text)


def _service(world: WorldDir, display: int, client: XClient, deadline: Deadline) -> Iterator[Check]:
    try:
        service = _start_service(world, display, deadline)
    except (OSError, GymAnythingError) as error:
        fix = str(getattr(error, "detail", {}).get("fix") or "gym-anything doctor --fix")
        log = logs.tail(world.path / "service.log", 3)
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


def _start_service(world: WorldDir, display: int, deadline: Deadline) -> DesktopClient:
    program = find_program("ga-desktop")
    if program is None:
        raise NativeProgramMissing("ga-desktop is not built", detail={"fix": "gym-anything doctor --fix"})
    path = world.socket_path("desktop")
    with (world.path / "service.log").open("wb") as log:
        Supervisor.shared().spawn(
            [program, "--display", f":{display}", "--socket", path],
            name="doctor's ga-desktop",
            env={**os.environ, **world.env, "XAUTHORITY": str(world.path / "cookie")},
            stderr=log.fileno(),
        )
    return DesktopClient.connect(path, deadline=deadline)
