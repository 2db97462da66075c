"""A Docker world at 1920x1080: from an image in the engine to a ready desktop, and `env.step` with one click.

The engine is one of the tests' own; creating and starting an empty container in it is the bare mechanism beside it.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from gym_anything.runtime.runners.docker.images import ensure_image
from gym_anything.runtime.runners.docker.options import DockerOptions
from gym_anything.runtime.runners.docker.vendor import Engine
from gym_anything.specs.env_spec import EnvSpec
from tests.bench.container_world import measure, report
from tests.docker_engine import running_engine


def bare_container_s(engine: Engine, image: str) -> float:
    """Return the seconds that an empty container takes to be made and started."""
    begin = time.perf_counter()
    request = {"Image": image, "Entrypoint": ["/bin/sleep"], "Cmd": ["60"], "HostConfig": {"NetworkMode": "none"}}
    container = engine.create(request, "gym-anything-bench")
    engine.start(container)
    took = time.perf_counter() - begin
    engine.remove(container)
    return took


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, running_engine():
        engine = Engine.connect()
        spec = EnvSpec.from_dict({"id": "bench@1", "base": "debian-desktop"})
        image = ensure_image(engine, spec, DockerOptions(), lambda *_, **__: None)
        bare = bare_container_s
        series = measure("docker", Path(folder), lambda: bare(engine, image), bare_name="bare_container")
        engine.close()
    report(series, "reset() of debian-desktop, first observation included, image in the engine; overlay2; step: 1,000")


if __name__ == "__main__":
    main()
