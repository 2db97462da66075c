"""The fake world's guest side: commands, hooks and files, all in memory."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import IO

from gym_anything._util.deadline import Deadline
from gym_anything.errors import GuestCommandFailed, GymAnythingError
from gym_anything.runtime.runners.base_guest import DEFAULT_EXEC_TIMEOUT_S
from gym_anything.testing.fakes.commands import CommandResult, FakeShell
from gym_anything.testing.fakes.core import FakeCore


class FakeGuestProcess:
    """A command that runs in a thread of its own until it is killed or its world stops."""

    def __init__(self, world: FakeGuest, cmd: str, env: dict[str, str] | None, stdout: IO[bytes] | int | None) -> None:
        self._killed = threading.Event()
        self._code: int | None = None
        self._world = world
        self._thread = threading.Thread(
            target=self._run, args=(cmd, env, stdout), name="fake-guest-process", daemon=True
        )
        self._thread.start()

    def _run(self, cmd: str, env: dict[str, str] | None, stdout: IO[bytes] | int | None) -> None:
        try:
            result = self._world.run_command(cmd, env, Deadline.never(), killed=self._killed)
        except GymAnythingError:  # killed, aborted or stopped: the code of a process ended by SIGKILL
            self._code = 137
            return
        if isinstance(stdout, int):
            if stdout >= 0:
                os.write(stdout, result.stdout)
        elif stdout is not None:
            stdout.write(result.stdout)
        self._code = result.exit_code

    def poll(self) -> int | None:
        """See ``GuestProcess``."""
        return None if self._thread.is_alive() else self._code

    def wait(self, timeout: float | None = None) -> int:
        """See ``GuestProcess``."""
        self._thread.join(timeout)
        if self._thread.is_alive() or self._code is None:
            raise TimeoutError("the guest process still runs")
        return self._code

    def terminate(self) -> None:
        """See ``GuestProcess``."""
        self._killed.set()

    def kill(self) -> None:
        """See ``GuestProcess``."""
        self._killed.set()


class FakeGuest(FakeCore):
    """Commands and files of a fake world."""

    def run_command(
        self, cmd: str, env: dict[str, str] | None, deadline: Deadline, *, killed: threading.Event | None = None
    ) -> CommandResult:
        """Run one command line; ``deadline`` and ``killed`` end its sleeps."""
        self.require_ready("exec")

        def sleep(seconds: float) -> None:
            self.pass_time(seconds, deadline, killed)

        try:
            return FakeShell(self.files, sleep).run(cmd, self.merge_exec_env(env))
        except TimeoutError:
            raise GuestCommandFailed(
                f"{cmd!r:.200} was killed after its time-out", detail={"timed_out": True, "exit_code": 137}
            ) from None

    def exec(
        self,
        cmd: str,
        env: dict[str, str] | None = None,
        user: str | None = None,
        use_pty: bool = True,
        timeout: float = DEFAULT_EXEC_TIMEOUT_S,
    ) -> int:
        """See ``GuestAccess.exec``."""
        return self.run_command(cmd, env, Deadline.after(timeout)).exit_code

    def exec_async(
        self,
        cmd: str,
        env: dict[str, str] | None = None,
        stdout: IO[bytes] | int | None = None,
        stderr: IO[bytes] | int | None = None,
    ) -> FakeGuestProcess:
        """See ``GuestAccess.exec_async``."""
        self.require_ready("exec_async")
        process = FakeGuestProcess(self, cmd, env, stdout)
        self.background.append(process)
        return process

    def exec_capture_bytes(self, cmd: str, *, timeout: float = DEFAULT_EXEC_TIMEOUT_S) -> bytes:
        """See ``GuestAccess.exec_capture_bytes``."""
        return self.run_command(cmd, None, Deadline.after(timeout)).stdout

    def run_hook(self, cmd: str, *, stage: str, timeout: float | None = None, use_pty: bool = True) -> int:
        """Run the hook as written (there is no shell to wrap it for) and keep its output in the stage's log."""
        result = self.run_command(cmd, None, Deadline.after(timeout))
        self.files.write(self.hook_log_paths([stage])[0], result.stdout + result.stderr, append=True)
        return result.exit_code

    def run_reset(self, script: str, seed: int | None = None) -> None:
        """See ``BaseRunner.run_reset``."""
        self._run_script(script, "reset", {"GYM_ANYTHING_SEED": "" if seed is None else str(seed)})

    def run_task_init(self, script: str) -> None:
        """See ``BaseRunner.run_task_init``."""
        self._run_script(script, "init", {})

    def _run_script(self, script: str, stage: str, env: dict[str, str]) -> None:
        result = self.run_command(script, env, Deadline.after(DEFAULT_EXEC_TIMEOUT_S))
        if result.exit_code != 0:
            tail = (result.stdout + result.stderr).decode(errors="replace")[-2000:]
            raise GuestCommandFailed(
                f"the {stage} script {script!r:.200} exited with {result.exit_code}: {tail}",
                detail={"exit_code": result.exit_code, "log_tail": tail},
            )

    def copy_to(self, host_src: str | os.PathLike[str], container_dst: str) -> None:
        """See ``GuestAccess.copy_to``."""
        self.require_ready("copy_to")
        self.files.copy_in(Path(host_src), container_dst)

    def copy_from(self, container_src: str, host_dst: str | os.PathLike[str]) -> None:
        """See ``GuestAccess.copy_from``."""
        self.require_ready("copy_from")
        self.files.copy_out(container_src, Path(host_dst))

    def to_container_path(self, host_path: str | os.PathLike[str]) -> str:
        """See ``GuestAccess.to_container_path``."""
        path = Path(host_path).absolute()
        for mount in self.spec.mounts:
            source = Path(mount.source).absolute()
            if path == source or source in path.parents:
                return str(Path(mount.target) / path.relative_to(source))
        return str(host_path)

    def save_state(self, save_paths: list[str] | None = None) -> str:
        """Keep the files under these paths (None: the spec's, else all) in the world itself."""
        self.require_ready("save_state")
        wanted = tuple(save_paths or self.spec.save_paths or ("/",))
        name = f"/var/lib/fake-snapshots/{len(self.snapshots)}"
        self.snapshots[name] = (wanted, self.files.snapshot())
        return name

    def load_state(self, snapshot_container_path: str) -> None:
        """Bring the kept paths back; what was made in them since is gone."""
        self.require_ready("load_state")
        if snapshot_container_path not in self.snapshots:
            raise GymAnythingError(f"no snapshot {snapshot_container_path!r} in this world")
        wanted, kept = self.snapshots[snapshot_container_path]
        for path in wanted:
            self.files.remove(path)
            for relative, file in kept.below(path):
                self.files.write(f"{path.rstrip('/')}/{relative}", file.content, mode=file.mode)
