"""``python -m gym_anything.runtime.native``: build what is missing and say where it lies."""

from __future__ import annotations

import sys

from gym_anything.errors import NativeProgramMissing
from gym_anything.runtime.native.build import build_native


def main() -> int:
    """Build; return the exit code."""
    try:
        built = build_native()
    except NativeProgramMissing as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for name, path in built.items():
        print(f"{name}: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
