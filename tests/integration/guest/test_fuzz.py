"""Nonsense on the sockets of a guest that is built with the sanitizers: it must neither fall nor grow."""

from __future__ import annotations

import random
import secrets
import shutil
import socket
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from gym_anything._util import proc
from gym_anything._util.waiting import wait_until
from gym_anything.errors import GymAnythingError
from gym_anything.runtime.guest import wire
from gym_anything.runtime.guest.channel import GuestChannel
from gym_anything.runtime.guest.handshake import open_connection
from gym_anything.runtime.guest.readiness import await_guest
from tests.conftest import RequireBackend
from tests.integration.guest.world import soon

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(600)]

FRAMES = 25_000
MAX_GROWTH_KIB = 128 * 1024  # the sanitizer's quarantine included
_REQUESTS = [name for name, layout in wire.LAYOUTS.items() if layout.code >= 16 and layout.direction != "TO_HOST"]
_REQUESTS.remove("SHUTDOWN")  # it is obeyed, which is not what is tested here
# Those that start no process; the sanitizers make starting one slow.
_AT_ONCE = [name for name in _REQUESTS if wire.LAYOUTS[name].code < 40 and name not in ("EXEC", "SPAWN", "KILL")]
_HARMLESS = [[b"true"], [b"cat"], [b"sh", b"-c", b"echo x; echo y >&2"], [b"/no/such"], [b""], [], [b"yes"]]


