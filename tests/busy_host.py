"""A host on which others work, too: programs that never rest."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

_NEVER_RESTS = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: sum(range(100_000))"
"""It ends with whoever started it, however that ends."""


@contextmanager
def busy_host(programs: int) -> Iterator[None]:
    """Run so many programs that never rest."""
    with ExitStack() as stack:
        for _ in range(programs):
            process = stack.enter_context(subprocess.Popen([sys.executable, "-c", _NEVER_RESTS]))
            stack.callback(process.kill)
        yield
