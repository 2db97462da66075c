"""The Docker runner: a desktop in a container of the engine on this host."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gym_anything._util.state_dir import Run
from gym_anything.runtime.container.runner import ContainerRunner
from gym_anything.runtime.runners.docker import egress, facts, runtimes
from gym_anything.runtime.runners.docker.bring_up import Blueprint, bring_up
from gym_anything.runtime.runners.docker.checkpoint import DockerCheckpoints, checkpoint_root, remove_checkpoint
from gym_anything.runtime.runners.docker.launch import DockerWorld
from gym_anything.runtime.runners.docker.options import DockerOptions, option_errors
from gym_anything.runtime.runners.docker.promises import unenforced
from gym_anything.runtime.runners.docker.vendor import Engine
from gym_anything.specs.env_spec import EnvSpec


class DockerRunner(ContainerRunner[DockerWorld]):
    """One desktop in a container: Xvnc, window manager, panel and programs of its image.

    Its init is our ``ga-guest``, reached through a socket in a private folder that the container shares with this
    process; frames come through shared memory, input through a socket, as in a local world.
    """

    KEY = "docker"
    NOTE = "a container of the Docker engine on this host"
    NOUN = "a Docker world"

    def __init__(self, spec: EnvSpec) -> None:
        super().__init__(spec)
        self._world: DockerWorld | None = None
        self._plan: Blueprint | None = None
        self._checkpoints: DockerCheckpoints = DockerCheckpoints(spec, self.volatile_option_paths())

    # --- facts ---------------------------------------------------------------------------------------------------

    @classmethod
    def doctor_status(cls) -> dict[str, Any]:
        return facts.status()

    @classmethod
    def unenforced_fields(cls, spec: EnvSpec) -> list[tuple[str, str]]:
        return unenforced(spec)

    @classmethod
    def cache_components(cls) -> list[dict[str, Any]]:
        row = {"name": cls.KEY, "category": "checkpoints", "paths": [str(checkpoint_root())]}
        hands = {"collector": facts.orphans_in_engine, "removal": remove_checkpoint}
        return [{**row, "desc": "images that worlds were saved as, in the engine", **hands}]

    @classmethod
    def install_plan(cls) -> list[dict[str, str]]:
        return facts.install_steps()

    @classmethod
    def platform_priority(cls) -> int:
        return 40

    @classmethod
    def autodetect_eligible(cls, spec: EnvSpec | None = None) -> bool:
        return facts.eligible(spec)

    @classmethod
    def ineligible_reason(cls, spec: EnvSpec) -> str:
        return "it is chosen for a spec with an image or a dockerfile; name it to use it for others"

    @classmethod
    def validate_options(cls, spec: EnvSpec) -> list[str]:
        return [*option_errors(spec.runner_options), *egress.misfits(spec), *runtimes.misfits(spec)]

    # --- life ----------------------------------------------------------------------------------------------------

    def _bring_up(self) -> None:
        options = DockerOptions.model_validate(dict(self.spec.runner_options))
        engine = Engine.connect()
        place, systemd = Run.current().new_world(self.KEY, env=self.spec.id), self.spec.security.use_systemd
        self._world = DockerWorld(place, engine, has_systemd=systemd)
        self.abort_signal.check("start")
        self._plan = Blueprint(self.spec, options, image=self._checkpoints.image)
        bring_up(self._world, self._plan, self.report)

    # --- checkpoints ---------------------------------------------------------------------------------------------

    def checkpoint_exists(self) -> bool:
        with self._engine() as engine:
            return self._checkpoints.exists(engine)

    def delete_checkpoint(self) -> bool:
        with self._engine() as engine:
            return self._checkpoints.delete(engine)

    def _use_checkpoint(self) -> None:
        with self._engine() as engine:
            self._checkpoints.use(engine)

    def _save(self, world: DockerWorld) -> None:
        self._checkpoints.make(world.engine, world.name, world.place.label)

    def _bring_up_again(self, world: DockerWorld) -> None:
        assert self._plan is not None
        bring_up(world, self._plan, self.report, again=True)

    @contextmanager
    def _engine(self) -> Iterator[Engine]:
        """Connect to the engine for a question."""
        engine = Engine.connect()
        try:
            yield engine
        finally:
            engine.close()
