"""The guest part of a runner whose worlds have a ``ga-guest``: commands, hooks, files, saved states."""

from __future__ import annotations

import getpass
import os
import shlex
import subprocess
import uuid
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import IO

from gym_anything._util.deadline import Deadline
from gym_anything.errors import GuestCommandFailed, GuestFileNotFound
from gym_anything.runtime.guest import shell_io
from gym_anything.runtime.guest.exec_result import ExecResult
from gym_anything.runtime.runners.base import BaseRunner
from gym_anything.runtime.runners.base_guest import DEFAULT_EXEC_TIMEOUT_S, GuestProcess
from gym_anything.runtime.runners.guest_world import DESKTOP_PEOPLE, GuestWorld
from gym_anything.runtime.runners.hook_shell import hook_command

_STATES = "/var/lib/gym-anything/states"
_AT_ROOT = "cd / && "


LIFE_S = 2.0
"""How long a world may take for a sign of life."""


class ChannelCommands(BaseRunner):
    """Everything that goes through the guest channel."""

    _world: GuestWorld | None

    @abstractmethod
    def _running(self, doing: str) -> GuestWorld:
        """Return the running world. Raises: StateError, Aborted."""

    def check_life(self, deep: bool = False) -> None:
        """See ``HealthAccess``; ``deep`` asks the desktop service and the X server, too."""
        world, deadline = self._running("check_life"), Deadline.after(LIFE_S)
        world.channel.ping(deadline=deadline)
        if deep:
            world.desktop.check_life(deadline=deadline)

    def exec(
        self,
        cmd: str,
        env: dict[str, str] | None = None,
        user: str | None = None,
        use_pty: bool = True,
        timeout: float = DEFAULT_EXEC_TIMEOUT_S,
    ) -> int:
        return self._run(cmd, timeout, env=env, user=user, pty=use_pty).exit_code

    def exec_capture_bytes(self, cmd: str, *, timeout: float = DEFAULT_EXEC_TIMEOUT_S) -> bytes:
        return self._run(cmd, timeout).stdout

    def _run(
        self, cmd: str, timeout: float, *, env: dict[str, str] | None = None, user: str | None = None, pty: bool = False
    ) -> ExecResult:
        world, who = self._running("exec"), self._who(user)
        with world.explaining():
            return shell_io.run_shell(
                world.channel, cmd, env=self.merge_exec_env(env), user=who, timeout_s=timeout, pty=pty
            )

    def exec_async(
        self,
        cmd: str,
        env: dict[str, str] | None = None,
        stdout: IO[bytes] | int | None = None,
        stderr: IO[bytes] | int | None = None,
    ) -> GuestProcess:
        world = self._running("exec_async")
        merged = self.merge_exec_env(env)
        if all(sink in (None, subprocess.DEVNULL) for sink in (stdout, stderr)):
            return shell_io.DetachedProcess(world.channel, cmd, merged, self._who())
        return shell_io.StreamedProcess(world.new_channel(Deadline.after(10)), cmd, merged, self._who(), stdout, stderr)

    def copy_to(self, host_src: str | os.PathLike[str], container_dst: str) -> None:
        source = Path(host_src)
        if not source.exists():
            raise FileNotFoundError(f"copy_to: no such file on the host: {source}")
        world = self._running("copy_to")
        at_home = container_dst.startswith(f"{world.people.home}/")
        shell_io.copy_in(world.channel, source, container_dst, world.people.desktop if at_home else world.people.admin)

    def copy_from(self, container_src: str, host_dst: str | os.PathLike[str]) -> None:
        shell_io.copy_out(self._running("copy_from").channel, container_src, Path(host_dst), self._who())

    def to_container_path(self, host_path: str | os.PathLike[str]) -> str:
        wanted = Path(host_path).absolute()
        for mount in self.spec.mounts:
            source = Path(mount.source).expanduser().absolute()
            if wanted == source or source in wanted.parents:
                return str(PurePosixPath(mount.target) / wanted.relative_to(source))
        return str(host_path)

    def _who(self, user: str | None = None) -> str:
        """Return the guest user a command runs as; a world without a sandbox has one user only."""
        people = self._running("exec").people
        if user is not None and people.admin == people.desktop and user not in (people.admin, getpass.getuser()):
            raise self.unsupported("exec as another user", "this world has no sandbox and so no users of its own")
        return user or people.admin

    def default_exec_env(self) -> dict[str, str]:
        found = self._world.exec_env if self._world is not None else {}
        return {**super().default_exec_env(), **found}

    def run_hook(self, cmd: str, *, stage: str, timeout: float | None = None, use_pty: bool = True) -> int:
        wrapped = hook_command(cmd, family="linux", log_path=self.hook_log_paths([stage])[0])
        return self.exec(wrapped, use_pty=use_pty, timeout=DEFAULT_EXEC_TIMEOUT_S if timeout is None else timeout)

    def hook_log_paths(self, stages: list[str]) -> list[str]:
        home = self._world.people.home if self._world is not None else DESKTOP_PEOPLE.home
        return [f"{home}/{PurePosixPath(path).name}" for path in super().hook_log_paths(stages)]

    def run_reset(self, script: str, seed: int | None = None) -> None:
        self._run_script(script, "reset", {} if seed is None else {"GYM_ANYTHING_SEED": str(seed)})

    def run_task_init(self, script: str) -> None:
        self._run_script(script, "task_init", {})

    def _run_script(self, script: str, stage: str, env: Mapping[str, str]) -> None:
        result = self._run(script, DEFAULT_EXEC_TIMEOUT_S, env=dict(env))
        if result.exit_code != 0:
            tail = (result.stderr or result.stdout)[-2000:].decode(errors="replace")
            raise GuestCommandFailed(
                f"the {stage} script exited with {result.exit_code}: {script[:200]}; output tail: {tail}",
                detail={"exit_code": result.exit_code, "log_tail": tail},
            )

    # --- saved states --------------------------------------------------------------------------------------------

    def save_state(self, save_paths: list[str] | None = None) -> str:
        """See the contract. Named paths are saved; what its programs hold in memory is not part of it."""
        paths = list(save_paths if save_paths is not None else self.spec.save_paths)
        if not paths:
            raise self.unsupported("save_state", "it saves files, not memory", "Name them in save_paths")
        target = f"{_STATES}/{uuid.uuid4().hex[:12]}"
        listing = "\n".join(paths)
        names = " ".join(shlex.quote(path.lstrip("/")) for path in paths)
        self._run_script(
            f"mkdir -p {target} && printf %s {shlex.quote(listing)} > {target}/paths && "
            f"{_AT_ROOT}tar --create --numeric-owner --xattrs --file={target}/files.tar -- {names}",
            "save_state",
            {},
        )
        return target

    def load_state(self, snapshot_container_path: str) -> None:
        """See the contract: the saved paths become exactly what they were; all else stays."""
        folder = shlex.quote(snapshot_container_path)
        if self.exec(f"test -f {folder}/files.tar", use_pty=False) != 0:
            raise GuestFileNotFound(f"load_state: no saved state at {snapshot_container_path}")
        paths = self.exec_capture(f"cat {folder}/paths").splitlines()
        names = " ".join(shlex.quote(path) for path in paths)
        restore = f"tar --extract --numeric-owner --xattrs --preserve-permissions --file={folder}/files.tar"
        self._run_script(f"rm -rf -- {names} && {_AT_ROOT}{restore}", "load_state", {})
