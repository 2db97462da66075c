"""The facts part of the runner contract: what a runner class says about itself before any world exists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from inspect import getattr_static
from typing import TYPE_CHECKING, Any

from gym_anything.errors import ActionUnsupported, UnsupportedFeature
from gym_anything.runtime.runners.compatibility import RunnerCompatibility
from gym_anything.runtime.runners.spec_promises import declared_promises

if TYPE_CHECKING:
    from gym_anything.specs.env_spec import EnvSpec


class RunnerFacts:
    """Class methods asked by ``doctor``, ``validate``, ``compatibility``, ``cache`` and the choice of a runner.

    They must be cheap (doctor has six seconds for everybody), start no world, need no extra installed, and raise
    nothing: what cannot be found out is said in words.
    """

    @classmethod
    def runner_name(cls) -> str:
        """Return the name for people; the key it was registered under is the registry's business."""
        return cls.__name__

    @classmethod
    def doctor_status(cls) -> dict[str, Any]:
        """Try what a world of this kind needs from the host.

        Returns: ``{"available": bool, "reason": str | None, "deps": {name: {"ok": bool, "detail": str, "fix": str}}}``;
            ``reason`` says why not, ``fix`` is a command line. The default knows of no needs.
        """
        return {"available": True, "reason": None, "deps": {}}

    @classmethod
    def compatibility(cls) -> RunnerCompatibility | Mapping[str, Any]:
        """Return what this kind of world can do; a dict with the same keys is as good.

        The default derives it: an ability whose method was not overridden is False, an overridden one is None ("it
        depends on the spec").
        """
        return RunnerCompatibility.derived(cls)

    @classmethod
    def install_plan(cls) -> Any:
        """Return what to install on this host: a list of ``{"title", "command"}`` steps; None when nothing is known."""
        return None

    @classmethod
    def cache_components(cls) -> list[dict[str, Any]]:
        """Return what this runner keeps on disk: rows ``{"name", "category", "paths", "desc"}`` for ``cache list``."""
        return []

    @classmethod
    def platform_priority(cls) -> int:
        """Return how much this runner wants to be chosen on this host; 0 means never by itself, 100 is the most."""
        return 0

    @classmethod
    def autodetect_eligible(cls, spec: EnvSpec | None = None) -> bool:
        """Tell whether detection may choose this runner for ``spec``; None asks "for any spec at all"."""
        return True

    @classmethod
    def ineligible_reason(cls, spec: EnvSpec) -> str:
        """Return, in words for an error message, why ``autodetect_eligible`` said no for this spec."""
        return "it is not made for this spec"

    @classmethod
    def conformance_profile(cls) -> str:
        """Return which checks of the conformance suite are *required* rather than derived.

        ``"auto"`` (default): checked is what the class overrides and the spec declares. ``"desktop"``: screen, pointer
        and keyboard must be there. ``"desktop_linux"``: also shell, files and hooks. Any other word is the runner's
        own and counts as ``"auto"``.
        """
        return "auto"

    @classmethod
    def known_conformance_failures(cls) -> Mapping[str, str]:
        """Return ``{test name: reason}`` of checks known to fail; one that passes nevertheless is a failure."""
        return {}

    @classmethod
    def validate_options(cls, spec: EnvSpec) -> list[str]:
        """Return what is wrong with ``spec.runner_options``, one sentence each; ``[]`` when all is well.

        Also the place to say what else in the spec no world of this runner can be (a mount onto its ``/etc``). Asked
        at spec load, long before a boot. Say "did you mean" for near misses. The default accepts everything, since
        core treats the options as opaque.
        """
        return []

    @classmethod
    def volatile_option_paths(cls) -> tuple[str, ...]:
        """Return dotted paths inside ``runner_options`` that belong to one episode (a network id, a reservation).

        They never enter a checkpoint key; a restore applies the present value. ``("service_network.id",)``.
        """
        return ()

    @classmethod
    def unenforced_fields(cls, spec: EnvSpec) -> list[tuple[str, str]]:
        """Return ``(dotted field, reason)`` for everything the spec asks for that this runner cannot enforce.

        Reported when the spec is loaded. The default, for a class that does not say: every promise the spec makes
        *explicitly* (``security.network_allowlist``, ``resources.*``, ``mounts``, ``user_accounts`` …).
        """
        reason = f"{cls.runner_name()} does not declare whether it enforces this"
        return [(field, reason) for field in declared_promises(spec)]

    @classmethod
    def unsupported(cls, feature: str, reason: str, fix: str = "") -> UnsupportedFeature:
        """Build the error for something this runner cannot do (to be raised by the caller)."""
        message = f"{cls.runner_name()} does not support {feature}: {reason}" + (f". {fix}" if fix else "")
        return UnsupportedFeature(message, detail={"feature": feature, "reason": reason, "fix": fix})

    @classmethod
    def unsupported_action(cls, action: Mapping[str, Any]) -> ActionUnsupported:
        """Build the error for an action this world cannot do (to be raised by ``inject_action``)."""
        return ActionUnsupported(
            f"{cls.runner_name()} cannot do the action {dict(action)!r:.300}; nothing of it was done"
        )

    @classmethod
    def overrides(cls, names: Iterable[str]) -> bool:
        """Tell whether the class brings its own version of at least one of these contract methods.

        Abilities are derived this way instead of being flagged. Only methods of this package's base classes count as
        the default.
        """
        from gym_anything.runtime.runners.base import BaseRunner

        return any(getattr_static(cls, name, None) is not getattr_static(BaseRunner, name, None) for name in names)
