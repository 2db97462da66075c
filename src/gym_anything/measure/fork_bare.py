"""The bare mechanism of a fork, with none of our layers: QEMU, its monitor's lines, one connection to the guest.

It is what a clone cannot be quicker than: a process is started, told to load, told to go on, and its guest asked.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
from pathlib import Path
from typing import Any, Self

from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.errors import WorldStartFailed
from gym_anything.runtime.guest import wire
from gym_anything.runtime.qemu.forwards import COMMAND, parse_forwards
from gym_anything.runtime.qemu.guest_machine import GUEST_PORT
from gym_anything.runtime.qemu.machine import machine_argv
from gym_anything.runtime.qemu.machine_spec import MachineSpec

_LIMIT_S = 60.0
_POLL_S = 0.0005


class BareClone:
    """One QEMU process. Use it in ``with``; its end kills it."""

    def __init__(self, spec: MachineSpec, program: str) -> None:
        """Start it; nothing is waited for."""
        ours, theirs = socket.socketpair()
        os.set_inheritable(theirs.fileno(), True)
        argv = machine_argv(spec.with_(qmp_fd=theirs.fileno(), console_fd=None), program)
        self._process = subprocess.Popen(argv, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
        theirs.close()
        ours.settimeout(_LIMIT_S)
        self._socket, self._lines = ours, ours.makefile("rb")
        self._port = 0

    def stand_by(self) -> None:
        """Wait until it can be told to load."""
        self._read()
        self._ask("qmp_capabilities")
        capability = {"capability": "x-ignore-shared", "state": True}
        self._ask("migrate-set-capabilities", {"capabilities": [capability]})
        self._ask("migrate-set-parameters", {"announce-rounds": 0})
        table = self._ask("human-monitor-command", {"command-line": COMMAND})
        self._port = parse_forwards(str(table))[GUEST_PORT]

    def run(self, state: Path) -> None:
        """Load and go on; the machine runs when this returns."""
        with state.open("rb") as file:
            self._ask("getfd", {"fdname": "state"}, file.fileno())
            self._ask("migrate-incoming", {"uri": "fd:state"})
            wait_until(self._loaded, deadline=Deadline.after(_LIMIT_S), awaited="a bare clone", poll_s=_POLL_S)
        self._ask("cont")

    def _loaded(self) -> bool:
        status = self._ask("query-migrate").get("status")
        if status == "failed":
            raise WorldStartFailed("the bare clone did not load")
        return bool(status == "completed")

    def picture(self, folder: Path) -> bytes:
        """Return the screen as QEMU writes it."""
        path = folder / "bare.ppm"
        self._ask("screendump", {"filename": str(path)})
        return path.read_bytes()

    def answer(self) -> None:
        """Wait until the guest's service answers a greeting."""
        hello = {"magic": wire.CONSTANTS["MAGIC"], "version": wire.CONSTANTS["VERSION"]}
        nonce = os.urandom(wire.CONSTANTS["NONCE_SIZE"])
        with socket.create_connection(("127.0.0.1", self._port), _LIMIT_S) as guest:
            guest.sendall(wire.encode_frame("HELLO", 0, nonce=nonce, **hello))
            if not guest.recv(1):
                raise WorldStartFailed("the guest of a bare clone hung up")

    def pause(self) -> None:
        """Have it stand still."""
        self._ask("stop")

    def _ask(self, command: str, arguments: dict[str, Any] | None = None, fd: int | None = None) -> Any:
        line = json.dumps({"execute": command, "arguments": arguments or {}}).encode()
        socket.send_fds(self._socket, [line], [] if fd is None else [fd])
        while True:
            answer = self._read()
            if "error" in answer:
                raise WorldStartFailed(f"the bare clone refused {command}: {answer['error']}")
            if "return" in answer:
                return answer["return"]

    def _read(self) -> dict[str, Any]:
        line = self._lines.readline()
        if not line:
            raise WorldStartFailed("the bare clone ended")
        return dict(json.loads(line))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._process.kill()
        self._process.wait()
        self._lines.close()
        self._socket.close()
