"""Where a started pool is found: a folder in the state folder that tells of it, with its socket and its token.

The folder is one of the pool process's run, as a world's is: gone when the process ends, collected by ``cache gc`` when
it was killed. Its manifest tells everything but the tokens, which lie beside it, readable by their owner only.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gym_anything._util import atomic_write
from gym_anything._util.deadline import Deadline
from gym_anything._util.labels import Owner
from gym_anything._util.locks import FileLock
from gym_anything._util.state_dir import MANIFEST, Run, state_root
from gym_anything._util.world_dir import WorldDir
from gym_anything.errors import PoolError, SettingInvalid, StateError

KIND = "pool"
_TOKEN, _METRICS_TOKEN, _SOCKET, _LOCK = "token", "metrics-token", "control", "pools.lock"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,40}")
_LOCK_S = 10.0


class NoSuchPool(PoolError, LookupError):
    """No pool of this name runs here; the message lists those that do."""

    code = "no-such-pool"
    blame = "caller"


@dataclass(frozen=True, slots=True)
class PoolEntry:
    """A started pool, as its folder tells of it.

    Attributes:
        name: given by who started it. path: its folder. run: the run of its process. owner: that process.
        facts: the rest of its manifest: ``environment``, ``world_runner``, ``least``, ``most``, ``log`` …
    """

    name: str
    path: Path
    run: str
    owner: Owner
    socket: Path
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def pid(self) -> int:
        """The pool's process."""
        return self.owner.pid

    @property
    def token(self) -> str:
        """What its control socket wants to hear. Raises: StateError when the pool has ended, or is somebody else's."""
        try:
            return (self.path / _TOKEN).read_text(encoding="ascii")
        except OSError as error:
            raise StateError(f"pool {self.name} cannot be asked: {error.strerror}: {self.path / _TOKEN}") from error


class PoolFolder:
    """The folder of the pool that this process is. Made before the pool, removed after it."""

    def __init__(self, place: WorldDir, name: str) -> None:
        """Use ``claim``."""
        self.name = name
        self._place = place
        self.path = place.path
        self.token = secrets.token_urlsafe(32)
        self.metrics_token = secrets.token_urlsafe(32)
        self.metrics_token_file = place.path / _METRICS_TOKEN
        self.socket = place.socket_path(_SOCKET)
        for file, text in ((_TOKEN, self.token), (_METRICS_TOKEN, self.metrics_token)):
            atomic_write.write_text(place.path / file, text, mode=0o600)

    @classmethod
    def claim(cls, name: str, facts: Mapping[str, Any]) -> PoolFolder:
        """Take a name for a pool of this process. Raises: SettingInvalid for a bad name, StateError for a taken one."""
        check_name(name)
        root = state_root()
        with FileLock.acquire(root / _LOCK, deadline=Deadline.after(_LOCK_S)):
            for other in _entries(root):
                if other.name == name:
                    raise StateError(f"a pool named {name} runs already (process {other.pid}); give another --name")
            run = Run.current()
            reserved = {"name": name, "pool_owner": str(run.owner), "started_at": time.time()}
            return cls(run.new_world(KIND, **{**facts, **reserved}), name)

    def publish(self, **facts: Any) -> None:
        """Let others find the pool: its socket listens."""
        self._place.update_manifest(**facts, socket=str(self.socket))

    def remove(self) -> None:
        """Nobody finds the pool any more. Idempotent."""
        if self._place in Run.current().worlds:
            self._place.remove()


def check_name(name: str) -> None:
    """Raise SettingInvalid for a name that a pool cannot have."""
    if not _NAME.fullmatch(name):
        raise SettingInvalid(
            f"a pool cannot be named {name!r}: letters, digits and . _ - (not first), at most 41",
            detail={"setting": "name"},
        )


def find_pools() -> list[PoolEntry]:
    """Return the pools of this state folder that can be asked, by name."""
    return [entry for entry in _entries(state_root()) if "socket" in entry.facts]


def find_pool(name: str | None) -> PoolEntry:
    """Return the pool of this name; None: the only one there is. Raises: NoSuchPool."""
    pools = find_pools()
    if name is None and len(pools) == 1:
        return pools[0]
    for entry in pools:
        if entry.name == name:
            return entry
    there = ", ".join(entry.name for entry in pools)
    if name is None and pools:
        raise NoSuchPool(f"several pools run here; name one: {there}", detail={"pools": there})
    what = "no pool runs here" if name is None else f"no pool named {name!r} runs here"
    raise NoSuchPool(f"{what}; " + (f"there are: {there}" if there else "`gym-anything pool start` starts one"))


def _entries(root: Path) -> list[PoolEntry]:
    """Return all pools whose process lives, those too that cannot be asked yet."""
    found = [entry for manifest in root.glob(f"r*/w*/{MANIFEST}") if (entry := _entry(manifest)) is not None]
    return sorted(found, key=lambda entry: entry.name)


def _entry(manifest: Path) -> PoolEntry | None:
    try:
        facts = json.loads(manifest.read_bytes())
    except (OSError, ValueError):
        return None  # it ends at this moment, or is another user's
    if not isinstance(facts, dict) or facts.get("runner") != KIND:
        return None
    owner = Owner.parse(str(facts.get("pool_owner")))
    if owner is None or owner.is_dead():
        return None
    name, socket = str(facts.get("name")), Path(os.fsdecode(facts.get("socket", "")))
    return PoolEntry(name, manifest.parent, str(facts.get("run")), owner, socket, facts)
