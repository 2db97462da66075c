"""What runners of worlds in containers have in common: what they can do, and the life cycle around one world."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Generic, Protocol, TypeVar

from gym_anything._util.deadline import Deadline
from gym_anything._util.sheltered_call import sheltered
from gym_anything.errors import CheckpointError, CheckpointUnsupported, StateError
from gym_anything.runtime.checkpoints.levels import CheckpointName
from gym_anything.runtime.container.facts import compatibility_of
from gym_anything.runtime.container.session import needs_desktop
from gym_anything.runtime.container.world import ContainerWorld
from gym_anything.runtime.runners.compatibility import RunnerCompatibility
from gym_anything.runtime.runners.desktop_senses import DesktopSenses
from gym_anything.runtime.runners.runtime_info import RuntimeInfo

W = TypeVar("W", bound=ContainerWorld)
_FLUSH_S = 3.0
"""How long programs may take to end by themselves before a checkpoint, so that they write what they still hold."""


class Checkpoints(Protocol):
    """The checkpoints of one runner: which one is meant, which one its world was made from."""

    def choose(self, name: CheckpointName, task_digest: str | None) -> None:
        """Decide which checkpoint is meant from now on."""
        ...

    def release(self) -> None:
        """Give up the base; the world that was made from it is gone."""
        ...


class ContainerRunner(DesktopSenses, Generic[W]):
    """One desktop in a container. A subclass says how its world is made, saved and found again."""

    KEY: ClassVar[str]
    """The runner's key, which is its name, too."""
    NOUN: ClassVar[str]
    """What people call such a world: ``a Docker world``."""
    NOTE: ClassVar[str]
    """What it is, for the table of runners."""
    _world: W | None
    _checkpoints: Checkpoints

    # --- facts ---------------------------------------------------------------------------------------------------

    @classmethod
    def runner_name(cls) -> str:
        return cls.KEY

    @classmethod
    def compatibility(cls) -> RunnerCompatibility:
        return compatibility_of(cls.KEY, cls.NOTE)

    def supports_checkpoint_caching(self) -> bool:
        return True

    def why_no_fork(self) -> str:
        return "the programs of a container are processes of this host, which nothing can copy while they run"

    def has_screen(self) -> bool:
        return needs_desktop(self.spec)

    # --- life ----------------------------------------------------------------------------------------------------

    @abstractmethod
    def _bring_up(self) -> None:
        """Make the world from the chosen base and bring it up; ``_world`` is set before anything of it exists."""

    def start(self, seed: int | None = None) -> None:
        self._check_stopped("start")
        self._checkpoints.release()
        self._sheltered_start()

    def stop(self) -> None:
        world, self._world = self._world, None
        if world is not None:
            world.stop(self.spec.security.stop_timeout)
            self._checkpoints.release()

    def abort(self) -> None:
        super().abort()
        self._give_up()

    def get_runtime_info(self) -> RuntimeInfo:
        world = self._world
        door = world.door if world is not None else None
        return RuntimeInfo(
            runner_name=self.KEY,
            platform_family="linux",
            container_name=None if world is None else world.name,
            instance_name=None if world is None else world.place.id,
            vnc_port=None if door is None else door.port,
            vnc_url=None if door is None else door.url,
            vnc_password=None if door is None else door.password,
        )

    def memory_mib(self) -> float | None:
        world = self._world
        return None if world is None else world.memory_mib()

    def _give_up(self) -> None:
        """End what the present world is doing; unlike ``abort`` a later start may still succeed."""
        world = self._world
        if world is not None:
            world.abort()

    def _check_stopped(self, doing: str) -> None:
        self.abort_signal.check(doing)
        if self._world is not None:
            raise StateError(f"{doing}: this world runs already; stop it first")

    def _running(self, doing: str) -> W:
        self.abort_signal.check(doing)
        if self._world is None:
            raise StateError(f"{doing}: the world is not started")
        return self._world

    def _sheltered_start(self) -> None:
        sheltered(self._bring_up, give_up=self._give_up, name=f"{self.KEY}-start")

    # --- checkpoints ---------------------------------------------------------------------------------------------

    @abstractmethod
    def _use_checkpoint(self) -> None:
        """Take the chosen checkpoint as the base of the next world. Raises: CheckpointMissing, CheckpointStale."""

    @abstractmethod
    def _save(self, world: W) -> None:
        """Keep what the world, which was shut down, has written, as the base of the next. Raises: CheckpointError."""

    @abstractmethod
    def _bring_up_again(self, world: W) -> None:
        """Bring a world up that was shut down and could not be saved."""

    def _check_savable(self) -> None:
        """Raise what is found to be in the way of a checkpoint before the world is shut down for it."""

    def set_checkpoint_key(self, cache_level: str, task_id: str | None = None, use_savevm: bool = False) -> None:
        if use_savevm:
            raise CheckpointUnsupported(
                f"{self.NOUN} keeps its disk, not its memory; use use_cache without use_savevm",
                detail={"feature": "use_savevm"},
            )
        digest = self.episode_context.get("task_digest")
        self._checkpoints.choose(CheckpointName.checked(cache_level, task_id), None if digest is None else str(digest))

    def create_checkpoint(self) -> bool:
        sheltered(self._create_checkpoint, give_up=self._give_up, name=f"{self.KEY}-checkpoint")
        return True

    def start_from_checkpoint(self, seed: int | None = None) -> bool:
        self._check_stopped("start_from_checkpoint")
        self._use_checkpoint()
        self._sheltered_start()
        return True

    def _create_checkpoint(self) -> None:
        world = self._running("create_checkpoint")
        self._check_savable()
        world.shut_down(_FLUSH_S, Deadline.after(_FLUSH_S + 10))
        try:
            self._save(world)
        except CheckpointError:
            self._bring_up_again(world)
            raise
        self._world = None
        world.stop()
        self._bring_up()
