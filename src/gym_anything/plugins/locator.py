"""Locators: ``pkg.mod:Attr``, a plug-in named by where it lives, without any registration."""

from __future__ import annotations

import difflib
import importlib
import re
import sys
from typing import Any

from gym_anything.errors import PluginImportFailed, UnknownPlugin

_LOCATOR = re.compile(r"(?P<module>[^\W\d]\w*(?:\.[^\W\d]\w*)*):(?P<attribute>[^\W\d]\w*(?:\.[^\W\d]\w*)*)\Z")


def is_locator(text: str) -> bool:
    """Tell whether ``text`` is a locator rather than a key: a key never has a colon."""
    return ":" in text


def load_locator(locator: str) -> Any:
    """Import the module and return the attribute a locator names.

    Args: locator: ``pkg.mod:Attr`` or ``pkg.mod:Outer.Inner``.
    Raises:
        UnknownPlugin: it is not a locator, or there is no such module or attribute.
        PluginImportFailed: the module exists but raised while it was imported; the cause is kept.
    """
    match = _LOCATOR.match(locator)
    if match is None:
        raise UnknownPlugin(
            f"{locator!r} is not a locator: write 'package.module:Name', for example 'robobench.isaac:IsaacSimRunner'",
            detail={"locator": locator},
        )
    module_name = match["module"]
    module = _import(module_name, locator)
    found = module
    for part in match["attribute"].split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise UnknownPlugin(
                f"{locator!r}: {getattr(found, '__name__', module_name)} has no {part!r}{_near(part, found)}",
                detail={"locator": locator},
            ) from None
    return found


def _import(module_name: str, locator: str) -> Any:
    """Import one module; tell "not there" from "there but broken"."""
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and (module_name == error.name or module_name.startswith(error.name + ".")):
            raise UnknownPlugin(
                f"{locator!r}: there is no module {error.name!r} in this Python ({sys.executable}); install the package"
                " that has it, or put its folder on PYTHONPATH",
                detail={"locator": locator, "module": error.name},
            ) from error
        raise _failed(locator, error) from error
    except (
        Exception,
        SystemExit,
    ) as error:  # the boundary to foreign code: whatever its import does, one plug-in fails
        raise _failed(locator, error) from error


def _failed(locator: str, error: BaseException) -> PluginImportFailed:
    """Build the error of a module that raised."""
    return PluginImportFailed(
        f"{locator!r} could not be imported: {type(error).__name__}: {error}",
        detail={"locator": locator, "cause": f"{type(error).__name__}: {error}"},
    )


def _near(name: str, holder: Any) -> str:
    """Return ``; did you mean …?`` for a near miss, else nothing."""
    near = difflib.get_close_matches(name, [n for n in dir(holder) if not n.startswith("_")], n=3)
    return f"; did you mean {' or '.join(repr(n) for n in near)}?" if near else ""
