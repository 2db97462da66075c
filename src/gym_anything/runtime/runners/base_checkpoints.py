"""The checkpoint part of the runner contract: worlds that are restored instead of started."""

from __future__ import annotations

from gym_anything.errors import CheckpointUnsupported
from gym_anything.runtime.runners.base_facts import RunnerFacts


class CheckpointAccess(RunnerFacts):
    """Checkpoints at three levels: after ``pre_start``, ``post_start`` and (per task) ``post_task``.

    The episode calls, in this order: ``set_checkpoint_key``, ``checkpoint_exists``, then either
    ``start_from_checkpoint`` (and skips what came before that level), or ``start``, the hooks, ``create_checkpoint``.

    A key covers the *content* of everything that shaped the world up to its level (spec, hook scripts, mounted
    read-only files, image, versions), no absolute path, no secret, and nothing named by ``volatile_option_paths()``.
    """

    def supports_checkpoint_caching(self) -> bool:
        """Tell whether disk checkpoints (``use_cache=True``) work."""
        return False

    def supports_savevm(self) -> bool:
        """Tell whether memory checkpoints (``use_savevm=True``) work."""
        return False

    def set_checkpoint_key(self, cache_level: str, task_id: str | None = None, use_savevm: bool = False) -> None:
        """Name the checkpoint the next calls are about. Called: in every state; starts nothing.

        Args:
            cache_level: ``pre_start``, ``post_start`` or ``post_task``.
            task_id: needed for ``post_task``.
            use_savevm: with the processes and memory of the world, not its disk alone.
        Raises: CheckpointUnsupported for a level or kind this runner does not make.
        """
        raise self._no_checkpoints()

    def checkpoint_exists(self) -> bool:
        """Tell whether a usable checkpoint lies under the key; another process may have made it."""
        return False

    def create_checkpoint(self) -> bool:
        """Save the running world under the key; READY again when it returns.

        A disk checkpoint holds no processes, so the runner restarts the world from what it saved: the first run and
        every restored one then agree. One creator per key across processes: others wait and reuse.

        Returns: True. (Older runners return False on failure; core treats that as CheckpointError.)
        Raises: CheckpointError; the world is still usable then, and nothing half-made lies under the key.
        """
        raise self._no_checkpoints()

    def start_from_checkpoint(self, seed: int | None = None) -> bool:
        """Bring the world up from the checkpoint under the key; like ``start`` in all else.

        Returns: True. (Older runners return False on failure; core treats that as CheckpointMissing.)
        Raises: CheckpointMissing, CheckpointStale (naming the difference), and what ``start`` raises.
        """
        raise self._no_checkpoints()

    def delete_checkpoint(self) -> bool:
        """Delete what lies under the key; False when there was nothing.

        Called: in every state. Raises: CheckpointLocked while another world is made from it or runs on it.
        """
        raise self._no_checkpoints()

    def _no_checkpoints(self) -> CheckpointUnsupported:
        return CheckpointUnsupported(
            f"{self.runner_name()} makes no checkpoints; run without use_cache and use_savevm",
            detail={"feature": "checkpoints"},
        )
