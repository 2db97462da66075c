"""``gym-anything`` as a person runs it: the real program, in a folder of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class CommandLine:
    """Runs the program in ``folder`` with a checkpoint folder of its own; nothing of the checkout is written to.

    Attributes:
        folder: the working directory.
        environ: the program's environment.
    """

    def __init__(
        self, folder: Path, program: tuple[str, ...] = (sys.executable, "-m", "gym_anything.cli.main")
    ) -> None:
        self.folder = folder
        self.program = program
        self.environ = {
            **os.environ,
            "GYM_ANYTHING_LOCAL_CHECKPOINT_DIR": str(folder / "checkpoints"),
            "GYM_ANYTHING_POST_TASK_SETTLE_SEC": "0",
        }

    def __call__(self, *arguments: str, code: int | None = 0, timeout_s: float = 250) -> str:
        """Run it and return what it printed; its exit code must be ``code`` (None: any)."""
        done = subprocess.run(
            [*self.program, *arguments],
            cwd=self.folder,
            env=self.environ,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        assert code in (None, done.returncode), (done.returncode, done.stdout[-3000:], done.stderr[-3000:])
        assert "Traceback" not in done.stderr, done.stderr
        return done.stdout

    def json(self, *arguments: str, code: int | None = 0, timeout_s: float = 250) -> Any:
        """Run it with ``--json`` and return the document."""
        return json.loads(self(*arguments, "--json", code=code, timeout_s=timeout_s))


def verdicts(report: Mapping[str, Any]) -> dict[str, tuple[str, float]]:
    """Return task -> (status, score) of a benchmark's report."""
    return {row["task"]: (row["status"], row["outcome"]["score"]) for row in report["episodes"]}
