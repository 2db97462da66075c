"""Whole folders to and from a guest, as tar streams."""

from __future__ import annotations

import os
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from gym_anything._util.deadline import Deadline
from gym_anything._util.tar_extract import extract_data
from gym_anything.runtime.guest import wire
from gym_anything.runtime.guest.connection import Connection
from gym_anything.runtime.guest.exchange import Exchange, deadline_ms


def _chunks(archive: IO[bytes]) -> Iterator[bytes]:
    while chunk := archive.read(wire.CONSTANTS["MAX_CHUNK"]):
        yield chunk


def put_tree(connection: Connection, source: Path, path: str, *, owner: str, deadline: Deadline) -> None:
    """Copy the content of the host folder ``source`` into the guest folder ``path``."""
    exchange_name = f"copy {source.name!r} to guest folder {path!r}"
    with tempfile.TemporaryFile(prefix="ga-tree-") as archive:
        with tarfile.open(fileobj=archive, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for child in sorted(source.iterdir()):
                tar.add(child, arcname=child.name)
        archive.seek(0)
        exchange = Exchange(connection, exchange_name, deadline)
        exchange.request("TAR_PUT", deadline_ms=deadline_ms(deadline), owner=owner.encode(), path=os.fsencode(path))
        exchange.finish(source=_chunks(archive))


def get_tree(connection: Connection, path: str, dest: Path, deadline: Deadline) -> list[str]:
    """Copy the content of the guest folder ``path`` into ``dest``.

    Returns: names that were left out because they would lead out of ``dest`` (links with absolute or outside
        targets); see ``tar_extract``.
    """
    dest.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(prefix="ga-tree-") as archive:
        exchange = Exchange(connection, f"copy guest folder {path!r}", deadline)
        exchange.request("TAR_GET", deadline_ms=deadline_ms(deadline), path=os.fsencode(path))
        exchange.finish(sink=lambda _stream, chunk: archive.write(chunk))
        archive.seek(0)
        with tarfile.open(fileobj=archive, mode="r:") as tar:
            return extract_data(tar, dest)
