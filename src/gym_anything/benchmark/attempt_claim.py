"""Who plays which attempt now: a file in a run's folder, locked for as long as the run is played.

The kernel takes the lock from a process that dies, so what a killed run has claimed is free again at once.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

from gym_anything._util.deadline import Deadline
from gym_anything._util.locks import FileLock

CLAIM_FILE = "claim.lock"
_CLAIMING_FILE = ".claiming.lock"
_LONGEST_CLAIMING_S = 120.0
"""Others of the same task read its results and make a folder meanwhile; never longer."""


@contextlib.contextmanager
def one_claims(task_dir: Path) -> Iterator[None]:
    """Let one process or thread at a time look for a free attempt of a task and claim it.

    Blocks: until the others have done so. Raises: DeadlineExceeded, OSError.
    """
    lock = FileLock.acquire(task_dir / _CLAIMING_FILE, deadline=Deadline.after(_LONGEST_CLAIMING_S))
    try:
        yield
    finally:
        lock.release(remove=True)


def claim(run_dir: Path, seed: int | None, attempt: int) -> FileLock:
    """Claim an attempt for the run of a folder, until the lock is released. Raises: OSError."""
    lock = FileLock.acquire(run_dir / CLAIM_FILE, deadline=Deadline.after(_LONGEST_CLAIMING_S))
    try:
        lock.path.write_text(json.dumps({"seed": seed, "attempt": attempt}), "utf-8")
    except BaseException:
        lock.release(remove=True)
        raise
    return lock


def claimed_attempts(task_dir: Path, seed: int | None) -> set[int]:
    """Return the attempts with this seed that somebody plays now."""
    found = set()
    for file in task_dir.glob(f"run_*/{CLAIM_FILE}"):
        try:
            claimed = json.loads(file.read_bytes())
            if claimed["seed"] == seed and _is_held(file):
                found.add(int(claimed["attempt"]))
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            continue  # it has just ended, or its owner died while writing it
    return found


def _is_held(file: Path) -> bool:
    lock = FileLock.try_acquire(file, shared=True)
    if lock is None:
        return True
    lock.release()
    return False
