"""The fake world's checkpoints: kept in this process's memory, keyed by content."""

from __future__ import annotations

import copy
import hashlib
import json
import threading
from dataclasses import dataclass

from gym_anything.errors import CheckpointMissing, CheckpointUnsupported, StateError
from gym_anything.runtime.runners.checkpoint_options import without_volatile
from gym_anything.testing.fakes.core import FakeCore
from gym_anything.testing.fakes.files import GuestFiles
from gym_anything.testing.fakes.screen import FakeScreen

LEVELS = ("pre_start", "post_start", "post_task")


@dataclass(frozen=True, slots=True)
class _Kept:
    """What lies under a key: the disk, and for a memory checkpoint the rest."""

    files: GuestFiles
    screen: FakeScreen | None
    typed: str


_KEPT: dict[str, _Kept] = {}
_GUARD = threading.Lock()


def forget_checkpoints() -> None:
    """Delete all fake checkpoints of this process."""
    with _GUARD:
        _KEPT.clear()


class FakeCheckpoints(FakeCore):
    """Checkpoints of a fake world."""

    _key: str | None = None
    _with_memory = False

    def supports_checkpoint_caching(self) -> bool:
        """Disk checkpoints work."""
        return True

    def supports_savevm(self) -> bool:
        """Memory checkpoints work."""
        return True

    def set_checkpoint_key(self, cache_level: str, task_id: str | None = None, use_savevm: bool = False) -> None:
        """See ``CheckpointAccess.set_checkpoint_key``."""
        if cache_level not in LEVELS:
            raise CheckpointUnsupported(f"no checkpoint level {cache_level!r}; there are {', '.join(LEVELS)}")
        if cache_level == "post_task" and not task_id:
            raise CheckpointUnsupported("a post_task checkpoint belongs to a task; give its task_id")
        facts = {
            "spec": without_volatile(type(self), self.spec.to_dict()),
            "level": cache_level,
            "task": task_id if cache_level == "post_task" else None,
            "memory": use_savevm,
            "world": type(self).__qualname__,
        }
        self._key = hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()
        self._with_memory = use_savevm

    def checkpoint_exists(self) -> bool:
        """See ``CheckpointAccess.checkpoint_exists``."""
        return self._key in _KEPT

    def create_checkpoint(self) -> bool:
        """Keep the disk; without memory the world is then restarted from it, so that first and later runs agree."""
        self.require_ready("create_checkpoint")
        screen, typed = (copy.deepcopy(self.screen), self.typed) if self._with_memory else (None, "")
        kept = _Kept(self.files.snapshot(), screen, typed)
        with _GUARD:
            _KEPT[self._required_key()] = kept
        if not self._with_memory:
            self._take(kept)
        return True

    def start_from_checkpoint(self, seed: int | None = None) -> bool:
        """See ``CheckpointAccess.start_from_checkpoint``."""
        with _GUARD:
            kept = _KEPT.get(self._required_key())
        if kept is None:
            raise CheckpointMissing("there is no checkpoint under this key", detail={"key": self._key})
        self._begin(seed)
        self.boot()
        self._take(kept)
        self._become_ready()
        return True

    def delete_checkpoint(self) -> bool:
        """See ``CheckpointAccess.delete_checkpoint``."""
        with _GUARD:
            return _KEPT.pop(self._required_key(), None) is not None

    def _take(self, kept: _Kept) -> None:
        """Become what was kept; a screen that was not kept is drawn anew, as after a boot."""
        self.files = kept.files.snapshot()
        self.typed, self.held = kept.typed, set()
        size = (self.screen.width, self.screen.height)
        self.screen = copy.deepcopy(kept.screen) if kept.screen else FakeScreen(size, self.seed)

    def _required_key(self) -> str:
        if self._key is None:
            raise StateError("call set_checkpoint_key first")
        return self._key
