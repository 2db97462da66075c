"""Which ports of 127.0.0.1 QEMU chose for the ports of its guest, as its monitor tells. Pure."""

from __future__ import annotations

import re

from gym_anything.errors import BadWire

COMMAND = "info usernet"
# Protocol[State]  FD  source address  port  destination address  port  queues
_ROW = re.compile(r"^\s*TCP\[HOST_FORWARD\]\s+\d+\s+(\S+)\s+(\d+)\s+\S+\s+(\d+)\s", re.MULTILINE)


def parse_forwards(text: str) -> dict[int, int]:
    """Return guest port -> host port. Raises: BadWire for a forward that other machines could reach."""
    found: dict[int, int] = {}
    for address, host_port, guest_port in _ROW.findall(text + "\n"):
        if address != "127.0.0.1":
            raise BadWire(f"QEMU forwards port {guest_port} from {address}, not from 127.0.0.1")
        found[int(guest_port)] = int(host_port)
    return found
