"""What a runner says about a spec before anything is started: wrong options, promises it cannot keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gym_anything.errors import SpecInvalid

if TYPE_CHECKING:
    from gym_anything.runtime.runners.base import BaseRunner
    from gym_anything.specs.env_spec import EnvSpec


@dataclass(frozen=True, slots=True)
class UnenforcedField:
    """One field of a spec that the chosen runner cannot enforce, and why."""

    field: str
    runner: str
    reason: str

    def __str__(self) -> str:
        return f"{self.field} is not enforced by {self.runner}: {self.reason}"


@dataclass(frozen=True, slots=True)
class SpecCheck:
    """A runner's answer to a spec: errors forbid a start, unenforced fields are reported and the start goes on."""

    runner: str
    errors: tuple[str, ...]
    unenforced: tuple[UnenforcedField, ...]

    def raise_for_errors(self) -> None:
        """Raise ``SpecInvalid`` if there is any error."""
        if self.errors:
            raise SpecInvalid(
                f"runner {self.runner!r} cannot run this spec: " + "; ".join(self.errors),
                detail={"key": "runner_options", "runner": self.runner, "errors": list(self.errors)},
            )


def check_spec(name: str, cls: type[BaseRunner], spec: EnvSpec) -> SpecCheck:
    """Ask a runner class about a spec. ``name`` is the key or locator the user wrote.

    A class whose own check raises is reported as one error that says so: a spec nobody could check is not "fine".
    """
    try:
        errors = tuple(str(error) for error in cls.validate_options(spec) or ())
    except Exception as error:  # noqa: BLE001 - the boundary to foreign code
        errors = (f"its validate_options() failed: {type(error).__name__}: {error}",)
    try:
        fields = tuple(UnenforcedField(str(f), name, str(why)) for f, why in cls.unenforced_fields(spec) or ())
    except Exception as error:  # noqa: BLE001 - the boundary to foreign code
        errors += (f"its unenforced_fields() failed: {type(error).__name__}: {error}",)
        fields = ()
    return SpecCheck(name, errors, fields)
