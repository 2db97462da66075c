"""An X server really started, a picture really seen, a click that really arrives."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

from gym_anything._util import logs
from gym_anything._util.deadline import Deadline
from gym_anything._util.state_dir import Run, WorldDir
from gym_anything._util.supervisor import SupervisedProcess, Supervisor
from gym_anything._util.waiting import wait_until
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
_COMMON = "-auth {folder}/cookie -nolisten tcp -nolisten local -noreset"
_DISPLAYS = (1000, 50_000)
_TRIES = 5
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
        client = XClient(_socket_of(display), cookie, deadline)
    except (OSError, GymAnythingError) as error:
        yield Check("x-server", False, f"{name}: {error}", fix=fix)
        return
    with client:
        client.show_window(_COLOUR)
        seen = client.pixel(*_POINT)
        ok = seen == _COLOUR
        detail = f"{name} started, and a window of one colour was seen ({client.width}x{client.height})"
        yield Check("x-server", ok, detail if ok else f"{name} shows {seen:#08x}, not {_COLOUR:#08x}", fix=fix)
        yield from _service(world, display, client, deadline)


def _start_server(name: str, world: WorldDir, deadline: Deadline) -> int:
    """Start it on a display number of our own choice. ``-displayfd`` would let two servers take the same one."""
    options = f"{_COMMON} {_SERVERS[name]}".split()
    for _ in range(_TRIES):
        display = random.randrange(*_DISPLAYS)
        argv = [name, f":{display}", *(option.format(folder=world.path) for option in options)]
        log = world.path / f"server-{display}.log"
        process = _spawn(argv, f"doctor's {name}", world, log, dict(os.environ))
        _until_it_listens(process, Path(_socket_of(display)), log, deadline)
        if process.poll() is None:
            return display
    raise HostError(f"it ended with {process.returncode}: {logs.tail(log, 5)}")


def _spawn(argv: list[str], name: str, world: WorldDir, log: Path, env: dict[str, str]) -> SupervisedProcess:
    with log.open("wb") as file:
        out = file.fileno()
        return Supervisor.shared().spawn(argv, name=name, env={**env, **world.env}, stdout=out, stderr=out)


def _until_it_listens(process: SupervisedProcess, path: Path, log: Path, deadline: Deadline) -> None:
    wait_until(
        lambda: path.is_socket() or process.poll() is not None,
        deadline=deadline,
        awaited=f"{process.name}'s socket",
        log_tail=lambda: logs.tail(log, 5),
    )


def _socket_of(display: int) -> str:
    return f"/tmp/.X11-unix/X{display}"


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
    path, log = world.socket_path("desktop"), world.path / "service.log"
    argv = [str(program), "--display", f":{display}", "--socket", str(path)]
    env = {**os.environ, "XAUTHORITY": str(world.path / "cookie")}
    process = _spawn(argv, "doctor's ga-desktop", world, log, env)
    _until_it_listens(process, path, log, deadline)
    if process.poll() is not None:
        raise HostError(f"ga-desktop ended with {process.returncode}")
    return DesktopClient.connect(path, deadline=deadline)
