"""The byte stream to a gate: TCP, with TLS over it or without."""

from __future__ import annotations

import hashlib
import socket
import ssl
from collections.abc import Callable, Sequence

from gym_anything._util.deadline import Deadline
from gym_anything.errors import BadWire, Unauthorized
from gym_anything.runtime.desktop.far_address import FarAddress, Tls

# A connection that a router has forgotten is noticed when nothing we send is taken, and kept from being forgotten.
_LIVENESS = {socket.TCP_KEEPIDLE: 20, socket.TCP_KEEPINTVL: 5, socket.TCP_KEEPCNT: 3, socket.TCP_USER_TIMEOUT: 5000}


Place = tuple[socket.AddressFamily, tuple[object, ...]]
OnSocket = Callable[[socket.socket], None]
"""Gets every socket before anything can block in it, so that another thread may end that."""


def places_of(address: FarAddress) -> list[Place]:
    """Look a host's name up. Nobody can end that early: do it once. Raises: OSError."""
    found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    return [(family, place) for family, _, _, _, place in found]


def dial(places: Sequence[Place], deadline: Deadline, on_socket: OnSocket) -> socket.socket:
    """Connect to the first place that answers. Raises: OSError."""
    last: OSError = OSError("the name has no address")
    for family, place in places:
        sock = socket.socket(family, socket.SOCK_STREAM)
        on_socket(sock)
        try:
            sock.settimeout(deadline.remaining_or_none())
            sock.connect(place)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for option, value in _LIVENESS.items():
                sock.setsockopt(socket.IPPROTO_TCP, option, value)
            return sock
        except OSError as error:
            sock.close()
            last = error
    raise last


def tls_context(tls: Tls) -> ssl.SSLContext:
    """Return what TLS needs to know. Raises: OSError (the file of authorities cannot be read)."""
    if tls.ca_file is not None:
        return ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cafile=str(tls.ca_file))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # the fingerprint, or the token's proof, says whether it is the right one
    return context


def secure(
    sock: socket.socket, address: FarAddress, context: ssl.SSLContext, on_socket: OnSocket
) -> tuple[ssl.SSLSocket, bytes]:
    """Begin TLS; the socket has its time-out already. Returns: the stream, and the SHA-256 of the certificate.

    Raises: Unauthorized (another certificate than the address says), BadWire (it does not speak TLS), OSError.
    """
    assert address.tls is not None
    stream = context.wrap_socket(sock, server_hostname=address.host, do_handshake_on_connect=False)
    on_socket(stream)
    try:
        stream.do_handshake()
    except ssl.SSLCertVerificationError as error:
        raise Unauthorized(f"the certificate of {address} is not good: {error.verify_message}") from error
    except ssl.SSLEOFError:
        raise
    except ssl.SSLError as error:
        raise BadWire(
            f"what listens at {address} does not speak TLS as we do ({error.reason}); was the gate started with it?"
        ) from error
    digest = hashlib.sha256(stream.getpeercert(binary_form=True) or b"").digest()
    if address.tls.fingerprint not in (None, digest.hex()):
        stream.close()
        raise Unauthorized(
            f"{address} has the certificate {digest.hex()}, not the one that was asked for; somebody may be in between"
        )
    return stream, digest


def cut_off(sock: socket.socket) -> None:
    """End what is blocked in a socket, from any thread; nothing is sent. Raises: OSError (it is not connected)."""
    socket.socket.shutdown(sock, socket.SHUT_RDWR)  # an SSLSocket's own would first drop its TLS state under the reader
