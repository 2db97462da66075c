"""Who gets in, and how it is said when somebody does not."""

from __future__ import annotations

import dataclasses
import logging
import os
import socket
import threading
import traceback
from pathlib import Path

import pytest

from gym_anything._util import ports
from gym_anything.errors import BadWire, GymAnythingError, HostError, Unauthorized, Unreachable, VersionSkew
from gym_anything.runtime.desktop.far_address import FarAddress, Tls
from gym_anything.runtime.desktop.far_client import FarDesktop
from gym_anything.runtime.desktop.far_gate import Certificate, Gate, start_gate
from gym_anything.runtime.desktop.far_wire import CONSTANTS, MESSAGES, OWN_FIELDS
from gym_anything.runtime.desktop.wire import FIELDS
from tests.integration.desktop.conftest import StartScreen
from tests.integration.desktop.far_screen import FarScreen, make_certificate
from tests.integration.desktop.screen import soon

pytestmark = pytest.mark.real

FAKE_TOKEN = b"a-token-that-is-quite-another-one"


@pytest.fixture
def plain(start_screen: StartScreen, gate_program: object, stop_far: list[FarScreen]) -> FarScreen:
    """A screen with a gate without TLS."""
    stop_far.append(FarScreen(start_screen()))
    return stop_far[-1]


@pytest.fixture
def secure(
    start_screen: StartScreen, gate_program: object, gate_certificate: Certificate, stop_far: list[FarScreen]
) -> FarScreen:
    """A screen with a gate with TLS."""
    stop_far.append(FarScreen(start_screen(), gate_certificate))
    return stop_far[-1]


def refused(address: FarAddress, kind: type[GymAnythingError], said: str, seconds: float = 5) -> None:
    """Connecting fails as it should, and neither the message nor anything on the way there shows the token."""
    with pytest.raises(kind, match=said) as caught:
        FarDesktop.connect(address, deadline=soon(seconds))
    told = "".join(traceback.format_exception(caught.value)) + repr(caught.value.to_wire()) + repr(address)
    assert address.token.decode("latin-1") not in told and address.token.hex() not in told
    assert repr(address.token)[2:-1] not in told


@pytest.mark.parametrize("far", ["plain", "secure"])
def test_a_wrong_token_is_refused(far: str, request: pytest.FixtureRequest) -> None:
    screen = request.getfixturevalue(far)
    refused(dataclasses.replace(screen.gate.address, token=FAKE_TOKEN), Unauthorized, "does not know our token")
    assert screen.client().frame().width == 1280


def test_a_gate_refuses_a_client_that_does_not_know_the_token(plain: FarScreen) -> None:
    """Even one that does not ask the gate for its proof."""
    with socket.create_connection(("127.0.0.1", plain.gate.address.port)) as sock:
        sock.settimeout(10)
        hello = OWN_FIELDS["HELLO"].pack(CONSTANTS["MAGIC"], CONSTANTS["VERSION"], 2, b"n" * 32, bytes(16), 0, 0)
        sock.sendall(message("HELLO", hello) + message("PROOF", b"p" * 32))
        heard = b""
        while piece := sock.recv(4096):
            heard += piece
    failed = OWN_FIELDS["FAILED"].unpack_from(heard, heard.index(FIELDS["HEADER"].pack(0, 0, 0, 1)[8:], 60) + 8)
    assert failed[0] == 3, "unauthorized"


def message(name: str, body: bytes) -> bytes:
    return FIELDS["HEADER"].pack(len(body), MESSAGES[name], 0, 1) + body


def test_a_certificate_is_checked_by_its_fingerprint(secure: FarScreen) -> None:
    address = secure.gate.address
    colons = ":".join(address.tls.fingerprint[n : n + 2] for n in range(0, 64, 2)).upper()  # type: ignore
    assert secure.client(tls=Tls(fingerprint=colons)).frame().width == 1280
    wrong = dataclasses.replace(address, tls=Tls(fingerprint="0" * 64))
    refused(wrong, Unauthorized, "not the one that was asked for")


def test_a_certificate_is_checked_by_its_authority(
    secure: FarScreen, gate_certificate: Certificate, tmp_path: Path
) -> None:
    good = secure.client(tls=Tls(ca_file=gate_certificate.certificate))
    assert good.frame().width == 1280
    other = make_certificate(tmp_path, name="elsewhere.example")
    refused(
        dataclasses.replace(secure.gate.address, tls=Tls(ca_file=other.certificate)),
        Unauthorized,
        "certificate .* is not good",
    )


def test_an_authoritys_certificate_for_another_host_is_refused(
    start_screen: StartScreen, gate_program: object, stop_far: list[FarScreen], tmp_path: Path
) -> None:
    made = make_certificate(tmp_path, name="elsewhere.example")
    stop_far.append(FarScreen(start_screen(), made))
    address = dataclasses.replace(stop_far[-1].gate.address, host="localhost", tls=Tls(ca_file=made.certificate))
    refused(address, Unauthorized, "certificate .* is not good")


def test_the_token_alone_proves_a_certificate(secure: FarScreen, tmp_path: Path) -> None:
    """Somebody in between with a certificate of their own cannot pass the proofs on: they are bound to it."""
    assert secure.client(tls=Tls()).frame().width == 1280
    with Between(secure.gate.address, make_certificate(tmp_path)) as port:
        refused(dataclasses.replace(secure.gate.address, port=port, tls=Tls()), Unauthorized, "another certificate")


