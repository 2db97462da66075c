"""The local runner: a private Debian desktop on this machine, in a sandbox of our own."""

from __future__ import annotations

from typing import Any

from gym_anything._util import proc
from gym_anything._util.deadline import Deadline
from gym_anything._util.sheltered_call import sheltered
from gym_anything._util.state_dir import Run
from gym_anything.errors import (
    CheckpointError,
    CheckpointUnsupported,
    StateError,
)
from gym_anything.runtime.checkpoints.levels import CheckpointName
from gym_anything.runtime.limits import orphaned_groups
from gym_anything.runtime.runners.compatibility import RunnerCompatibility
from gym_anything.runtime.runners.local import facts, view
from gym_anything.runtime.runners.local.bring_up import Blueprint, bring_up
from gym_anything.runtime.runners.local.checkpoint import LocalCheckpoints, WorldFiles, checkpoint_root
from gym_anything.runtime.runners.local.launch import LocalWorld
from gym_anything.runtime.runners.local.misfits import misfits
from gym_anything.runtime.runners.local.mounts import copy_shared_out, decide_mounts
from gym_anything.runtime.runners.local.options import LocalOptions, option_errors
from gym_anything.runtime.runners.local.promises import unenforced
from gym_anything.runtime.runners.local.sandbox import identity
from gym_anything.runtime.runners.local.senses import LocalSenses
from gym_anything.runtime.runners.runtime_info import RuntimeInfo
from gym_anything.specs.env_spec import EnvSpec

KEY = "local"
_FLUSH_S = 3.0
"""How long programs may take to end by themselves before a checkpoint, so that they write what they still hold."""


