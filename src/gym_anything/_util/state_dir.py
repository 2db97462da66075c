"""The state directory: ``<state>/<run>/<world>/``, one folder for each thing that lives while we live.

A *run* is one owner process. Its folder holds a manifest (who owns it) and a lock that the kernel frees when the
owner dies, however it dies. Each world's folder lies in it, with a manifest of what the world has outside its folder.
Both are removed at the end; after ``kill -9`` they are what ``gym-anything cache gc`` goes by.
"""

from __future__ import annotations

import atexit
import os
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, ClassVar

from gym_anything._util import atomic_write, env_vars
from gym_anything._util.ascii_names import name_of, random_name
from gym_anything._util.labels import NO_WORLD, Label, Owner
from gym_anything._util.locks import FileLock
from gym_anything._util.remove_tree import remove_tree
from gym_anything.errors import HostError, SettingInvalid, StateError

MANIFEST = "manifest.json"
LOCK = "lock"
SOCKET_PATH_MAX_BYTES = 107

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


class WorldDir:
    """One world's folder.

    Attributes:
        id: short name, unique on this host; letters and digits only, so it may be part of any other name.
        path: the folder (mode 0700).
        label: run, world and owner; put ``label.as_env()`` on processes, ``labels`` on containers.
    """

    def __init__(self, run: Run, world_id: str, runner_key: str, facts: dict[str, Any]) -> None:
        self.id = world_id
        self.path = run.path / world_id
        self.label = Label(run.id, world_id, run.owner)
        self._run = run
        self._lock = threading.Lock()
        self._short: Path | None = None
        self._manifest: dict[str, Any] = {
            **facts,
            "world": world_id,
            "run": run.id,
            "runner": runner_key,
            "created_at": time.time(),
        }

    @property
    def labels(self) -> dict[str, str]:
        """The three labels as a dict, for containers and cloud objects."""
        return self.label.as_dict()

    @property
    def env(self) -> dict[str, str]:
        """The label as an environment variable, for every process of this world."""
        return self.label.as_env()

    def update_manifest(self, **facts: Any) -> None:
        """Merge facts (JSON values, never secrets) into the manifest, atomically.

        Write down a resource *before* it is made: after ``kill -9`` only the manifest tells of it.
        """
        with self._lock:
            self._manifest.update(facts)
            atomic_write.write_json(self.path / MANIFEST, self._manifest, mode=0o600)

    def socket_path(self, name: str) -> Path:
        """Return a path for a Unix socket called ``name`` in this folder that fits into 107 bytes.

        When the folder's own path is too long, the answer goes through a symbolic link in the temporary folder.
        """
        direct = self.path / name
        if len(os.fsencode(direct)) <= SOCKET_PATH_MAX_BYTES:
            return direct
        with self._lock:
            if self._short is None:
                self._short = self._make_short()
        short = self._short / name
        if len(os.fsencode(short)) > SOCKET_PATH_MAX_BYTES:
            raise HostError(f"no socket path of at most {SOCKET_PATH_MAX_BYTES} bytes for {name!r}; set TMPDIR to /tmp")
        return short

    def remove(self) -> None:
        """Delete the folder and all in it; twice is harmless. Mounts below it must be gone (never crossed).

        Raises: HostError when something in it cannot be removed.
        """
        short, self._short = self._short, None
        if short is not None:
            short.unlink(missing_ok=True)
        self._run._forget(self)
        remove_tree(self.path)

    def _make_short(self) -> Path:
        link = Path(tempfile.gettempdir()) / random_name("ga", 10)
        self._manifest["short_link"] = str(link)
        atomic_write.write_json(self.path / MANIFEST, self._manifest, mode=0o600)
        link.symlink_to(self.path, target_is_directory=True)
        return link


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
        world_id, _ = _new_folder(self.path, "w", 6)
        world = WorldDir(self, world_id, runner_key, facts)
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

    def _forget(self, world: WorldDir) -> None:
        self._worlds.pop(world.id, None)

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
