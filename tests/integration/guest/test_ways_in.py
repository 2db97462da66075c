"""The same protocol over TCP, an inherited descriptor, and a serial device."""

from __future__ import annotations

import os
import pty
import select
import socket
import subprocess
import threading
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gym_anything.runtime.guest.channel import GuestChannel
from gym_anything.runtime.guest.readiness import await_guest
from tests.integration.guest.world import soon

pytestmark = pytest.mark.real

TOKEN = b"t" * 32


@contextmanager
def _daemon(
    program: Path, folder: Path, *arguments: str, pass_fds: tuple[int, ...] = ()
) -> Iterator[subprocess.Popen[bytes]]:
    (folder / "token").write_bytes(TOKEN)
    argv = [str(program), "serve", *arguments, "--token-file", str(folder / "token")]
    process = subprocess.Popen(argv, pass_fds=pass_fds, stdin=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        assert process.wait(10) == 0


def _check(channel: GuestChannel) -> None:
    data = os.urandom(500_000)
    assert channel.exec(["cat"], stdin=data, deadline=soon()).stdout == data


def test_a_socket_that_was_bound_before_and_handed_over(program: Path, tmp_path: Path) -> None:
    """L4: the socket is handed over, so no port is picked and bound later."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    with _daemon(program, tmp_path, "--listen-fd", str(listener.fileno()), pass_fds=(listener.fileno(),)):
        listener.close()
        with await_guest(("127.0.0.1", port), token=TOKEN, deadline=soon()) as channel:
            _check(channel)


def test_tcp_on_a_numbered_address(program: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with (
        _daemon(program, tmp_path, "--tcp", f"127.0.0.1:{port}"),
        await_guest(("127.0.0.1", port), token=TOKEN, deadline=soon()) as channel,
    ):
        _check(channel)


class _SerialLine:
    """Joins a terminal pair's master to one socket at a time, as a hypervisor's serial port does."""

    def __init__(self) -> None:
        self.master, self._slave = pty.openpty()
        tty.setraw(self._slave)
        self.path = os.ttyname(self._slave)
        self._peer: socket.socket | None = None
        self._ending = False
        self._thread = threading.Thread(target=self._copy, daemon=True)
        self._thread.start()

    def connect(self) -> socket.socket:
        ours, self._peer = socket.socketpair()
        return ours

    def _copy(self) -> None:
        while not self._ending:
            peer = self._peer
            ready, _, _ = select.select([self.master, *([peer] if peer else [])], [], [], 0.02)
            if self.master in ready:
                self._to_peer(peer, os.read(self.master, 4096))
            if peer in ready:
                self._to_guest(peer)

    def _to_peer(self, peer: socket.socket | None, data: bytes) -> None:
        try:
            if peer:
                peer.sendall(data)
        except OSError:
            pass  # nobody is connected: what the guest says is lost, as on a real line

    def _to_guest(self, peer: socket.socket | None) -> None:
        try:
            data = peer.recv(4096) if peer else b""
        except OSError:
            return  # the peer went away without reading everything: the device does not see that either
        while data:
            data = data[os.write(self.master, data) :]

    def close(self) -> None:
        self._ending = True
        self._thread.join()
        os.close(self._slave)
        os.close(self.master)


def test_a_serial_device_survives_garbage_and_a_peer_that_comes_anew(program: Path, tmp_path: Path) -> None:
    line = _SerialLine()
    os.write(line.master, b"boot messages\r\n\x01\x02 login: \x00\x00")
    with _daemon(program, tmp_path, "--device", line.path):
        channel = GuestChannel.connect(line.connect(), token=TOKEN, deadline=soon(), line=True)
        assert channel.exec(["cat"], stdin=b"over a line", deadline=soon()).stdout == b"over a line"
        job = channel.start(["sh", "-c", "echo here; sleep 700"], deadline=soon())
        channel.close()  # the device does not see this; the next opening tells
        del job
        again = GuestChannel.connect(line.connect(), token=TOKEN, deadline=soon(), line=True)
        assert again.exec(["echo", "again"], deadline=soon()).stdout == b"again\n"
        again.close()
    line.close()