class LocalRunner(LocalSenses):
    """One desktop on this machine: Xvnc, window manager, panel and programs of this host in a sandbox.

    The sandbox shows ``/usr`` and the harmless part of ``/etc`` read-only and nothing else of the host; everything the
    world writes lies in one overlay, which is what a checkpoint keeps.
    """

    def __init__(self, spec: EnvSpec) -> None:
        super().__init__(spec)
        self._world: LocalWorld | None = None
        self._plan: Blueprint | None = None
        self._checkpoints = LocalCheckpoints(spec, self.volatile_option_paths())

    # --- facts ---------------------------------------------------------------------------------------------------

    @classmethod
    def runner_name(cls) -> str:
        return KEY

    @classmethod
    def doctor_status(cls) -> dict[str, Any]:
        return facts.status()

    @classmethod
    def unenforced_fields(cls, spec: EnvSpec) -> list[tuple[str, str]]:
        return unenforced(spec)

    @classmethod
    def cache_components(cls) -> list[dict[str, Any]]:
        row = {"name": KEY, "category": "checkpoints", "paths": [str(checkpoint_root())]}
        return [{**row, "desc": "layers of local worlds", "collector": orphaned_groups}]

    @classmethod
    def compatibility(cls) -> RunnerCompatibility:
        return facts.compatibility_row(KEY)

    @classmethod
    def install_plan(cls) -> list[dict[str, str]]:
        return facts.install_steps()

    @classmethod
    def platform_priority(cls) -> int:
        return 50

    @classmethod
    def autodetect_eligible(cls, spec: EnvSpec | None = None) -> bool:
        return facts.eligible(spec)

    @classmethod
    def validate_options(cls, spec: EnvSpec) -> list[str]:
        return [*option_errors(spec.runner_options), *misfits(spec)]

    def supports_checkpoint_caching(self) -> bool:
        return bool(self.spec.runner_options.get("sandbox", True))

    def why_no_fork(self) -> str:
        return "the programs of a local world are processes of this host, which nothing can copy while they run"

    # --- life ----------------------------------------------------------------------------------------------------

    def start(self, seed: int | None = None) -> None:
        self._check_stopped("start")
        self._checkpoints.release()
        sheltered(self._bring_up, give_up=self._give_up, name="local-start")

    def stop(self) -> None:
        world, self._world = self._world, None
        if world is None:
            return
        try:
            self._copy_shared_out(world)
        finally:
            world.stop()
            self._checkpoints.release()

    def abort(self) -> None:
        super().abort()
        self._give_up()

    def memory_mib(self) -> float | None:
        world = self._world
        if world is None or not world.alive:
            return None
        kib = sum(proc.pss_kib(pid) for pid in [world.init_pid, *proc.descendants(world.init_pid)])
        return kib / 1024 if kib else None  # nothing: the kernel does not let us look

    def _give_up(self) -> None:
        """End what the present world is doing; unlike ``abort`` a later start may still succeed."""
        world = self._world
        if world is not None:
            world.abort()

    def get_runtime_info(self) -> RuntimeInfo:
        world = self._world
        name = world.place.id if world is not None else None
        door = world.door if world is not None else None
        return RuntimeInfo(
            runner_name=KEY,
            platform_family="linux",
            container_name=name,
            instance_name=name,
            vnc_port=None if door is None else door.port,
            vnc_url=None if door is None else door.url,
            vnc_password=None if door is None else door.password,
        )

    def _bring_up(self) -> None:
        """Make a new world on the layers of the chosen base, if any."""
        options = LocalOptions.model_validate(dict(self.spec.runner_options))
        facts.require_programs(options)
        mounts = decide_mounts(self.spec, ids_are_mapped=identity.kind_of_range() == "root")
        host = view.host_view(self.spec, options)
        self._plan = Blueprint(self.spec, options, host, mounts, view.shortfalls(options, host))
        self._world = LocalWorld(Run.current().new_world(KEY, env=self.spec.id))
        self.abort_signal.check("start")
        bring_up(self._world, self._plan, self._checkpoints.layers(), self.report)

    def _copy_shared_out(self, world: LocalWorld) -> None:
        if self._plan is not None and self._plan.mounts.shared and world.usable and not self.abort_signal.is_set():
            copy_shared_out(world.channel, self._plan.mounts)

    def _check_stopped(self, doing: str) -> None:
        self.abort_signal.check(doing)
        if self._world is not None:
            raise StateError(f"{doing}: this world runs already; stop it first")

    # --- checkpoints ---------------------------------------------------------------------------------------------

    def set_checkpoint_key(self, cache_level: str, task_id: str | None = None, use_savevm: bool = False) -> None:
        if not self.supports_checkpoint_caching():
            raise self._no_checkpoints()
        if use_savevm:
            raise CheckpointUnsupported(
                "a local world keeps its disk, not its memory; use use_cache without use_savevm",
                detail={"feature": "use_savevm"},
            )
        digest = self.episode_context.get("task_digest")
        self._checkpoints.choose(CheckpointName.checked(cache_level, task_id), None if digest is None else str(digest))

    def checkpoint_exists(self) -> bool:
        return self._checkpoints.exists()

    def create_checkpoint(self) -> bool:
        sheltered(self._create_checkpoint, give_up=self._give_up, name="local-checkpoint")
        return True

    def _create_checkpoint(self) -> None:
        world = self._running("create_checkpoint")
        _ = self._checkpoints.material  # what is missing is found before anything ends
        self._checkpoints.check_base()
        self._copy_shared_out(world)
        world.shut_down(_FLUSH_S, Deadline.after(_FLUSH_S + 10))
        world.end_processes()
        files = WorldFiles(world.place.path, int(world.facts["base_uid"]), int(world.facts["id_count"]))
        try:
            self._checkpoints.make(files)
        except CheckpointError:
            assert self._plan is not None
            bring_up(world, self._plan, self._checkpoints.layers(), self.report)
            raise
        self._world = None
        world.stop()
        self._bring_up()

    def delete_checkpoint(self) -> bool:
        """See the contract; while a world lies on it nobody finds it any more, and its files go with that world."""
        return self._checkpoints.delete()

    def start_from_checkpoint(self, seed: int | None = None) -> bool:
        self._check_stopped("start_from_checkpoint")
        self._checkpoints.use()
        sheltered(self._bring_up, give_up=self._give_up, name="local-start")
        return True

    def _running(self, doing: str) -> LocalWorld:
        self.abort_signal.check(doing)
        if self._world is None:
            raise StateError(f"{doing}: the world is not started")
        return self._world
