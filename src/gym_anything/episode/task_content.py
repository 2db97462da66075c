"""What a task consists of, as one digest: a checkpoint made after its set-up must not outlive a change of it."""

from __future__ import annotations

import json

from gym_anything._util.digest import sha256_bytes, sha256_tree
from gym_anything.episode.session import Session


def task_content_digest(session: Session) -> str | None:
    """Return a digest of the task's spec and of the files in its folder; None without a task."""
    if session.task_spec is None:
        return None
    spec = json.dumps(session.task_spec.to_dict(), sort_keys=True, default=str)
    root = session.task_root
    files = sha256_tree(root) if root is not None and root.is_dir() else ""
    return sha256_bytes(f"{spec}\n{files}".encode())
