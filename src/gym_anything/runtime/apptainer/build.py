"""Building an image with apptainer: a SIF file or a sandbox folder, whole or not there."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

from gym_anything._util import logs
from gym_anything._util.ascii_names import random_name
from gym_anything._util.deadline import Deadline
from gym_anything._util.remove_tree import remove_tree
from gym_anything._util.state_dir import Run
from gym_anything._util.supervisor import Supervisor
from gym_anything._util.waiting import wait_until
from gym_anything.errors import HostError
from gym_anything.runtime.apptainer.command import build_argv
from gym_anything.runtime.apptainer.program import SEARCH, require_program

_KEPT = (
    "HOME", "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE",
    "APPTAINER_DOCKER_USERNAME", "APPTAINER_DOCKER_PASSWORD", "APPTAINER_MKSQUASHFS_ARGS", "DOCKER_CONFIG",
)  # fmt: skip
"""What a build takes from our environment: how something is fetched and packed."""
_POLL_S = 0.05


def build(
    source: str,
    target: Path,
    deadline: Deadline,
    *,
    sandbox: bool = False,
    fakeroot: bool = False,
    aborted: Callable[[], bool] = lambda: False,
) -> None:
    """Build ``source`` (see ``build_argv``) and put it at ``target``, in place of what is there.

    Raises: MissingDependency; HostError with the end of apptainer's output; DeadlineExceeded; Aborted.
    """
    program = require_program()
    world = Run.current().new_world("apptainer-build")
    partial = target.with_name(random_name(f".{target.name}-", 6))
    log = world.path / "build.log"
    ended = threading.Event()
    try:
        with log.open("wb") as file:
            process = Supervisor.shared().spawn(
                build_argv(program, source, str(partial), sandbox=sandbox, fakeroot=fakeroot),
                name=f"apptainer build of {target.name}",
                env={**_environment(), **world.env, "TMPDIR": str(world.path), "APPTAINER_TMPDIR": str(world.path)},
                stdout=file.fileno(),
                stderr=file.fileno(),
            )
        wait_until(
            lambda: process.returncode is not None,
            deadline=deadline,
            awaited=process.name,
            log_tail=lambda: logs.tail(log, 15),
            aborted=aborted,
            sleep=lambda s: ended.wait(min(s, _POLL_S)),
        )
        if process.returncode != 0:
            tail = logs.tail(log, 15)
            raise HostError(f"apptainer could not build {source}:\n{tail}", detail={"log_tail": tail})
        if target.exists():
            remove_tree(target)
        partial.rename(target)
    finally:
        Supervisor.shared().stop_world(world.id)
        if partial.exists():
            remove_tree(partial)
        world.remove()


def _environment() -> dict[str, str]:
    return {"PATH": SEARCH, **{name: os.environ[name] for name in _KEPT if name in os.environ}}
