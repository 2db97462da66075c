"""Command lines of an Android guest, by adb's second shell protocol: output, errors and exit code apart."""

from __future__ import annotations

import time

from gym_anything._util.deadline import Deadline
from gym_anything.errors import DeadlineExceeded, UnsupportedFeature
from gym_anything.runtime.guest.adb import wire
from gym_anything.runtime.guest.adb.connection import AdbConnection, AdbStream
from gym_anything.runtime.guest.exec_result import ExecResult

_GOODBYE_S = 5.0


def run_command(connection: AdbConnection, command: str, deadline: Deadline, stdin: bytes = b"") -> ExecResult:
    """Run one command line in the device's ``sh`` and return its end.

    When the deadline passes the service is closed, which ends the command; the result then has ``timed_out``.

    Raises: UnsupportedFeature (a device before Android 7, which tells no exit codes), WorldLost, Aborted, BadWire.
    """
    if "shell_v2" not in connection.banner.features:
        raise UnsupportedFeature("this device's adbd has no shell_v2 and tells no exit codes; Android 7 or newer has")
    began = time.monotonic()
    stream = connection.open_stream(f"shell,v2,raw:{command}", deadline)
    kept = {wire.STDOUT: bytearray(), wire.STDERR: bytearray()}
    code: int | None = None
    try:
        for part in (stdin[at : at + wire.SYNC_PART_BYTES] for at in range(0, len(stdin), wire.SYNC_PART_BYTES)):
            stream.write(_packet(wire.STDIN, part), deadline)
        stream.write(_packet(wire.CLOSE_STDIN, b""), deadline)
        code = _read_to_end(stream, kept, deadline)
    except DeadlineExceeded:
        pass
    stream.close(Deadline.after(_GOODBYE_S))
    return ExecResult(
        exit_code=137 if code is None else code,
        stdout=bytes(kept[wire.STDOUT]),
        stderr=bytes(kept[wire.STDERR]),
        timed_out=code is None,
        duration_s=time.monotonic() - began,
    )


def _read_to_end(stream: AdbStream, kept: dict[int, bytearray], deadline: Deadline) -> int:
    while True:
        kind, length = wire.SHELL_HEADER.unpack(stream.read_exactly(wire.SHELL_HEADER.size, deadline))
        data = stream.read_exactly(length, deadline)
        if kind in kept:
            kept[kind] += data
        elif kind == wire.EXIT:
            return data[0] if data else 0


def _packet(kind: int, data: bytes) -> bytes:
    return wire.SHELL_HEADER.pack(kind, len(data)) + data
