"""QEMU, wherever its programs are: on this host or in an image of apptainer's. No machine depends on which it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from gym_anything.runtime.qemu.command_line import AnyMachine, command_line
from gym_anything.runtime.qemu.program import IMAGE_TOOL, SYSTEM, require_program, version_of

_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


class Emulator(Protocol):
    """Command lines of QEMU's programs. The files they name lie where they do for us, in there, too."""

    @property
    def version(self) -> str:
        """What a saved machine depends on, beside its spec."""
        ...

    def machine_argv(self, spec: AnyMachine) -> list[str]:
        """Return the command line of a machine. The sockets it inherits keep their numbers."""
        ...

    def image_tool_argv(self, arguments: Sequence[str], folder: Path) -> list[str]:
        """Return the command line of ``qemu-img``. Args: folder: where it writes."""
        ...

    def environment(self, label_env: Mapping[str, str], folder: Path) -> dict[str, str]:
        """Return the environment of these programs.

        Args: label_env: marks what belongs to a world. folder: where notes may be kept for as long as they run.
        """
        ...

    def qemu_pid(self, started: int) -> int:
        """Return the process that is the machine, given the one that was started."""
        ...


@dataclass(frozen=True, slots=True)
class HostEmulator:
    """The QEMU that this host has."""

    program: str
    version: str

    @classmethod
    def find(cls) -> HostEmulator:
        """Return it. Raises: MissingDependency with the fix."""
        program = require_program(SYSTEM)
        return cls(program, version_of(program))

    def machine_argv(self, spec: AnyMachine) -> list[str]:
        """See ``Emulator``."""
        return command_line(spec, self.program)

    def image_tool_argv(self, arguments: Sequence[str], folder: Path) -> list[str]:
        """See ``Emulator``. Raises: MissingDependency."""
        return [require_program(IMAGE_TOOL), *arguments]

    def environment(self, label_env: Mapping[str, str], folder: Path) -> dict[str, str]:
        """See ``Emulator``."""
        return {"PATH": _PATH, **label_env}

    def qemu_pid(self, started: int) -> int:
        """See ``Emulator``."""
        return started
