"""Where a gate on another host is, and how one knows that it is the right one."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from gym_anything.runtime.desktop.far_wire import CONSTANTS

_FINGERPRINT = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Tls:
    """TLS, and what the gate's certificate must be. With neither given, the token proves it: the gate and we bind the
    token's proof to the certificate that came, so that nobody in between can show another.

    Attributes:
        fingerprint: SHA-256 of the certificate (DER) in hexadecimal digits, with or without colons.
        ca_file: PEM file of the authorities that may have signed it; then the host's name must be in it, too.
    """

    fingerprint: str | None = None
    ca_file: str | Path | None = None

    def __post_init__(self) -> None:
        if self.fingerprint is not None:
            digits = self.fingerprint.replace(":", "").lower()
            if not _FINGERPRINT.fullmatch(digits):
                raise ValueError("a fingerprint is the SHA-256 of a certificate: 64 hexadecimal digits")
            object.__setattr__(self, "fingerprint", digits)


@dataclass(frozen=True, slots=True)
class FarAddress:
    """Where a gate listens.

    Attributes:
        host: its name or number. Proxy settings are not asked.
        token: the secret that both sides prove to know; it never travels, and is not shown.
        tls: how the stream is protected. None, which has to be said: everybody on the way can read the screen and the
            typing, and change them. Good for loopback and tunnels.
    """

    host: str
    port: int
    token: bytes = field(repr=False)
    tls: Tls | None

    def __post_init__(self) -> None:
        if not self.host or not 1 <= self.port <= 0xFFFF:
            raise ValueError(f"an address is a host and a port from 1 to 65535, got {self.host!r} and {self.port!r}")
        least, most = CONSTANTS["MIN_TOKEN_SIZE"], CONSTANTS["MAX_TOKEN_SIZE"]
        if not least <= len(self.token) <= most:
            raise ValueError(f"a token has {least} to {most} bytes, got {len(self.token)}")

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"
