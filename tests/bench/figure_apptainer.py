"""An Apptainer world at 1920x1080: from a sandbox image to a ready desktop, and `env.step` with one click.

Starting a bare instance of the same image is the mechanism beside it.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path

from gym_anything.runtime.apptainer.command import Instance, start_argv
from gym_anything.runtime.apptainer.program import require_program
from gym_anything.runtime.runners.apptainer.command import CAPABILITIES
from gym_anything.runtime.runners.apptainer.images import image_of
from gym_anything.specs.env_spec import EnvSpec
from tests.apptainer_backend import choose_program
from tests.bench.container_world import measure, report

NAME = "gym-anything-bench"


def bare_instance_s(program: str, image: str, folder: Path) -> float:
    """Return the seconds that a bare instance takes to start."""
    env = {**os.environ, "APPTAINER_CONFIGDIR": str(folder / "bare")}
    argv = start_argv(program, Instance(NAME, image, capabilities=CAPABILITIES))
    begin = time.perf_counter()
    subprocess.run(argv, check=True, env=env, cwd="/")
    took = time.perf_counter() - begin
    subprocess.run([program, "--silent", "instance", "stop", NAME], check=True, env=env)
    return took


def main() -> None:
    choose_program()
    program = require_program()
    image = str(image_of(EnvSpec.from_dict({"id": "bench@1", "base": "debian-desktop"})).path)
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        series = measure(
            "apptainer", folder, lambda: bare_instance_s(program, image, folder), bare_name="bare_instance"
        )
    report(series, "reset() of debian-desktop, first observation included, image a sandbox folder; root; step: 1,000")


if __name__ == "__main__":
    main()
