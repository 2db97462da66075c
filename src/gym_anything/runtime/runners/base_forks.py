"""The fork part of the runner contract: running worlds that branch into several."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from gym_anything.runtime.runners.base_checkpoints import CheckpointAccess

if TYPE_CHECKING:
    from gym_anything.errors import UnsupportedFeature


class BranchPoint(Protocol):
    """A moment of a running world, kept so that other worlds can start from it. Opaque to core.

    Its files and memory go once it was released *and* no world that started from it is left; after ``kill -9`` of their
    owner, with the next ``gym-anything cache gc``.
    """

    def release(self) -> None:
        """Give up starting further worlds from it. Idempotent, any thread; the worlds that started go on."""
        ...


class ForkAccess(CheckpointAccess):
    """Forks, in two steps: the source notes its present moment, then new runners of its kind start from there.

    The episode calls ``branch`` of the source once, then ``start_from_branch`` of any number of new siblings
    (``new_sibling``), several at a time from threads of their own, then ``release`` of the point. Nothing is held
    pressed meanwhile: core releases the source's keys and buttons before.
    """

    def supports_fork(self) -> bool:
        """Tell whether ``branch`` works for this world. Called: in every state."""
        return False

    def why_no_fork(self) -> str:
        """Return why ``supports_fork`` says no, as the end of a sentence. The default knows no more than that."""
        return "a running world of this kind cannot be copied"

    def branch(self) -> BranchPoint:
        """Note the present moment: programs, memory, files, screen. The world goes on when this returns.

        Called: READY. Blocks: the world stands still for a part of it, half a second at most for an ordinary one.
        Raises: UnsupportedFeature; WorldError kinds, after which the world goes on and nothing of the point is left.
        """
        raise self.no_fork()

    def start_from_branch(self, point: BranchPoint, seed: int | None = None) -> None:
        """Come up where another world of this class and spec was; like ``start`` in all else.

        The world is one of its own: what is done in it is seen by no other one, it shares no address, port or secret
        random numbers with one, its clock is right, and it outlives the source.
        """
        raise self.no_fork()

    def no_fork(self) -> UnsupportedFeature:
        """Build the error of a world that cannot branch (to be raised by the caller): why, and what to do instead."""
        return self.unsupported("fork", self.why_no_fork(), _INSTEAD[self.supports_checkpoint_caching()])


_INSTEAD = {
    True: "Reset several environments with use_cache=True, cache_level='post_task': they begin in one state, before "
    "the first step",
    False: "Reset several environments with one seed and repeat the steps",
}
