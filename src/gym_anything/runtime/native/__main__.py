"""``python -m gym_anything.runtime.native``: build what is missing and say where it lies.

A program that only some need does not keep the others from being built, nor the command from succeeding.
"""

from __future__ import annotations

import sys

from gym_anything.errors import NativeProgramMissing
from gym_anything.runtime.native import programs
from gym_anything.runtime.native.build import build_native


def main() -> int:
    """Build; return the exit code."""
    root, failed = programs.source_root(), False
    for name in programs.program_names(root):
        optional = programs.optional_for(root, name)
        try:
            print(f"{name}: {build_native([name])[name]}")
        except NativeProgramMissing as error:
            word = f"left out (only {optional} need it)" if optional else "error"
            print(f"{word}: {error}", file=sys.stderr)
            failed = failed or not optional
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
