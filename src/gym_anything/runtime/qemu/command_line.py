"""The command line of any machine of ours."""

from __future__ import annotations

from typing import TypeAlias

from gym_anything.runtime.qemu.machine import machine_argv
from gym_anything.runtime.qemu.machine_spec import MachineSpec
from gym_anything.runtime.qemu.other_machine import other_machine_argv
from gym_anything.runtime.qemu.other_machine_spec import OtherMachineSpec

AnyMachine: TypeAlias = MachineSpec | OtherMachineSpec


def command_line(spec: AnyMachine, program: str) -> list[str]:
    """Return the whole command line; see ``machine_argv`` and ``other_machine_argv``."""
    if isinstance(spec, OtherMachineSpec):
        return other_machine_argv(spec, program)
    return machine_argv(spec, program)
