"""Command lines for Windows and Android guests, with the environment they get. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gym_anything.errors import SpecInvalid
from gym_anything.runtime.guest.shell import quote
from gym_anything.runtime.qemu.other_machine_spec import OtherFamily

_SHARED = ("/sdcard/", "/storage/")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def with_environment(command: str, env: Mapping[str, str], family: OtherFamily) -> str:
    """Return a command line that sets these variables first. Raises: SpecInvalid for a name that is none."""
    return "".join(_set(name, value, family) for name, value in env.items()) + command


def hook_line(command: str, family: OtherFamily) -> str:
    """Return a hook's command line as the guest can run it: Android's shared storage lets no file be a program."""
    if family == "android" and command.lstrip().startswith(_SHARED):
        return f"sh {command.lstrip()}"
    return command


def _set(name: str, value: str, family: OtherFamily) -> str:
    if not _NAME.fullmatch(name):
        raise SpecInvalid(f"{name!r} is not the name of an environment variable", detail={"key": name})
    if family == "windows":
        return f"$env:{name}={quote(value, family)}\n"
    return f"export {name}={quote(value, family)}\n"
