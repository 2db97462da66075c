"""The registry of runners: keys, entry points of the group ``gym_anything.runners``, and locators."""

from __future__ import annotations

import inspect

from gym_anything.errors import PluginError
from gym_anything.plugins.registry import KnownPlugin, Registry
from gym_anything.runtime.runners.base import BaseRunner

ENTRY_POINT_GROUP = "gym_anything.runners"

# Each name of ours with the pip extra that brings it.
RESERVED: dict[str, str] = {
    "local": "",
    "docker": "docker",
    "apptainer": "apptainer",
    "qemu": "qemu",
    "qemu_native": "qemu_native",
    "avd": "avd",
    "avd_native": "avd_native",
    "avf": "avf",
    "modal": "modal",
    "modal_native": "modal_native",
    "use_computer": "use_computer",
    "sandweave": "sandweave",
}


def _checked(name: str, loaded: object) -> type[BaseRunner]:
    """Return ``loaded`` if it is a complete runner class, else say what it lacks."""
    if not isinstance(loaded, type) or not issubclass(loaded, BaseRunner):
        raise PluginError(
            f"runner {name!r} is {loaded!r:.200}, not a subclass of gym_anything.runtime.runners.base.BaseRunner",
            detail={"runner": name},
        )
    if inspect.isabstract(loaded):
        missing = sorted(loaded.__abstractmethods__)
        raise PluginError(
            f"runner {name!r} ({loaded.__qualname__}) does not write the required {', '.join(missing)}",
            detail={"runner": name, "missing": missing},
        )
    return loaded


RUNNERS: Registry[type[BaseRunner]] = Registry(
    group=ENTRY_POINT_GROUP, noun="runner", check=_checked, reserved=RESERVED
)


def register_runner(key: str, cls: type[BaseRunner] | str, *, replace: bool = False) -> None:
    """Give a runner class (or its locator) a short name in this process.

    A name that is reserved or already taken by something else is an error when it is first *used*;
    ``replace=True`` takes it over.
    """
    RUNNERS.register(key, cls, replace=replace)


def unregister_runner(key: str) -> None:
    """Take back what ``register_runner`` did for this key."""
    RUNNERS.unregister(key)


def resolve_runner(key_or_locator: str | type[BaseRunner]) -> type[BaseRunner]:
    """Return the runner class a key or locator names; a class passes through, checked.

    Raises: UnknownPlugin, MissingExtra, PluginConflict, PluginImportFailed, PluginError.
    """
    if isinstance(key_or_locator, type):
        return _checked(key_or_locator.__qualname__, key_or_locator)
    return RUNNERS.resolve(key_or_locator)


def known_runners() -> list[KnownPlugin]:
    """Return every registered runner, sorted by key, conflicts included; loads none."""
    return RUNNERS.known()