class Target:
    """The sanitized guest in a sandbox where nothing it is told to do can hurt: read-only, own processes, no rights."""

    def __init__(self, program: Path, folder: Path) -> None:
        self.token = secrets.token_hex(16).encode()
        self.socket = folder / "guest.sock"
        self.sudo_socket = folder / "root.sock"
        self.log = folder / "log"
        (folder / "token").write_bytes(self.token)
        sandbox = ["bwrap", "--unshare-user", "--uid", "0", "--unshare-pid", "--as-pid-1", "--die-with-parent"]
        sandbox += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
        sandbox += ["--bind", str(folder), str(folder)]
        program = Path(shutil.copy(program, folder / "ga-guest"))  # the checkout may lie in /tmp, which is hidden
        guest = [str(program), "init", "--socket", str(self.socket), "--token-file", str(folder / "token")]
        guest += ["--sudo-socket", str(self.sudo_socket)]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*sandbox, *guest], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={"PATH": "/usr/bin:/bin"}
            )

    def init_pid(self) -> int:
        return proc.children(self.process.pid)[0]

    def rss_kib(self) -> int:
        lines = Path(f"/proc/{self.init_pid()}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))

    def check(self) -> None:
        """Fail when it fell over or does not serve any more."""
        assert self.process.poll() is None, self.log.read_text()
        with GuestChannel.connect(self.socket, token=self.token, deadline=soon(60)) as channel:
            assert channel.exec(["echo", "fine"], deadline=soon(60)).stdout == b"fine\n"
        assert "ERROR" not in self.log.read_text() and "runtime error" not in self.log.read_text()

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def target(sanitized_program: Path, require_backend: RequireBackend) -> Iterator[Target]:
    probe = subprocess.run(["bwrap", "--unshare-user", "--ro-bind", "/", "/", "true"], capture_output=True, text=True)
    require_backend("bwrap", probe.returncode == 0, probe.stderr)
    with tempfile.TemporaryDirectory(prefix="ga-fuzz-") as folder:
        target = Target(sanitized_program, Path(folder))
        try:
            await_guest(target.socket, token=target.token, deadline=soon(60), log_tail=target.log.read_text).close()
            yield target
        finally:
            target.stop()


def _value(rng: random.Random, kind: str, folder: bytes) -> object:
    sizes = {"u8": 1, "u16": 2, "u32": 4, "u64": 8}
    if kind in sizes:
        return (
            rng.choice([0, 1, 2, 5, 30, 255, 256 ** sizes[kind] - 1, rng.randrange(256 ** sizes[kind])])
            % 256 ** sizes[kind]
        )
    if kind in ("i32", "i64"):
        return rng.choice([0, 1, 9, 15, 64, -1, -(2**31), 2**31 - 1])
    if kind == "texts":
        return rng.choice(_HARMLESS)
    if kind == "text":
        return rng.choice([b"", b"root", b"0:0", folder, folder + b"/x", b"/proc/self", b"/etc/passwd", b"\xff" * 9])
    return rng.randbytes(rng.choice([0, 1, 32, 500]))


def _valid_frame(rng: random.Random, folder: bytes, channel: int) -> bytes:
    name = rng.choice(_REQUESTS if rng.random() < 0.2 else _AT_ONCE)
    fields = {field: _value(rng, kind, folder) for kind, field in wire.LAYOUTS[name].fields}
    if "deadline_ms" in fields:
        fields["deadline_ms"] = rng.choice([1, 20, 50])
    return wire.encode_frame(name, channel, **fields)


def _broken_frame(rng: random.Random, folder: bytes) -> bytes:
    frame = bytearray(_valid_frame(rng, folder, rng.choice([0, 1, 2**32 - 1])))
    way = rng.randrange(5)
    if way == 0:
        for _ in range(rng.randrange(1, 6)):
            frame[rng.randrange(len(frame))] = rng.randrange(256)
    elif way == 1:
        del frame[rng.randrange(len(frame)) :]
    elif way == 2:
        frame += rng.randbytes(rng.randrange(40))
    elif way == 3:
        frame[8] = rng.choice([layout.code for layout in wire.LAYOUTS.values()])
    else:
        frame = bytearray(
            struct.pack("<IIHH", rng.randrange(2**22), 1, rng.randrange(70), rng.randrange(2)) + rng.randbytes(60)
        )
    if len(frame) >= 10 and frame[8:10] == b"\x3c\0":
        frame[8] = 16
    return bytes(frame)


def _send_quietly(sock: socket.socket, data: bytes) -> None:
    try:
        sock.sendall(data)
        sock.setblocking(False)
        sock.recv(65536)
    except OSError:
        pass  # it hung up, as it may


def _authenticated(target: Target) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(str(target.socket))
    open_connection(sock, target.token, soon(60))
    sock.settimeout(20)
    return sock


def test_frames_of_a_trusted_peer_gone_mad(target: Target) -> None:
    rng = random.Random(20_240_601)
    folder = str(target.socket.parent / "inner").encode()
    target.check()
    before = target.rss_kib()
    sent = 0
    while sent < FRAMES:
        with _authenticated(target) as sock:
            valid = [_valid_frame(rng, folder, channel) for channel in range(1, rng.randrange(2, 30))]
            broken = [_broken_frame(rng, folder) for _ in range(rng.randrange(1, 4))]
            _send_quietly(sock, b"".join(valid + broken))
            sent += len(valid) + len(broken)
    target.check()
    assert target.rss_kib() - before < MAX_GROWTH_KIB


def test_frames_of_strangers(target: Target) -> None:
    rng = random.Random(7)
    for number in range(3000):
        path = target.sudo_socket if number % 3 == 0 else target.socket
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(str(path))
            data = rng.randbytes(rng.choice([1, 11, 12, 13, 54, 300]))
            if number % 3:
                data = (
                    rng.choice(
                        [b"", wire.encode_frame("HELLO", 0, magic=wire.CONSTANTS["MAGIC"], version=1, nonce=b"n" * 32)]
                    )
                    + data
                )
            _send_quietly(sock, data + _broken_frame(rng, b"/tmp/x"))
    target.check()


def test_descriptors_passed_by_strangers_are_not_kept(target: Target) -> None:
    target.check()
    folder = Path(f"/proc/{target.init_pid()}/fd")
    before = len(list(folder.iterdir()))
    for number in range(300):
        with socket.socket(socket.AF_UNIX) as sock, open("/dev/null") as null:  # noqa: PTH123
            sock.connect(str(target.sudo_socket))
            sock.settimeout(5)
            try:
                socket.send_fds(sock, [b"x" * (number % 20 + 1)], [null.fileno()] * (number % 7 + 1))
            except OSError:
                pass  # it hung up
    target.check()
    wait_until(lambda: len(list(folder.iterdir())) <= before, deadline=soon(), awaited="closed descriptors")


def test_a_peer_that_never_reads_does_not_make_it_grow(target: Target) -> None:
    """Bounded memory: answers that nobody takes stop the reading of requests."""
    target.check()
    before = target.rss_kib()
    with _authenticated(target) as sock:
        sock.settimeout(1)
        frames = b"".join(wire.encode_frame("PING", channel) for channel in range(1, 20_000))
        try:
            for _ in range(200):
                sock.sendall(frames)
        except TimeoutError:
            pass  # it no longer reads: that is the bound
        else:
            pytest.fail("4 million requests were taken from a peer that reads no answer")
        target.check()
        assert target.rss_kib() - before < MAX_GROWTH_KIB


def test_a_server_that_sends_nonsense_is_a_typed_error() -> None:
    """The client's side of the same: any bytes from a guest end in one of our errors."""
    rng = random.Random(3)
    for _ in range(300):
        ours, theirs = socket.socketpair()
        theirs.sendall(rng.choice([b"", struct.pack("<IIHH", 74, 0, 2, 0)]) + rng.randbytes(200))
        theirs.shutdown(socket.SHUT_WR)
        with pytest.raises(GymAnythingError):
            GuestChannel.connect(ours, token=b"t" * 32, deadline=soon())
        ours.close()
        theirs.close()
