"""Files of a guest: read, written, listed, moved as whole trees."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from gym_anything._util.atomic_write import new_file
from gym_anything._util.deadline import Deadline
from gym_anything.runtime.guest import wire
from gym_anything.runtime.guest.connection import Connection
from gym_anything.runtime.guest.exchange import Exchange, deadline_ms


@dataclass(frozen=True, slots=True)
class GuestFile:
    """One file of a guest: ``mode`` with the type bits, times in nanoseconds, ``link_target`` of a symbolic link."""

    name: str
    mode: int
    uid: int
    gid: int
    size: int
    mtime_ns: int
    link_target: str


def _path(path: str) -> bytes:
    if not path:
        raise ValueError("an empty guest path")
    return os.fsencode(path)


def _file(entry: wire.Message) -> GuestFile:
    return GuestFile(
        os.fsdecode(entry["name"]),
        entry["mode"],
        entry["uid"],
        entry["gid"],
        entry["size"],
        entry["mtime_ns"],
        os.fsdecode(entry["link_target"]),
    )


def look_at(connection: Connection, path: str, flags: int, deadline: Deadline) -> list[GuestFile]:
    """Return what STAT says: one file, or the children of a folder (sorted by name)."""
    parts: list[bytes] = []
    exchange = Exchange(connection, f"look at guest file {path!r}", deadline)
    exchange.request("STAT", flags=flags, deadline_ms=deadline_ms(deadline), path=_path(path))
    exchange.finish(sink=lambda _stream, chunk: parts.append(chunk))
    return sorted((_file(entry) for entry in wire.decode_entries(b"".join(parts))), key=lambda file: file.name)


def read_file(connection: Connection, path: str, write: Callable[[bytes], object], deadline: Deadline) -> None:
    """Pass a file's content to ``write`` piece by piece."""
    exchange = Exchange(connection, f"read guest file {path!r}", deadline)
    exchange.request("GET", deadline_ms=deadline_ms(deadline), offset=0, max_size=0, path=_path(path))
    exchange.finish(sink=lambda _stream, chunk: write(chunk))


def get_file(connection: Connection, path: str, dest: Path, deadline: Deadline) -> None:
    """Copy a guest file to ``dest``, which appears whole or not at all."""
    dest.parent.mkdir(parents=True, exist_ok=True)
    with new_file(dest) as out:
        read_file(connection, path, out.write, deadline)


def _file_chunks(source: IO[bytes]) -> Iterator[bytes]:
    while chunk := source.read(wire.CONSTANTS["MAX_CHUNK"]):
        yield chunk


def put_file(
    connection: Connection, source: bytes | Path, path: str, *, mode: int, owner: str, deadline: Deadline
) -> None:
    """Write a guest file, which appears whole or not at all."""
    exchange = Exchange(connection, f"write guest file {path!r}", deadline)
    with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as content:
        exchange.request(
            "PUT",
            flags=wire.CONSTANTS["PUT_PARENTS"],
            deadline_ms=deadline_ms(deadline),
            mode=mode,
            owner=owner.encode(),
            path=_path(path),
        )
        exchange.finish(source=_file_chunks(content))


def make_folder(connection: Connection, path: str, *, mode: int, owner: str, deadline: Deadline) -> None:
    """Make a guest folder and what is missing above it; one that exists is left as it is."""
    exchange = Exchange(connection, f"make guest folder {path!r}", deadline)
    exchange.request(
        "MKDIR",
        flags=wire.CONSTANTS["MKDIR_PARENTS"],
        deadline_ms=deadline_ms(deadline),
        mode=mode,
        owner=owner.encode(),
        path=_path(path),
    )
    exchange.finish()


def remove(connection: Connection, path: str, *, tree: bool, deadline: Deadline) -> None:
    """Remove a guest file, link or folder."""
    exchange = Exchange(connection, f"remove guest file {path!r}", deadline)
    flags = wire.CONSTANTS["REMOVE_TREE"] if tree else 0
    exchange.request("REMOVE", flags=flags, deadline_ms=deadline_ms(deadline), path=_path(path))
    exchange.finish()
