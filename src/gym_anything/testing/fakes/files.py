"""The fake world's file system: in memory, small, with folders and modes."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gym_anything.errors import GuestFileNotFound, WorldError

MOST_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class GuestFile:
    """One file's content and mode."""

    content: bytes
    mode: int = 0o644


class GuestFiles:
    """Paths are absolute and POSIX; a folder exists when it was made or has something in it."""

    def __init__(self) -> None:
        self._files: dict[str, GuestFile] = {}
        self._folders: set[str] = {"/"}

    def snapshot(self) -> GuestFiles:
        """Return an independent copy."""
        twin = GuestFiles()
        twin._files, twin._folders = dict(self._files), set(self._folders)
        return twin

    def write(self, path: str, content: bytes, *, mode: int = 0o644, append: bool = False) -> None:
        """Write a file; its folders are made. A path that is a folder is refused."""
        full = normal(path)
        if self.is_folder(full):
            raise WorldError(f"{path} is a folder in the guest")
        before = self._files[full].content if append and full in self._files else b""
        if sum(len(f.content) for f in self._files.values()) + len(content) > MOST_BYTES:
            raise WorldError(f"the fake world's disk of {MOST_BYTES} bytes is full")
        self.make_folder(posixpath.dirname(full))
        self._files[full] = GuestFile(before + content, mode)

    def read(self, path: str) -> bytes:
        """Return a file's content. Raises: GuestFileNotFound."""
        return self.file(path).content

    def file(self, path: str) -> GuestFile:
        """Return a file. Raises: GuestFileNotFound."""
        try:
            return self._files[normal(path)]
        except KeyError:
            raise GuestFileNotFound(f"no such file in the guest: {path}", detail={"path": path}) from None

    def exists(self, path: str) -> bool:
        """Tell whether a file or folder is there."""
        return normal(path) in self._files or self.is_folder(path)

    def is_folder(self, path: str) -> bool:
        """Tell whether a folder is there."""
        return normal(path) in self._folders

    def make_folder(self, path: str) -> None:
        """Make a folder and its parents."""
        full = normal(path)
        while full not in self._folders:
            if full in self._files:
                raise WorldError(f"{full} is a file in the guest")
            self._folders.add(full)
            full = posixpath.dirname(full)

    def remove(self, path: str) -> bool:
        """Remove a file or a folder with all in it; False when there was nothing."""
        full = normal(path)
        inside = full.rstrip("/") + "/"
        gone = {p for p in [*self._files, *self._folders] if p == full or p.startswith(inside)} - {"/"}
        for name in gone:
            self._files.pop(name, None)
            self._folders.discard(name)
        return bool(gone)

    def below(self, path: str) -> Iterator[tuple[str, GuestFile]]:
        """Yield (path relative to the folder, file) for every file below it, sorted."""
        inside = normal(path).rstrip("/") + "/"
        for name in sorted(self._files):
            if name.startswith(inside):
                yield name[len(inside) :], self._files[name]

    def copy_in(self, source: Path, path: str) -> None:
        """Copy a host file or folder in."""
        if source.is_dir():
            self.make_folder(path)
            for item in sorted(source.rglob("*")):
                target = posixpath.join(path, item.relative_to(source).as_posix())
                if item.is_dir():
                    self.make_folder(target)
                elif item.is_file():
                    self.write(target, item.read_bytes(), mode=item.stat().st_mode & 0o777)
        elif source.is_file():
            self.write(path, source.read_bytes(), mode=source.stat().st_mode & 0o777)
        else:
            raise FileNotFoundError(f"no such file on the host: {source}")

    def copy_out(self, path: str, target: Path) -> None:
        """Copy a guest file or folder out. Raises: GuestFileNotFound, before anything is written."""
        if not self.is_folder(path):
            self._put_out(self.file(path), target)
            return
        target.mkdir(parents=True, exist_ok=True)
        inside = normal(path).rstrip("/") + "/"
        for folder in sorted(name for name in self._folders if name.startswith(inside)):
            (target / folder[len(inside) :]).mkdir(parents=True, exist_ok=True)
        for relative, file in self.below(path):
            self._put_out(file, target / relative)

    @staticmethod
    def _put_out(file: GuestFile, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.content)
        os.chmod(target, file.mode)  # noqa: PTH101 - the mode, not the umask, decides


def normal(path: str) -> str:
    """Return an absolute path without ``.``, ``..`` or double slashes."""
    return posixpath.normpath("/" + path.lstrip("/")) if path.startswith("/") else posixpath.normpath(f"/root/{path}")
