"""The Apptainer runner: a desktop in an instance of apptainer on this host."""

from __future__ import annotations

from typing import Any

from gym_anything._util.state_dir import Run
from gym_anything.runtime.apptainer.cache import checkpoint_root, image_root
from gym_anything.runtime.apptainer.orphans import orphaned_instances
from gym_anything.runtime.container.runner import ContainerRunner
from gym_anything.runtime.runners.apptainer import facts
from gym_anything.runtime.runners.apptainer.bring_up import Blueprint, bring_up
from gym_anything.runtime.runners.apptainer.checkpoint import ApptainerCheckpoints
from gym_anything.runtime.runners.apptainer.images import image_of
from gym_anything.runtime.runners.apptainer.launch import ApptainerWorld
from gym_anything.runtime.runners.apptainer.options import ApptainerOptions, option_errors
from gym_anything.runtime.runners.apptainer.promises import unenforced
from gym_anything.specs.env_spec import EnvSpec


class ApptainerRunner(ContainerRunner[ApptainerWorld]):
    """One desktop in an instance: Xvnc, window manager, panel and programs of its image.

    What it writes lies in one overlay folder on this host, which is what a checkpoint keeps. Its programs are reached
    through sockets in a private folder that it shares with this process; frames come through shared memory.
    """

    KEY = "apptainer"
    NOTE = "an instance of apptainer on this host"
    NOUN = "an Apptainer world"

    def __init__(self, spec: EnvSpec) -> None:
        super().__init__(spec)
        self._world: ApptainerWorld | None = None
        self._plan: Blueprint | None = None
        self._checkpoints: ApptainerCheckpoints = ApptainerCheckpoints(spec, self.volatile_option_paths())

    # --- facts ---------------------------------------------------------------------------------------------------

    @classmethod
    def doctor_status(cls) -> dict[str, Any]:
        return facts.status()

    @classmethod
    def unenforced_fields(cls, spec: EnvSpec) -> list[tuple[str, str]]:
        return unenforced(spec)

    @classmethod
    def cache_components(cls) -> list[dict[str, Any]]:
        kept = {"name": cls.KEY, "category": "checkpoints", "paths": [str(checkpoint_root())]}
        images = {"name": cls.KEY, "category": "images", "paths": [str(image_root())]}
        return [
            {**kept, "desc": "overlays of Apptainer worlds", "collector": orphaned_instances},
            {**images, "desc": "images that apptainer has built"},
        ]

    @classmethod
    def install_plan(cls) -> list[dict[str, str]]:
        return facts.install_steps()

    @classmethod
    def platform_priority(cls) -> int:
        return 30

    @classmethod
    def autodetect_eligible(cls, spec: EnvSpec | None = None) -> bool:
        return facts.eligible(spec)

    @classmethod
    def ineligible_reason(cls, spec: EnvSpec) -> str:
        return "it is chosen for a spec with an apptainer section; name it to use it for others"

    @classmethod
    def validate_options(cls, spec: EnvSpec) -> list[str]:
        return option_errors(spec.runner_options)

    # --- life ----------------------------------------------------------------------------------------------------

    def _bring_up(self) -> None:
        options = ApptainerOptions.model_validate(dict(self.spec.runner_options))
        self._plan = Blueprint(self.spec, options, image_of(self.spec), self._checkpoints.layers())
        self._world = ApptainerWorld(Run.current().new_world(self.KEY, env=self.spec.id))
        self.abort_signal.check("start")
        bring_up(self._world, self._plan, self.report)

    # --- checkpoints ---------------------------------------------------------------------------------------------

    def checkpoint_exists(self) -> bool:
        return self._checkpoints.exists()

    def delete_checkpoint(self) -> bool:
        """See the contract; while a world lies on it nobody finds it any more, and its files go with that world."""
        return self._checkpoints.delete()

    def _use_checkpoint(self) -> None:
        self._checkpoints.use()

    def _check_savable(self) -> None:
        self._checkpoints.material()  # what is missing is found before anything ends
        self._checkpoints.check_base()

    def _save(self, world: ApptainerWorld) -> None:
        self._checkpoints.make(world.overlay)

    def _bring_up_again(self, world: ApptainerWorld) -> None:
        assert self._plan is not None
        bring_up(world, self._plan, self.report)
