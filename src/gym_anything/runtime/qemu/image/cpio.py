"""A cpio archive in the kernel's own format (``newc``), the same bytes for the same content. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

_FOLDER, _FILE, _LINK = 0o040755, 0o100644, 0o120777
_PROGRAM_BITS = 0o111


@dataclass(frozen=True, slots=True)
class Entry:
    """One member: a folder (``content`` None), a file, or a symbolic link (``content`` is its target)."""

    name: str
    content: bytes | None = None
    program: bool = False
    link: bool = False

    @property
    def mode(self) -> int:
        """Kind and permissions, as ``stat`` has them."""
        if self.content is None:
            return _FOLDER
        return _LINK if self.link else _FILE | (_PROGRAM_BITS if self.program else 0)


def archive(entries: Iterable[Entry]) -> bytes:
    """Return the archive: everything owned by root, of no date.

    Source: Linux ``Documentation/driver-api/early-userspace/buffer-format.rst``.
    """
    parts = [_member(number, entry) for number, entry in enumerate(entries, 1)]
    return b"".join(parts) + _member(0, Entry("TRAILER!!!", b""))


def _member(number: int, entry: Entry) -> bytes:
    name, content = entry.name.encode() + b"\0", entry.content or b""
    mode = 0 if entry.name == "TRAILER!!!" else entry.mode
    fields = (number, mode, 0, 0, 2 if entry.content is None else 1, 0, len(content), 0, 0, 0, 0, len(name), 0)
    header = b"070701" + b"".join(b"%08X" % field for field in fields)
    return _padded(header + name) + _padded(content)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)
