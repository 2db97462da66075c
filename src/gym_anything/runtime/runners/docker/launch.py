"""One container: made, started, reached and removed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gym_anything._util import logs
from gym_anything._util.deadline import Deadline
from gym_anything._util.labels import WORLD
from gym_anything._util.state_dir import WorldDir
from gym_anything.errors import DeadlineExceeded, HostError, WorldLost, WorldStartFailed
from gym_anything.runtime.container.inside import GUEST_SOCKET, IO
from gym_anything.runtime.container.world import ContainerWorld
from gym_anything.runtime.runners.docker.calls import EngineCalls
from gym_anything.runtime.runners.docker.vendor import Engine, EngineRefused

CONTAINER_KEY = "container"
_STOP_S = 5.0
_ASK_EVERY_S = 0.25
_MEMORY_S = 1.5


class DockerWorld(ContainerWorld):
    """A container of the engine. ``has_systemd``: its first process is systemd, with our init beside it."""

    def __init__(self, place: WorldDir, engine: Engine, *, has_systemd: bool = False) -> None:
        super().__init__(place)
        self.has_systemd = has_systemd
        self.engine = engine
        self.calls = EngineCalls(self._ended)
        self.host_uid = own_number(engine)
        self._image = ""
        self._asked_at = 0.0

    def launch(self, request: dict[str, Any] | None, deadline: Deadline) -> None:
        """Make and start the container, and return when its init answers.

        Args: request: None starts the container again that was shut down.
        Raises: WorldStartFailed, BootTimedOut, Aborted.
        """
        self._open_folder()
        self.place.update_manifest(**{CONTAINER_KEY: self.name})
        try:
            if request is not None:
                body = request
                self._image = str(body["Image"])
                self.calls.make(lambda: self.engine.create(body, self.name), doing="create", deadline=deadline)
            self.calls.make(lambda: self.engine.start(self.name), doing="start", deadline=deadline)
            self._asked_at = time.monotonic()
        except EngineRefused as error:
            raise WorldStartFailed(f"the container could not be started: {error}", detail=error.detail) from error
        self._await_init(deadline)

    def _own_guest_socket(self, deadline: Deadline) -> None:
        if self.host_uid is None:
            return
        argv = ["chown", str(self.host_uid), f"{IO}/{GUEST_SOCKET}"]
        try:
            self.calls.make(lambda: self.engine.run_inside(self.name, argv), doing="chown", deadline=deadline)
        except EngineRefused as error:
            raise WorldStartFailed(f"the world's init cannot be reached: {error}", detail=error.detail) from error

    def _death(self) -> str | None:
        """See the base class; the engine is asked four times a second at most."""
        now = time.monotonic()
        if now - self._asked_at < _ASK_EVERY_S:
            return None
        self._asked_at = now
        state = self._state()
        return None if state.get("Running") else f"the container ended, exit code {state.get('ExitCode')}"

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """Name the reason in a ``WorldLost`` out of this block where the engine knows it: no memory was left."""
        try:
            yield
        except WorldLost as error:
            if not self._state().get("OOMKilled"):
                raise
            raise WorldLost(
                f"the memory of the world was used up (resources.mem_gb); the kernel killed programs of it: {error}",
                detail={**error.detail, "memory_kills": 1},
            ) from error

    def memory_mib(self) -> float | None:
        """See the base class: what the engine says, since the container's processes may be out of our sight.

        None also when the engine does not say it in time: that says nothing about the world, which is asked itself.
        Blocks: some milliseconds, 1.5 s at most. Raises: Aborted.
        """
        deadline = Deadline.after(_MEMORY_S)
        try:
            charged = self.calls.make(lambda: self.engine.memory_bytes(self.name), doing="stats", deadline=deadline)
        except (HostError, DeadlineExceeded) as error:
            logs.logger(__name__).debug("the memory of %s cannot be read: %s", self.name, error)
            return None
        return charged / 2**20 if charged else None

    def log_tail(self) -> str:
        return self.engine.log_tail(self.name)

    def shut_down(self, grace_s: float, deadline: Deadline) -> None:
        if self.has_systemd:
            self._hang_up()
            self.calls.make(lambda: self.engine.stop(self.name, grace_s), doing="stop", deadline=deadline)
        else:
            self._shut_down(lambda: bool(self._state().get("Running")), grace_s, deadline)

    def stop(self, grace_s: float | None = None) -> None:
        if not self._begin_stop():
            return
        if self.calls.finish(Deadline.after(_STOP_S)):
            if grace_s is not None:
                self.engine.stop(self.name, grace_s + 1)
            self._remove()
        else:  # the engine hangs in a call of ours; what may come of it goes as soon as it has come
            self.calls.after_all(self._remove)
        self._end_stop()

    def _remove(self) -> None:
        """Remove the container, under whatever name it was made, and hang up."""
        self.engine.remove(self.name)
        for row in self.engine.labelled(f"{WORLD}={self.place.id}"):
            self.engine.remove(str(row["Id"]))
        if self.host_uid is not None and self.folder is not None:
            sweep(self.engine, self._image, self.folder.path)
        self.engine.close()

    def _state(self) -> dict[str, Any]:
        return dict((self.engine.container(self.name) or {}).get("State", {}))


def own_number(engine: Engine) -> int | None:
    """Return the number that our own user has in the engine's containers; None for root, who reaches everything."""
    if os.geteuid() == 0:
        return None
    return 0 if "rootless" in engine.security_options() else os.geteuid()


def sweep(engine: Engine, image: str, folder: Path) -> None:
    """Empty a shared folder in which root of a world has made folders: only root can, and the engine has one.

    Nothing is done, and no container made, where we can do it ourselves.
    """
    foreign = [path for path in folder.rglob("*") if path.is_dir() and path.lstat().st_uid != os.geteuid()]
    if foreign and image:
        engine.run_once(image, ["/bin/sh", "-c", f"rm -rf {IO}/* {IO}/.[!.]*"], {str(folder): IO})
