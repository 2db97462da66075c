"""The state directory: ``<state>/<run>/<world>/``, one folder for each thing that lives while we live.

A *run* is one owner process. Its folder holds a manifest (who owns it) and a lock that the kernel frees when the
owner dies, however it dies. Each world's folder lies in it, with a manifest of what the world has outside its folder.
Both are removed at the end; after ``kill -9`` they are what ``gym-anything cache gc`` goes by.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from pathlib import Path
from typing import Any, ClassVar

from gym_anything._util import atomic_write, env_vars
from gym_anything._util.ascii_names import name_of, random_name
from gym_anything._util.labels import NO_WORLD, Label, Owner
from gym_anything._util.locks import FileLock
from gym_anything._util.remove_tree import remove_tree
from gym_anything._util.world_dir import MANIFEST as MANIFEST
from gym_anything._util.world_dir import WorldDir as WorldDir
from gym_anything.errors import HostError, SettingInvalid, StateError

LOCK = "lock"
LOGS = "logs"
"""Folder of the logs that outlive what wrote them."""

STATE_DIR = env_vars.declare(
    "GYM_ANYTHING_STATE_DIR",
    env_vars.path,
    None,
    "Folder for what exists only while worlds run (sockets, logs, overlays). Default: $XDG_STATE_HOME/gym-anything, "
    "else ~/.local/state/gym-anything. Local disk, not NFS.",
    "gym_anything._util.state_dir",
)


_ELSEWHERE = 'export GYM_ANYTHING_STATE_DIR="/var/tmp/gym-anything-$USER"'


def state_root() -> Path:
    """Return the absolute state folder, made (mode 0700) when missing.

    Raises: HostError when it cannot be made or written to; SettingInvalid for a relative path.
    """
    chosen = STATE_DIR.get()
    if chosen is None:
        base = os.environ.get("XDG_STATE_HOME", "")
        chosen = (Path(base) if base.startswith("/") else Path.home() / ".local" / "state") / "gym-anything"
    if not chosen.is_absolute():
        raise SettingInvalid(
            f"GYM_ANYTHING_STATE_DIR must be an absolute path, got {str(chosen)!r}",
            detail={"setting": STATE_DIR.name, "fix": _ELSEWHERE},
        )
    try:
        chosen.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise HostError(
            f"the state folder {chosen} cannot be made: {error.strerror}. Set {STATE_DIR.name} to a folder you own.",
            detail={"path": str(chosen), "fix": _ELSEWHERE},
        ) from error
    return chosen


def run_prefix(root: Path) -> str:
    """Return how the names of all runs below a state folder begin, so that a name tells which folder it is of."""
    return "r" + name_of(os.fsencode(root.resolve()), 3)


class Run:
    """This process as the owner of worlds: one folder, one manifest, one lock held while it lives."""

    _current: ClassVar[Run | None] = None
    _guard: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, root: Path) -> None:
        """Make a new run under ``root``. Use ``Run.current()``; a test may make its own and close it."""
        self.owner = Owner.current()
        self.id, self.path = _new_folder(root, run_prefix(root), 6)
        self._worlds: dict[str, WorldDir] = {}
        self._closed = False
        lock = FileLock.try_acquire(self.path / LOCK)
        if lock is None:
            raise HostError(f"the new run folder {self.path} is already locked")
        self._lock = lock
        self.label = Label(self.id, NO_WORLD, self.owner)
        manifest = {"run": self.id, "owner": str(self.owner), "created_at": time.time()}
        atomic_write.write_json(self.path / MANIFEST, manifest, mode=0o600)

    @classmethod
    def current(cls) -> Run:
        """Return this process's run, made on first use. A forked child gets one of its own."""
        with cls._guard:
            run = cls._current
            if run is None or run._closed or not run._mine():
                run = cls._current = cls(state_root())
            return run

    def new_world(self, runner_key: str, **facts: Any) -> WorldDir:
        """Make a world's folder with its manifest.

        Args:
            runner_key: which runner it is for; only noted.
            facts: JSON values for the manifest, never secrets.
        """
        if self._closed or not self._mine():
            raise StateError("this run is closed or belongs to the parent process; use Run.current()")
        world_id, path = _new_folder(self.path, "w", 6)
        label = Label(self.id, world_id, self.owner)
        world = WorldDir(path, label, runner_key, facts, lambda name: self._worlds.pop(name, None))
        world.update_manifest()
        self._worlds[world_id] = world
        return world

    @property
    def worlds(self) -> list[WorldDir]:
        """The worlds made and not yet removed."""
        return list(self._worlds.values())

    def close(self) -> None:
        """Remove the folder and give the lock back; idempotent. Processes are ended by the supervisor before this."""
        if self._closed:
            return
        self._closed = True
        if not self._mine():
            return
        try:
            for world in self.worlds:
                world.remove()
            remove_tree(self.path)
        finally:
            self._lock.release()

    def _mine(self) -> bool:
        return os.getpid() == self.owner.pid

    @classmethod
    def _close_at_exit(cls) -> None:
        run = cls._current
        if run is None:
            return
        try:
            run.close()
        except HostError as error:  # at exit nobody can catch it; `cache gc` will find what is left
            os.write(2, f"gym-anything: {error}\n".encode(errors="replace"))

    @classmethod
    def _after_fork_in_child(cls) -> None:
        cls._guard = threading.Lock()
        run, cls._current = cls._current, None
        if run is not None:
            run._closed = True
            run._lock.forget()


def _new_folder(parent: Path, prefix: str, length: int) -> tuple[str, Path]:
    for _ in range(100):
        name = random_name(prefix, length)
        try:
            (parent / name).mkdir(mode=0o700)
        except FileExistsError:
            continue
        except OSError as error:
            raise HostError(
                f"cannot make a folder in {parent}: {error.strerror}", detail={"path": str(parent)}
            ) from error
        return name, parent / name
    raise HostError(f"no free name in {parent}", detail={"path": str(parent)})


atexit.register(Run._close_at_exit)
os.register_at_fork(after_in_child=Run._after_fork_in_child)
