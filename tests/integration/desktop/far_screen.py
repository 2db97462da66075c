"""A gate beside a screen's desktop service, and a line to it that can be cut."""

from __future__ import annotations

import contextlib
import math
import random
import selectors
import socket
import struct
import subprocess
import threading
from pathlib import Path

from gym_anything._util import ports
from gym_anything._util.state_dir import Run
from gym_anything._util.waiting import wait_until
from gym_anything.runtime.desktop.far_address import FarAddress, Tls
from gym_anything.runtime.desktop.far_client import FarDesktop
from gym_anything.runtime.desktop.far_gate import Certificate, Gate, start_gate
from tests.integration.desktop.screen import Screen, soon

_RESET = struct.pack("ii", 1, 0)


def make_certificate(folder: Path, *, name: str = "localhost") -> Certificate:
    """Make a certificate that signs itself, for loopback."""
    made = Certificate(folder / f"{name}.pem", folder / f"{name}.key")
    argv = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    argv += ["-days", "2", "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name},IP:127.0.0.1"]
    argv += ["-addext", "keyUsage=critical,digitalSignature,keyCertSign"]
    argv += ["-keyout", str(made.key), "-out", str(made.certificate)]
    subprocess.run(argv, check=True, capture_output=True, timeout=20)
    return made


class FarScreen:
    """A screen with a gate. ``stop`` ends what was started here; the screen has its own end."""

    def __init__(self, screen: Screen, certificate: Certificate | None = None) -> None:
        self.screen = screen
        self.certificate = certificate
        self.clients: list[FarDesktop] = []
        self.lines: list[Line] = []
        self.gates: list[Gate] = []
        wait_until(screen.socket.exists, deadline=soon(), awaited="the desktop service")
        self.world = Run.current().new_world("far")
        self.door = ports.bind_loopback(listen=True)
        try:
            self.gate = self.start_gate()
        except BaseException:
            self.stop()
            raise

    def start_gate(self, token: bytes | None = None) -> Gate:
        """Start a gate at the door; after the first has ended, another comes to the same place."""
        self.gate = start_gate(
            self.world,
            self.screen.socket,
            desktop_token=self.screen.token,
            token=token,
            certificate=self.certificate,
            listening=self.door,
            deadline=soon(),
        )
        self.gates.append(self.gate)
        return self.gate

    def client(self, line: Line | None = None, *, tls: Tls | None = None) -> FarDesktop:
        """Return a new client, over a line that can be cut if one is given."""
        there = self.gate.address
        port = there.port if line is None else line.port
        address = FarAddress(there.host, port, there.token, tls or there.tls)
        self.clients.append(FarDesktop.connect(address, deadline=soon()))
        return self.clients[-1]

    def line(self, seed: int = 0) -> Line:
        """Return a new line to the gate; it is calm until told otherwise."""
        self.lines.append(Line(self.door.getsockname(), random.Random(seed)))
        return self.lines[-1]

    def stop(self) -> None:
        """End all of it."""
        for client in self.clients:
            client.close()
        for line in self.lines:
            line.close()
        for gate in self.gates:
            gate.stop()
        self.door.close()
        self.world.remove()


class Line:
    """A TCP proxy on loopback that cuts its connections: after so many bytes by chance, or when told."""

    def __init__(self, target: tuple[str, int], chance: random.Random) -> None:
        self._target, self._chance = target, chance
        self._door = ports.bind_loopback(listen=True)
        self.port = ports.port_of(self._door)
        self.cuts = 0
        self.bytes = 0
        self.holding = False
        self._span: tuple[int, int] | None = None
        self._pairs: dict[socket.socket, tuple[socket.socket, list[float]]] = {}
        self._selector = selectors.DefaultSelector()
        self._told, self._tell = socket.socketpair()
        self._orders: list[str] = []
        for sock in (self._door, self._told):
            self._selector.register(sock, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def cut_every(self, least: int, most: int) -> None:
        """From now on every connection is cut after so many bytes, both directions counted together; each size of
        number is as likely as the next, so that openings are cut as often as pictures."""
        self._span = (least, most)
        self.cut()

    def calm(self) -> None:
        """Cut nothing from now on."""
        self._span = None

    def lead_to(self, target: tuple[str, int]) -> None:
        """Cut all, and lead new connections elsewhere."""
        self._target = target
        self.cut()

    def cut(self) -> None:
        """Cut all connections now."""
        self._order("cut")

    def close(self) -> None:
        """Cut all and go."""
        if self._thread.is_alive():
            self._order("close")
            self._thread.join(10)

    def _order(self, word: str) -> None:
        self._orders.append(word)
        self._tell.send(b"x")

    def _run(self) -> None:
        while True:
            for key, _ in self._selector.select():
                sock = key.fileobj
                assert isinstance(sock, socket.socket)
                if sock is self._told:
                    self._told.recv(100)
                    for one in list(self._pairs):
                        self._end(one)
                    if "close" in self._orders:
                        return self._leave()
                elif sock is self._door:
                    self._accept()
                elif sock in self._pairs:
                    self._forward(sock)

    def _leave(self) -> None:
        self._selector.close()
        for sock in (self._door, self._told, self._tell):
            sock.close()

    def _accept(self) -> None:
        near, _ = self._door.accept()
        far = socket.create_connection(self._target)
        left = [self._life() if self._span else math.inf]
        for one, other in ((near, far), (far, near)):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            one.settimeout(10)
            self._pairs[one] = (other, left)
            self._selector.register(one, selectors.EVENT_READ)

    def _life(self) -> float:
        assert self._span is not None
        return float(round(math.exp(self._chance.uniform(*map(math.log, self._span)))))

    def _forward(self, sock: socket.socket) -> None:
        other, left = self._pairs[sock]
        if self._span is None:
            left[0] = math.inf
        try:
            data = sock.recv(int(min(65536, left[0])))
            left[0] -= len(data)
            self.bytes += len(data)  # before anybody can have got them
            other.sendall(data)
        except OSError:
            data = b""
        if not data or left[0] <= 0:
            self.cuts += bool(data)
            self._end(sock)

    def _end(self, sock: socket.socket) -> None:
        """Cut a pair: sometimes as if the cable was pulled (a reset), sometimes in order."""
        if sock not in self._pairs:
            return
        other, _ = self._pairs.pop(sock)
        self._pairs.pop(other)
        for one in (sock, other):
            self._selector.unregister(one)
            if self._chance.random() < 0.5:
                with contextlib.suppress(OSError):
                    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            one.close()
