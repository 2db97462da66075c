"""The folder of an export: it appears whole or not at all, and what a killed export left is removed by the next one."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gym_anything._util.remove_tree import remove_tree
from gym_anything.errors import BenchmarkError

IMAGES = "images"


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Give a folder to fill that becomes ``target`` at the end of the block; when that raises, nothing is left.

    Raises: BenchmarkError when there is something in ``target`` already, or it cannot be made.
    """
    target = target.absolute()
    try:
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            fix = "name a folder that is not there yet, or remove it"
            raise BenchmarkError(f"{target} is there already; {fix}", detail={"path": str(target), "fix": fix})
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_left_overs(target)
        part = target.with_name(f".{target.name[:100]}.{os.getpid()}.{os.urandom(4).hex()}.part")
        part.mkdir()
    except OSError as error:
        raise BenchmarkError(f"{target} cannot be made: {error.strerror}", detail={"path": str(target)}) from error
    try:
        yield part
        part.replace(target)
    except BaseException:
        remove_tree(part)
        raise


class PictureStore:
    """Pictures of an export, each once, named by content: ``images/<sha256>.png``."""

    def __init__(self, folder: Path) -> None:
        """Args: folder: of the export."""
        self._folder = folder
        self._known: dict[Path, str] = {}
        self.count = 0

    def place(self, picture: Path | None) -> str | None:
        """Copy a picture into the export; returns its path below the export's folder."""
        if picture is None:
            return None
        name = self._known.get(picture)
        if name is None:
            data = picture.read_bytes()
            name = self._known[picture] = f"{IMAGES}/{hashlib.sha256(data).hexdigest()}{picture.suffix}"
            target = self._folder / name
            if not target.exists():
                target.parent.mkdir(exist_ok=True)
                target.write_bytes(data)
                self.count += 1
        return name

    def forget(self) -> None:
        """Forget where pictures came from, after each episode: memory stays flat. They are still written once."""
        self._known.clear()


def _remove_left_overs(target: Path) -> None:
    """Remove the parts of exports to the same place whose process is gone."""
    for part in target.parent.glob(f".{target.name[:100]}.*.part"):
        words = part.name.removeprefix(f".{target.name[:100]}.").split(".")
        if len(words) == 3 and words[0].isdigit() and not Path(f"/proc/{words[0]}").exists():
            remove_tree(part)