class Between:
    """Somebody between client and gate who ends TLS on both sides and passes everything on."""

    def __init__(self, address: FarAddress, certificate: Certificate) -> None:
        self._address, self._certificate = address, certificate
        self._door = ports.bind_loopback(listen=True)
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> int:
        self._start(self._serve)
        return ports.port_of(self._door)

    def __exit__(self, *exc: object) -> None:
        self._door.close()
        for thread in self._threads:
            thread.join(10)

    def _start(self, call: object, *args: object) -> None:
        self._threads.append(threading.Thread(target=call, args=args))  # type: ignore[arg-type]
        self._threads[-1].start()

    def _serve(self) -> None:
        import ssl

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._certificate.certificate, self._certificate.key)
        onward = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        onward.check_hostname, onward.verify_mode = False, ssl.CERT_NONE
        with context.wrap_socket(self._door.accept()[0], server_side=True) as near:
            raw = socket.create_connection((self._address.host, self._address.port))
            with onward.wrap_socket(raw) as far:
                near.settimeout(5)
                far.settimeout(5)
                try:
                    far.sendall(near.recv(65536))
                    near.sendall(far.recv(65536))
                    near.recv(65536)
                except OSError:
                    pass


def test_plain_and_tls_do_not_go_together_and_it_is_said(plain: FarScreen, secure: FarScreen) -> None:
    refused(dataclasses.replace(secure.gate.address, tls=None), BadWire, "speaks TLS")
    refused(dataclasses.replace(plain.gate.address, tls=Tls()), BadWire, "does not speak TLS")
    for far in (plain, secure):
        assert far.client().frame().width == 1280


def test_nothing_there_is_said_when_the_deadline_passes() -> None:
    with ports.bind_loopback() as closed:
        refused(FarAddress("127.0.0.1", ports.port_of(closed), FAKE_TOKEN, None), Unreachable, "does not answer", 0.3)


def test_a_name_that_is_nowhere_is_said() -> None:
    refused(FarAddress("no-such-host.invalid", 9, FAKE_TOKEN, None), Unreachable, "cannot be reached", 0.3)


@pytest.mark.parametrize(
    "said", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"SSH-2.0-OpenSSH_9.2p1\r\n", b"220 mail.example ready\r\n"]
)
def test_something_else_that_listens_is_no_gate(said: bytes) -> None:
    with ports.bind_loopback(listen=True) as door:
        answering = threading.Thread(target=answer_once, args=(door, said))
        answering.start()
        refused(FarAddress("127.0.0.1", ports.port_of(door), FAKE_TOKEN, None), BadWire, "no message")
        answering.join(5)


def answer_once(door: socket.socket, said: bytes) -> None:
    with door.accept()[0] as near:
        near.recv(4096)
        near.sendall(said)


def test_another_version_is_said() -> None:
    challenge = message("CHALLENGE", OWN_FIELDS["CHALLENGE"].pack(CONSTANTS["VERSION"] + 1, b"n" * 32, b"p" * 32))
    failed = message("FAILED", OWN_FIELDS["FAILED"].pack(2, 0) + b"this gate speaks version 9")
    for said, words in ((challenge, "speaks version"), (failed, "version 9")):
        with ports.bind_loopback(listen=True) as door:
            answering = threading.Thread(target=answer_once, args=(door, said))
            answering.start()
            refused(FarAddress("127.0.0.1", ports.port_of(door), FAKE_TOKEN, None), VersionSkew, words)
            answering.join(5)


def test_proxy_variables_are_ignored(plain: FarScreen, monkeypatch: pytest.MonkeyPatch) -> None:
    """L12."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert plain.client().frame().width == 1280


def test_the_token_is_in_no_command_line_no_environment_and_no_log(
    secure: FarScreen, caplog: pytest.LogCaptureFixture
) -> None:
    """N1."""
    caplog.set_level(logging.DEBUG)
    refused(dataclasses.replace(secure.gate.address, token=FAKE_TOKEN), Unauthorized, "token")
    far = secure.client()
    far.frame()
    pid = secure.gate.process.pid
    seen = b"".join(Path(f"/proc/{pid}/{name}").read_bytes() for name in ("cmdline", "environ"))
    seen += secure.gate.log.read_bytes() + caplog.text.encode() + repr((secure.gate, far, far._lanes)).encode()
    for token in (secure.gate.address.token, secure.screen.token, FAKE_TOKEN):
        for form in (token, token.hex().encode(), repr(token)[2:-1].encode()):
            assert form not in seen


def test_a_gate_that_cannot_start_says_why(plain: FarScreen, tmp_path: Path) -> None:
    missing = Certificate(tmp_path / "no.pem", tmp_path / "no.key")
    with pytest.raises(HostError, match=r"ga-gate ended with 2: .*certificate and key"):
        start_gate(plain.world, plain.screen.socket, certificate=missing, deadline=soon())
    with pytest.raises(HostError, match="cannot be reached"):
        start_gate(plain.world, tmp_path / "nothing.sock", deadline=soon())


def test_a_gate_ends_with_its_world(start_screen: StartScreen, gate_program: object, stop_far: list[FarScreen]) -> None:
    far = FarScreen(start_screen())
    stop_far.append(far)
    with far.start_gate() as second:
        assert isinstance(second, Gate) and os.path.exists(f"/proc/{second.process.pid}")  # noqa: PTH110
    assert second.process.poll() is not None
    gate = far.gates[0]
    from gym_anything._util.supervisor import Supervisor

    Supervisor.shared().stop_world(far.world.id)
    gate.process.wait(soon(5))
