"""The compatibility row: what a kind of world can do, as its runner class declares it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gym_anything.runtime.runners.base_facts import RunnerFacts


@dataclass(frozen=True, slots=True)
class RunnerCompatibility:
    """One row of ``gym-anything compatibility``.

    ``None`` in an ability means "it depends on the spec; ask an instance". ``platforms`` are the guest families
    (``linux``, ``windows``, ``android``, ``macos``, or the runner's own word); empty means that the class does not say.
    """

    runner: str
    platforms: tuple[str, ...] = ()
    fast_io: bool | None = False
    checkpoint_caching: bool | None = False
    savevm: bool | None = False
    fork: bool | None = False
    live_recording: bool | None = False
    time_control: bool | None = False
    acks_input_delivery: bool | None = False
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data (tuples become lists)."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}

    @classmethod
    def derived(cls, runner_class: type[RunnerFacts]) -> RunnerCompatibility:
        """Return the row that follows from what a runner class overrides (see ``RunnerFacts.compatibility``)."""

        def ability(method: str) -> bool | None:
            return None if runner_class.overrides([method]) else False

        return cls(
            runner=runner_class.runner_name(),
            fast_io=ability("supports_fast_io"),
            checkpoint_caching=ability("supports_checkpoint_caching"),
            savevm=ability("supports_savevm"),
            fork=ability("supports_fork"),
            live_recording=ability("supports_live_recording"),
            time_control=ability("supports_time_control"),
            acks_input_delivery=ability("acks_input_delivery"),
        )

    def with_row(self, row: Mapping[str, Any]) -> RunnerCompatibility:
        """Return this row with a runner's own dict laid over it; keys we do not know become notes, never lost."""
        own = {"runner", "platforms", "notes"}
        abilities = {key: value for key, value in row.items() if key in self.__dataclass_fields__ and key not in own}
        unknown = tuple(f"{key}: {value}" for key, value in row.items() if key not in self.__dataclass_fields__)
        return replace(
            self,
            runner=str(row.get("runner") or self.runner),
            platforms=tuple(str(platform) for platform in row.get("platforms") or self.platforms),
            notes=tuple(str(note) for note in row.get("notes") or ()) + unknown,
            **abilities,
        )
