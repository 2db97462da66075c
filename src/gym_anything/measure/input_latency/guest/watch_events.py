"""Runs inside a world: list the X server's input devices, then count what they send. Python alone, no package.

``python3 watch_events.py FOLDER`` writes ``FOLDER/devices.json`` once and ``FOLDER/counts.json`` whenever events have
come: ``{"<device>": {"<event>": count}}``. It ends with the X server, or after an hour.
Source: X Window System Protocol, appendix B; the X Input Device Extension Library, version 2.2 (XI2proto).
"""

import json
import os
import select
import socket
import struct
import sys
import time
from pathlib import Path
from typing import Any

LIFE_S = 3600
MASTERS = 1  # raw events of all master devices; each names the device it came from
RAW = {13: "key_press", 14: "key_release", 15: "button_press", 16: "button_release", 17: "motion"}
USES = {1: "master pointer", 2: "master keyboard", 3: "pointer", 4: "keyboard", 5: "floating"}
GENERIC_EVENT = 35


class Server:
    """A connection to the X server of ``DISPLAY``."""

    def __init__(self) -> None:
        display = os.environ.get("DISPLAY", ":1").split(".")[0].rpartition(":")[2]
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect("/tmp/.X11-unix/X" + display)
        name, cookie = authority(display.encode())
        sizes = struct.pack("<HHxx", len(name), len(cookie))
        self.sock.sendall(b"l\0" + struct.pack("<HH", 11, 0) + sizes + padded(name) + padded(cookie))
        status, length = struct.unpack("<BxxxxxH", self.read(8))
        data = self.read(length * 4)
        if status != 1:
            sys.exit(f"the X server refused the connection: {data!r}")
        vendor, formats = struct.unpack_from("<H", data, 16)[0], data[21]
        self.root = struct.unpack_from("<I", data, 32 + (vendor + 3) // 4 * 4 + formats * 8)[0]
        self.events: list[bytes] = []

    def read(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            part = self.sock.recv(count - len(data))
            if not part:
                sys.exit("the X server is gone")
            data += part
        return data

    def send(self, opcode: int, detail: int, body: bytes = b"") -> None:
        body += bytes(-len(body) % 4)
        self.sock.sendall(struct.pack("<BBH", opcode, detail, 1 + len(body) // 4) + body)

    def message(self) -> bytes:
        """Return the next event, reply or error, whole."""
        head = self.read(32)
        if head[0] == 0:
            sys.exit(f"the X server says: error {head[1]} of request {head[10]}.{head[8]}")
        extra = struct.unpack_from("<I", head, 4)[0] * 4 if head[0] in (1, GENERIC_EVENT) else 0
        return head + self.read(extra)

    def reply(self) -> bytes:
        while True:
            message = self.message()
            if message[0] == 1:
                return message
            self.events.append(message)


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def authority(display: bytes) -> tuple[bytes, bytes]:
    """Return (name, data) of the first fitting entry of the authority file; both empty where there is none."""
    path = os.environ.get("XAUTHORITY")
    try:
        data = (Path(path) if path else Path.home() / ".Xauthority").read_bytes()
    except OSError:
        return b"", b""
    at = 0
    while at < len(data):
        at += 2
        fields = []
        for _ in range(4):
            size = struct.unpack_from(">H", data, at)[0]
            fields.append(data[at + 2 : at + 2 + size])
            at += 2 + size
        if fields[1] in (b"", display):
            return fields[2], fields[3]
    return b"", b""


def input_extension(server: Server) -> int:
    name = b"XInputExtension"
    server.send(98, 0, struct.pack("<Hxx", len(name)) + name)
    reply = server.reply()
    if not reply[8]:
        sys.exit("the X server has no XInput extension")
    opcode = reply[9]
    server.send(opcode, 47, struct.pack("<HH", 2, 2))
    server.reply()
    return opcode


def devices(server: Server, opcode: int) -> "dict[int, dict[str, Any]]":
    """Return id -> {"name", "use", "enabled"}."""
    server.send(opcode, 48, struct.pack("<Hxx", 0))
    reply = server.reply()
    count, at = struct.unpack_from("<H", reply, 8)[0], 32
    found: dict[int, dict[str, Any]] = {}
    for _ in range(count):
        number, use, _, classes, size, enabled = struct.unpack_from("<HHHHHB", reply, at)
        name = reply[at + 12 : at + 12 + size].decode("utf-8", "replace")
        at += 12 + (size + 3) // 4 * 4
        for _ in range(classes):
            at += struct.unpack_from("<HH", reply, at)[1] * 4
        found[number] = {"name": name, "use": USES.get(use, str(use)), "enabled": bool(enabled)}
    return found


def write(folder: Path, name: str, document: object) -> None:
    partial = folder / f".{name}"
    partial.write_text(json.dumps(document), encoding="utf-8")
    partial.replace(folder / name)


def main() -> None:
    folder = Path(sys.argv[1])
    server = Server()
    opcode = input_extension(server)
    found = devices(server, opcode)
    mask = sum(1 << kind for kind in RAW)
    server.send(opcode, 46, struct.pack("<IHxx", server.root, 1) + struct.pack("<HHI", MASTERS, 1, mask))
    server.send(43, 0)  # GetInputFocus: once it is answered the selection holds
    server.reply()
    counts: dict[str, dict[str, int]] = {}
    write(folder, "counts.json", counts)
    write(folder, "devices.json", list(found.values()))
    end = time.monotonic() + LIFE_S
    while time.monotonic() < end:
        if not server.events and not select.select([server.sock], [], [], end - time.monotonic())[0]:
            break
        while server.events or select.select([server.sock], [], [], 0.02)[0]:
            event = server.events.pop(0) if server.events else server.message()
            if event[0] & 0x7F != GENERIC_EVENT or event[1] != opcode:
                continue
            kind, source = struct.unpack_from("<H", event, 8)[0], struct.unpack_from("<H", event, 20)[0]
            name = found.get(source, {"name": f"device {source}"})["name"]
            if kind in RAW:
                per_device = counts.setdefault(name, {})
                per_device[RAW[kind]] = per_device.get(RAW[kind], 0) + 1
        write(folder, "counts.json", counts)


if __name__ == "__main__":
    main()
