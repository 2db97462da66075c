"""Files of an Android guest, by adb's sync service."""

from __future__ import annotations

import posixpath
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gym_anything._util import atomic_write
from gym_anything._util.deadline import Deadline
from gym_anything.errors import BadWire, GuestCommandFailed, GuestFileNotFound
from gym_anything.runtime.guest.adb import wire
from gym_anything.runtime.guest.adb.connection import AdbConnection, AdbStream

_PATH_BYTES = 1024


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or folder of the device."""

    name: str
    mode: int

    @property
    def is_folder(self) -> bool:
        """True for a folder."""
        return stat.S_ISDIR(self.mode)


def push(connection: AdbConnection, source: Path, destination: str, deadline: Deadline) -> None:
    """Copy a file, or a folder with what is in it, to the device. Modes are kept, parents made; links are followed.

    Raises: GuestCommandFailed with the device's reason.
    """
    for path, target in _tree(source, destination):
        with _Sync(connection, deadline) as sync:
            sync.send(path, target)


def pull(connection: AdbConnection, source: str, destination: Path, deadline: Deadline) -> None:
    """Copy a file, or a folder with what is in it, from the device; what is there is replaced whole.

    Raises: GuestFileNotFound; then nothing is written.
    """
    with _Sync(connection, deadline) as sync:
        mode = sync.mode_of(source)
    if not mode:
        raise GuestFileNotFound(f"no such file in the guest: {source}")
    if not stat.S_ISDIR(mode):
        with _Sync(connection, deadline) as sync:
            data = sync.receive(source)
        destination.parent.mkdir(parents=True, exist_ok=True)
        atomic_write.write_bytes(destination, data, mode=stat.S_IMODE(mode) & 0o777 or 0o644)
        return
    destination.mkdir(parents=True, exist_ok=True)
    with _Sync(connection, deadline) as sync:
        entries = sync.entries(source)
    for entry in entries:
        pull(connection, posixpath.join(source, entry.name), destination / entry.name, deadline)


def _tree(source: Path, destination: str) -> Iterator[tuple[Path, str]]:
    if not source.is_dir():
        yield source, destination
        return
    for path in sorted(source.rglob("*")):
        if path.is_file():
            yield path, posixpath.join(destination, path.relative_to(source).as_posix())


class _Sync:
    """One sync service; a refusal ends it."""

    def __init__(self, connection: AdbConnection, deadline: Deadline) -> None:
        self._connection, self._deadline = connection, deadline

    def __enter__(self) -> _Sync:
        self._stream: AdbStream = self._connection.open_stream("sync:", self._deadline)
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if error is None:
            self._stream.finish(wire.SYNC_HEADER.pack(b"QUIT", 0), self._deadline)

    def send(self, path: Path, target: str) -> None:
        """Write one file."""
        mode = stat.S_IFREG | stat.S_IMODE(path.stat().st_mode) & 0o777
        self._ask(b"SEND", f"{target},{mode}")
        with path.open("rb") as file:
            while part := file.read(wire.SYNC_PART_BYTES):
                self._stream.write(wire.SYNC_HEADER.pack(b"DATA", len(part)) + part, self._deadline)
        self._stream.write(wire.SYNC_HEADER.pack(b"DONE", int(path.stat().st_mtime)), self._deadline)
        kind, length = self._header()
        if kind == b"FAIL":
            reason = self._stream.read_exactly(length, self._deadline).decode(errors="replace")
            raise GuestCommandFailed(f"the device does not take {target}: {reason}", detail={"log_tail": reason})
        if kind != b"OKAY":
            raise BadWire(f"adbd answered {kind!r} to a file")

    def receive(self, path: str) -> bytes:
        """Return one file's content."""
        self._ask(b"RECV", path)
        content = bytearray()
        while True:
            kind, length = self._header()
            if kind == b"DONE":
                return bytes(content)
            data = self._stream.read_exactly(length, self._deadline)
            if kind == b"FAIL":
                raise GuestFileNotFound(f"{path} in the guest cannot be read: {data.decode(errors='replace')}")
            if kind != b"DATA":
                raise BadWire(f"adbd answered {kind!r} to the question for a file")
            content += data

    def mode_of(self, path: str) -> int:
        """Return type and mode; 0: there is no such file."""
        self._ask(b"STAT", path)
        kind = self._stream.read_exactly(4, self._deadline)
        if kind != b"STAT":
            raise BadWire(f"adbd answered {kind!r} to the question what a file is")
        mode, _, _ = wire.SYNC_STAT.unpack(self._stream.read_exactly(wire.SYNC_STAT.size, self._deadline))
        return int(mode)

    def entries(self, path: str) -> list[Entry]:
        """Return what is in a folder."""
        self._ask(b"LIST", path)
        found: list[Entry] = []
        while True:
            kind = self._stream.read_exactly(4, self._deadline)
            entry = self._stream.read_exactly(wire.SYNC_ENTRY.size, self._deadline)
            mode, _, _, length = wire.SYNC_ENTRY.unpack(entry)
            if kind == b"DONE":
                return found
            if kind != b"DENT":
                raise BadWire(f"adbd answered {kind!r} to the question what is in a folder")
            name = self._stream.read_exactly(length, self._deadline).decode("utf-8", errors="surrogateescape")
            if name not in (".", "..") and "/" not in name:
                found.append(Entry(name, mode))

    def _ask(self, kind: bytes, text: str) -> None:
        data = text.encode("utf-8", errors="surrogateescape")
        if len(data) > _PATH_BYTES:
            raise GuestCommandFailed(f"a path of {len(data)} bytes is longer than adb takes: {text[:100]} …")
        self._stream.write(wire.SYNC_HEADER.pack(kind, len(data)) + data, self._deadline)

    def _header(self) -> tuple[bytes, int]:
        kind, length = wire.SYNC_HEADER.unpack(self._stream.read_exactly(wire.SYNC_HEADER.size, self._deadline))
        return kind, length
