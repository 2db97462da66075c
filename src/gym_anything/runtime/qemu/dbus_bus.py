"""A bus of a machine's own, where its display shall be on one: ``dbus-daemon`` behind a socket in the world's folder.

Our own frames need none, since QEMU speaks to us peer to peer. With a bus other programs of this user may watch the
same screen, and a QEMU whose display does not speak to peers will do.

Source: ``dbus-daemon(1)``; D-Bus Specification, "Server Addresses".
"""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from xml.sax.saxutils import escape

from gym_anything._util import atomic_write, env_vars, logs
from gym_anything._util.deadline import Deadline
from gym_anything._util.supervised_process import SupervisedProcess
from gym_anything._util.supervisor import Supervisor
from gym_anything._util.waiting import wait_until
from gym_anything._util.world_dir import SOCKET_PATH_MAX_BYTES
from gym_anything.errors import HostError, MissingDependency, WorldStartFailed

WITH_BUS = env_vars.declare(
    "GYM_ANYTHING_QEMU_DBUS_BUS",
    env_vars.boolean,
    False,
    "Put the display of QEMU worlds with D-Bus frames on a bus of its own, a socket in the world's folder, so that "
    "other programs of this user can watch, too. Default 0: peer to peer, without a bus.",
    "gym_anything.runtime.qemu.dbus_bus",
)
DAEMON = "dbus-daemon"
_SEARCH = "/usr/local/bin:/usr/bin:/bin"
_STOP_S = 5.0
_PLAIN = frozenset(b"-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_/.\\*")
# Whoever reaches the socket is this user or root: the daemon itself lets nobody else in.
_SETTINGS = """\
<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <listen>{address}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*"/>
    <allow receive_sender="*"/>
    <allow own="*"/>
  </policy>
</busconfig>
"""


def bus_address(path: Path) -> str:
    """Return the address of a bus behind a socket. Pure."""
    return "unix:path=" + "".join(chr(byte) if byte in _PLAIN else f"%{byte:02x}" for byte in os.fsencode(path))


def bus_path(address: str) -> Path | None:
    """Return the socket of an address of ours, or None for any other. Pure."""
    kind, _, text = address.partition("unix:path=")
    if kind or not text or "," in text or ";" in text:
        return None
    parts = text.encode().split(b"%")
    return Path(os.fsdecode(parts[0] + b"".join(bytes([int(part[:2], 16)]) + part[2:] for part in parts[1:])))


class PrivateBus:
    """One bus. ``start`` and ``stop`` belong together in one ``try``."""

    def __init__(self, folder: Path, label_env: Mapping[str, str], name: str) -> None:
        """Args: folder: nobody else's; its socket and log lie there. label_env, name: as ``MachineProcess``."""
        self.socket = folder / "bus"
        self._folder = folder
        self._env = dict(label_env)
        self._name = name
        self._process: SupervisedProcess | None = None

    def start(self, deadline: Deadline) -> None:
        """Start it and return when it listens.

        Raises: MissingDependency with the fix, HostError (the folder's path is too long), WorldStartFailed.
        """
        program = shutil.which(DAEMON, path=_SEARCH)
        if program is None:
            fix = f"sudo apt-get install --no-install-recommends {DAEMON}, or unset {WITH_BUS.name}"
            raise MissingDependency(f"{DAEMON} is not installed. Fix: {fix}", detail={"fix": fix})
        if len(os.fsencode(self.socket)) > SOCKET_PATH_MAX_BYTES:
            raise HostError(f"{self.socket} is longer than a socket's path may be; set GYM_ANYTHING_STATE_DIR")
        settings = self._folder / "bus.conf"
        text = _SETTINGS.format(address=escape(bus_address(self.socket)))
        atomic_write.write_bytes(settings, text.encode(), mode=0o600)
        with io.FileIO(self._folder / "bus.log", "a") as log:
            process = self._process = Supervisor.shared().spawn(
                [program, f"--config-file={settings}", "--nofork", "--nopidfile", "--nosyslog"],
                name=f"the bus of {self._name}",
                env={"PATH": _SEARCH, **self._env},
                stderr=log.fileno(),
            )

        def listens() -> bool:
            if process.returncode is not None:
                raise WorldStartFailed(f"{DAEMON} ended: {logs.tail(self._folder / 'bus.log', 5)}")
            return self.socket.is_socket()

        wait_until(listens, deadline=deadline, awaited="the machine's bus", poll_s=0.005)

    def stop(self) -> None:
        """End it; idempotent."""
        process, self._process = self._process, None
        if process is not None:
            process.stop(Deadline.after(_STOP_S))
