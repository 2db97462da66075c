"""ga-gate itself: its command line and its ends, and clients that do what none should, with the sanitizers on."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import random
import re
import secrets
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything._util.locks import FileLock
from gym_anything._util.waiting import wait_until
from gym_anything.actions.model import Click
from gym_anything.runtime.desktop.far_address import FarAddress, Tls
from gym_anything.runtime.desktop.far_client import FarDesktop
from gym_anything.runtime.desktop.far_gate import Certificate
from gym_anything.runtime.desktop.far_wire import CONSTANTS, MESSAGES, OWN_FIELDS
from gym_anything.runtime.desktop.wire import FIELDS
from tests.conftest import RequireBackend
from tests.integration.desktop.conftest import NATIVE, StartScreen
from tests.integration.desktop.screen import XVFB, Screen, soon

pytestmark = [pytest.mark.real, pytest.mark.slow]

PICTURE = 1280 * 800 * 3
BESIDE = 4 << 20
"""Bytes of memory that a gate may have beside pictures and what waits to be sent."""
_NO_TLS: list[str] = []


@pytest.fixture(scope="session")
def sanitized_gate(require_backend: RequireBackend) -> Path:
    """The gate built with the address and undefined behaviour sanitizers."""
    require_backend("compiler", shutil.which("cc") is not None, "no C compiler")
    lock = FileLock.acquire(Path(tempfile.gettempdir()) / "ga-sanitize.lock", deadline=Deadline.after(300))
    try:
        subprocess.run(["make", "-s", "-C", NATIVE, "SANITIZE=1", "ga-gate"], check=True)
    finally:
        lock.release()
    return NATIVE / "build" / "sanitize" / "ga-gate"


@pytest.fixture
def screen(start_screen: StartScreen) -> Screen:
    """A screen, whose service the gates here serve."""
    screen = start_screen(server=XVFB)
    wait_until(screen.socket.exists, deadline=soon(), awaited="the desktop service")
    return screen


class RunningGate:
    """A gate that a test started; the screen's end stops it."""

    def __init__(self, screen: Screen, program: Path, *options: str, listen: str = "127.0.0.1:0") -> None:
        self.screen, self.token = screen, secrets.token_bytes(32)
        with tempfile.TemporaryFile() as ours, tempfile.TemporaryFile() as desktops:
            for file, token in ((ours, self.token), (desktops, screen.token)):
                file.write(token)
                file.seek(0)
            fds = [ours.fileno(), desktops.fileno()]
            argv = [str(program), "--desktop", str(screen.socket), "--listen", listen]
            argv += ["--token-fd", str(fds[0]), "--desktop-token-fd", str(fds[1]), *options]
            self.process = screen.start(argv, pass_fds=fds, stdout=subprocess.PIPE)
        assert self.process.stdout is not None
        self.said = self.process.stdout.readline().decode()

    @property
    def port(self) -> int:
        """Where it listens."""
        told = re.fullmatch(r"listening at .*:(\d+)\n", self.said)
        assert told, self.said + self.screen.log("ga-gate")
        return int(told[1])

    def client(self, tls: Tls | None = None) -> FarDesktop:
        """Return a new client."""
        return FarDesktop.connect(FarAddress("127.0.0.1", self.port, self.token, tls), deadline=soon())

    def own_memory(self) -> int:
        """Return the bytes of memory that are its own."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"RssAnon:\s+(\d+) kB", status)
        assert found
        return int(found[1]) * 1024

    def assert_well(self, tls: Tls | None = None) -> None:
        """It still serves, and no sanitizer has said anything."""
        with self.client(tls) as client:
            assert client.frame().width == 1280
            assert client.send([Click("left", 7, 8)]).pointer == (7, 8)
        assert self.process.poll() is None
        assert self.screen.log("ga-gate") == ""


@pytest.mark.parametrize(
    ("listen", "options", "said"),
    [
        ("0.0.0.0:0", _NO_TLS, "can be reached from other machines.*--tls-cert"),
        ("[::]:0", _NO_TLS, "can be reached from other machines"),
        ("somewhere:80", _NO_TLS, "not ADDRESS:PORT"),
        ("127.0.0.1:0", ["--tls-cert", "/nowhere"], "usage:"),
        ("127.0.0.1:0", ["--tls-cert", "/nowhere", "--tls-key", "/nowhere"], "cannot be used"),
        ("127.0.0.1:0", ["--nonsense"], "usage:"),
    ],
)
def test_what_makes_no_sense_or_is_not_safe_is_refused(
    screen: Screen, gate_program: Path, listen: str, options: list[str], said: str
) -> None:
    gate = RunningGate(screen, gate_program, *options, listen=listen)
    assert gate.process.wait(10) == 2 and gate.said == ""
    assert re.search(said, screen.log("ga-gate"))


def test_with_tls_it_may_listen_for_other_machines(
    screen: Screen, gate_program: Path, gate_certificate: Certificate
) -> None:
    pem = ["--tls-cert", str(gate_certificate.certificate), "--tls-key", str(gate_certificate.key)]
    gate = RunningGate(screen, gate_program, *pem, listen="0.0.0.0:0")
    gate.assert_well(Tls(fingerprint=gate_certificate.fingerprint))


def test_a_signal_ends_it_with_0_and_the_end_of_the_desktop_with_3(screen: Screen, gate_program: Path) -> None:
    gate = RunningGate(screen, gate_program)
    gate.assert_well()
    gate.process.terminate()
    assert gate.process.wait(10) == 0
    gate = RunningGate(screen, gate_program)
    gate.assert_well()
    screen.service.kill()
    assert gate.process.wait(10) == 3
    assert "is gone" in screen.log("ga-gate")
    assert RunningGate(screen, gate_program).process.wait(10) == 3
    assert "cannot be reached" in screen.log("ga-gate")


def test_a_plain_client_at_a_door_with_tls_gets_an_alert(
    screen: Screen, gate_program: Path, gate_certificate: Certificate
) -> None:
    pem = ["--tls-cert", str(gate_certificate.certificate), "--tls-key", str(gate_certificate.key)]
    gate = RunningGate(screen, gate_program, *pem)
    with socket.create_connection(("127.0.0.1", gate.port)) as sock:
        sock.settimeout(10)
        sock.sendall(hello_message())
        assert sock.recv(100) == bytes([21, 3, 1, 0, 2, 2, 70])
        assert sock.recv(100) == b""


def test_tls_below_1_2_is_refused(screen: Screen, gate_program: Path, gate_certificate: Certificate) -> None:
    pem = ["--tls-cert", str(gate_certificate.certificate), "--tls-key", str(gate_certificate.key)]
    gate = RunningGate(screen, gate_program, *pem)
    for option, said in (("-tls1_1", "Cipher is (NONE)"), ("-tls1_2", "New, TLSv1.2"), ("-tls1_3", "New, TLSv1.3")):
        argv = ["openssl", "s_client", "-connect", f"127.0.0.1:{gate.port}", option, "-cipher", "ALL:@SECLEVEL=0"]
        told = subprocess.run(argv, input="", capture_output=True, text=True, timeout=20).stdout
        assert said in told, told


def test_silent_and_deaf_clients_hold_nobody_up_and_memory_is_bounded(screen: Screen, gate_program: Path) -> None:
    """A hundred that never open, and some that never read the pictures that they have asked for."""
    gate = RunningGate(screen, gate_program)
    silent = [socket.create_connection(("127.0.0.1", gate.port)) for _ in range(100)]
    deaf = [open_session(gate, "FRAMES") for _ in range(3)]
    whole = OWN_FIELDS["FRAME_REQUEST"].pack(CONSTANTS["FRAME_WHOLE"], CONSTANTS["ENCODING_LZ4"], 0)
    for sock in deaf:
        sock.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                sock.sendall(message("FRAME_REQUEST", whole) * 10_000)
    with gate.client() as client:
        for n in range(50):
            assert client.frame().width == 1280
            assert client.send([Click("left", n, 8)]).pointer == (n, 8)
    assert gate.own_memory() < 4 * PICTURE + 4 * CONSTANTS["MAX_RECT_BYTES"] + BESIDE
    for sock in (*silent, *deaf):
        sock.close()


@pytest.mark.parametrize("secured", [False, True], ids=["plain", "tls"])
def test_whatever_arrives_the_sanitized_gate_serves_the_next(
    screen: Screen, sanitized_gate: Path, gate_certificate: Certificate, secured: bool
) -> None:
    chance = random.Random(4)
    pem = ["--tls-cert", str(gate_certificate.certificate), "--tls-key", str(gate_certificate.key)]
    gate = RunningGate(screen, sanitized_gate, *(pem if secured else []))
    tls = Tls(fingerprint=gate_certificate.fingerprint) if secured else None
    gate.assert_well(tls)
    for n in range(200):
        data = chance.randbytes(chance.randrange(1, 400))
        if n % 2:
            cut = chance.randrange(len(hello_message()))
            data = hello_message()[:cut] + data
        with socket.create_connection(("127.0.0.1", gate.port)) as sock:
            send_and_drain(sock, data)
    gate.assert_well(tls)


@pytest.mark.parametrize("role", ["FRAMES", "INPUT"])
def test_whatever_a_client_with_the_token_sends_the_sanitized_gate_serves_the_next(
    screen: Screen, sanitized_gate: Path, role: str
) -> None:
    chance = random.Random(5)
    gate = RunningGate(screen, sanitized_gate)
    codes = [*MESSAGES.values(), 99]
    for _ in range(60):
        data = b""
        for _ in range(chance.randrange(1, 20)):
            body = bytes(chance.choice((0, 0, 1, 2, 3, 5, 9, 255)) for _ in range(chance.randrange(24)))
            size = len(body) if chance.random() < 0.95 else chance.choice((0, 1 << 20, 0xFFFFFFFF))
            data += FIELDS["HEADER"].pack(size, chance.choice(codes), 0, chance.randrange(3)) + body
        with open_session(gate, role) as sock:
            send_and_drain(sock, data)
    gate.assert_well()


def message(name: str, body: bytes) -> bytes:
    return FIELDS["HEADER"].pack(len(body), MESSAGES[name], 0, 1) + body


def hello_message(role: str = "FRAMES") -> bytes:
    facts = (CONSTANTS["MAGIC"], CONSTANTS["VERSION"], CONSTANTS[f"ROLE_{role}"], b"n" * 32, bytes(16), 0, 0)
    return message("HELLO", OWN_FIELDS["HELLO"].pack(*facts))


def open_session(gate: RunningGate, role: str) -> socket.socket:
    """Return a connection that has been welcomed and has said nothing else."""
    sock = socket.create_connection(("127.0.0.1", gate.port))
    sock.settimeout(20)
    hello = hello_message(role)
    sock.sendall(hello)
    head, challenge = FIELDS["HEADER"], OWN_FIELDS["CHALLENGE"]
    _, nonce, _ = challenge.unpack(sock.recv(head.size + challenge.size, socket.MSG_WAITALL)[head.size :])
    said = b"ga-gate client" + hello[head.size :] + nonce
    sock.sendall(message("PROOF", hmac.digest(gate.token, said, hashlib.sha256)))
    size, code, _, _ = head.unpack(sock.recv(head.size, socket.MSG_WAITALL))
    assert code == MESSAGES["WELCOME"]
    sock.recv(size, socket.MSG_WAITALL)
    return sock


def send_and_drain(sock: socket.socket, data: bytes) -> None:
    """Send, say that this is all, and read to the end of what comes back."""
    sock.settimeout(20)
    try:
        sock.sendall(data)
        sock.shutdown(socket.SHUT_WR)
        while sock.recv(65536):
            pass
    except (BrokenPipeError, ConnectionResetError):
        pass
