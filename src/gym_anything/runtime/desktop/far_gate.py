"""Starting a gate beside a desktop service, so that other hosts can reach the desktop."""

from __future__ import annotations

import hashlib
import os
import secrets
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from gym_anything._util import logs, ports
from gym_anything._util.deadline import Deadline
from gym_anything._util.supervisor import SupervisedProcess, Supervisor
from gym_anything._util.waiting import wait_until
from gym_anything._util.world_dir import WorldDir
from gym_anything.errors import HostError
from gym_anything.runtime.desktop.far_address import FarAddress, Tls
from gym_anything.runtime.native.locate import native_program

_LISTEN_FD, _TOKEN_FD, _DESKTOP_TOKEN_FD = 3, 4, 5
_TOKEN_BYTES = 32
_READY = "listening at"


@dataclass(frozen=True, slots=True)
class Certificate:
    """What a gate shows of itself: PEM files of the certificate and of its key, which only the gate's user may read."""

    certificate: Path
    key: Path

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the certificate (DER), in hexadecimal digits. Raises: OSError, ValueError (not PEM)."""
        return hashlib.sha256(ssl.PEM_cert_to_DER_cert(self.certificate.read_text())).hexdigest()


@dataclass(frozen=True, slots=True)
class Gate:
    """A gate that runs. It ends with its world; ``stop``, or the end of a ``with``, ends it before."""

    process: SupervisedProcess
    address: FarAddress
    log: Path

    def stop(self, deadline: Deadline | None = None) -> None:
        """End it. Raises: as ``SupervisedProcess.stop``."""
        self.process.stop(deadline)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.stop()


def start_gate(
    world: WorldDir,
    desktop: Path,
    *,
    deadline: Deadline,
    desktop_token: bytes | None = None,
    token: bytes | None = None,
    certificate: Certificate | None = None,
    listening: socket.socket | None = None,
) -> Gate:
    """Start a gate and return when it serves.

    Args:
        world: whose processes it belongs to, and whose folder gets its log.
        desktop: the socket of the desktop service; ``desktop_token`` is that service's secret, if it has one.
        token: the secret that clients prove to know; by default a new one, in the ``address`` that is returned.
        certificate: for TLS; its fingerprint is in the ``address``. None: no TLS.
        listening: a TCP socket that listens already, where clients shall come in; the caller closes it. By default
            a free port of loopback.
    Raises: HostError (it ended at once; with the end of its log), NativeProgramMissing, ProcessStartFailed,
        DeadlineExceeded.
    """
    token = secrets.token_bytes(_TOKEN_BYTES) if token is None else token
    argv = [str(native_program("ga-gate")), "--desktop", str(desktop)]
    argv += ["--listen-fd", str(_LISTEN_FD), "--token-fd", str(_TOKEN_FD)]
    argv += ["--desktop-token-fd", str(_DESKTOP_TOKEN_FD)] if desktop_token is not None else []
    if certificate is not None:
        argv += ["--tls-cert", str(certificate.certificate), "--tls-key", str(certificate.key)]
    log = world.path / "gate.log"
    with ExitStack() as stack:
        door = listening if listening is not None else stack.enter_context(ports.bind_loopback(listen=True))
        fds = {_LISTEN_FD: door.fileno(), _TOKEN_FD: stack.enter_context(_readable(token))}
        if desktop_token is not None:
            fds[_DESKTOP_TOKEN_FD] = stack.enter_context(_readable(desktop_token))
        out = stack.enter_context(log.open("wb")).fileno()
        process = Supervisor.shared().spawn(argv, name="ga-gate", env=world.env, stdout=out, stderr=out, pass_fds=fds)
        host, port = door.getsockname()[:2]
    try:
        _await_ready(process, log, deadline)
        tls = Tls(fingerprint=certificate.fingerprint) if certificate is not None else None
        return Gate(process, FarAddress(host, port, token, tls), log)
    except BaseException:
        process.stop()
        raise


def _await_ready(process: SupervisedProcess, log: Path, deadline: Deadline) -> None:
    wait_until(
        lambda: process.poll() is not None or _READY in logs.tail(log, 20),
        deadline=deadline,
        awaited="ga-gate",
        log_tail=lambda: logs.tail(log, 5),
    )
    if process.poll() is not None:
        raise HostError(f"ga-gate ended with {process.returncode}: {logs.tail(log, 5)}")


@contextmanager
def _readable(secret: bytes) -> Iterator[int]:
    """Give a descriptor that a secret, and then the end, can be read from: it is in no argument and no file."""
    reader, writer = os.pipe()
    try:
        os.write(writer, secret)
        os.close(writer)
        yield reader
    finally:
        os.close(reader)
