"""One instance: started, reached and ended."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from gym_anything._util import logs, proc
from gym_anything._util.control_groups import MANIFEST_KEY
from gym_anything._util.deadline import Deadline
from gym_anything._util.python_program import python_argv
from gym_anything._util.state_dir import WorldDir
from gym_anything._util.supervised_process import SupervisedProcess
from gym_anything.errors import Aborted, DeadlineExceeded, GuestCommandFailed, WorldLost
from gym_anything.runtime.apptainer.command import Instance, environment, exec_argv, mount_points_argv, start_argv
from gym_anything.runtime.apptainer.mount_points import make_mount_points
from gym_anything.runtime.apptainer.orphans import kill_instances
from gym_anything.runtime.apptainer.program import SEARCH
from gym_anything.runtime.container.world import ContainerWorld, open_log
from gym_anything.runtime.limits import ControlGroups, Limits

KEEPER = "gym_anything.runtime.apptainer.keeper"
OVERLAY = "overlay"
_LOG = "apptainer.log"
_LOG_LINES = 15
_STOP_S = 10.0


class ApptainerWorld(ContainerWorld):
    """An instance of apptainer. ``overlay``: the folder with all it writes."""

    def __init__(self, place: WorldDir) -> None:
        super().__init__(place)
        self.overlay = place.path / OVERLAY
        self.config_dir = place.path / "apptainer"
        self.host_uid = None if os.geteuid() == 0 else 0
        self.groups = ControlGroups()
        self._keeper: SupervisedProcess | None = None

    def limit(self, limits: Limits) -> None:
        """Make the control groups that every launch of this world is in."""
        with self._lock:
            self.check_going_on()
            if not self.groups.folders:
                self.groups = ControlGroups.create(self.place.label, limits, self._note_groups)

    def _note_groups(self, folders: list[str]) -> None:
        self.place.update_manifest(**{MANIFEST_KEY: folders})

    def launch(
        self, program: str, instance: Instance, init: Sequence[str], env: Mapping[str, str], deadline: Deadline
    ) -> None:
        """Start the instance and its init, and return when that answers.

        Args: env: of every program inside.
        Raises: WorldStartFailed, BootTimedOut, Aborted.
        """
        self._open_folder()
        self.overlay.mkdir(mode=0o755, exist_ok=True)
        if self.config_dir.exists():
            shutil.rmtree(self.config_dir)  # of an ended instance of this world
        self.config_dir.mkdir(mode=0o700)
        lines = [start_argv(program, instance), exec_argv(program, instance, init)]
        if not make_mount_points(instance):
            lines.insert(0, mount_points_argv(program, instance))
        fd = open_log(str(self.place.path / _LOG))
        try:
            self._keeper = self.spawn(
                python_argv(KEEPER, [json.dumps(lines), *self.groups.procs_files]),
                name="apptainer",
                stderr=fd,
                env={
                    **environment({**env, **self.place.env}, config_dir=str(self.config_dir)),
                    "PATH": SEARCH,
                    "HOME": str(self.config_dir),
                },
            )
        finally:
            os.close(fd)
        self._await_init(deadline)

    def log_tail(self) -> str:
        files = [self.place.path / _LOG, *sorted(self.config_dir.glob("instances/logs/*/*/*.err"))]
        return "\n".join(text for path in files if (text := logs.tail(path, _LOG_LINES)))

    def _death(self) -> str | None:
        code = None if self._keeper is None else self._keeper.returncode
        return None if code is None else f"the instance ended, exit code {code}"

    def memory_mib(self) -> float | None:
        """See the base class: the proportional share of what its processes have in memory."""
        if self._keeper is None or self._keeper.returncode is not None:
            return None
        kib = sum(proc.pss_kib(pid) for pid in proc.descendants(self._keeper.pid))
        return kib / 1024 if kib else None  # nothing: the kernel does not let us look

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """Name the reason in a ``WorldLost`` out of this block where the kernel knows it: no memory was left."""
        try:
            yield
        except WorldLost as error:
            explained = self.groups.explained(error)
            if explained is None:
                raise
            raise explained from error

    def shut_down(self, grace_s: float, deadline: Deadline) -> None:
        self._shut_down(lambda: self._death() is None, grace_s, deadline)
        self._end()

    def stop(self, grace_s: float | None = None) -> None:
        if grace_s is not None and self._channel is not None and not self._ended.is_set():
            try:
                self.shut_down(grace_s, Deadline.after(grace_s + 5))
            except (WorldLost, GuestCommandFailed, DeadlineExceeded, Aborted):
                pass  # it has ended by itself, or is ended now
        if self._begin_stop():
            self._end()
            self._end_stop()

    def _end(self) -> None:
        if self._keeper is None:
            return
        self._keeper.stop(Deadline.after(_STOP_S))
        kill_instances(lambda label: label.world == self.place.id)  # one that was killed did not take it with it

    def host_pid(self, inside: int) -> int:
        """Return this host's number of a process of the world. Raises: WorldLost when there is no such process."""
        keeper = 0 if self._keeper is None else self._keeper.pid
        for pid in proc.descendants(keeper):
            if proc.innermost_pid(pid) == inside:
                return pid
        raise WorldLost(f"no process {inside} is in the world")

    def write_hosts(self, hostname: str) -> Path:
        """Write the world's ``/etc/hosts`` and return where."""
        path = self.place.path / "hosts"
        path.write_text(f"127.0.0.1 localhost\n127.0.1.1 {hostname}\n::1 localhost\n", encoding="utf-8")
        path.chmod(0o644)
        return path
