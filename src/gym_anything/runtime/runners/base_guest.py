"""The guest part of the runner contract: commands and files inside the world."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from gym_anything.runtime.runners.base_facts import RunnerFacts
from gym_anything.runtime.runners.hook_shell import hook_command, hook_log_path

if TYPE_CHECKING:
    from gym_anything.specs.env_spec import EnvSpec

DEFAULT_EXEC_TIMEOUT_S = 600


def accepts_keyword(method: Callable[..., Any], name: str) -> bool:
    """Tell whether a runner's own version of a contract method takes this keyword (older ones take fewer)."""
    import inspect

    parameters = inspect.signature(method).parameters
    return name in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


class GuestProcess(Protocol):
    """What ``exec_async`` returns: the part of ``subprocess.Popen`` that every world can offer."""

    def poll(self) -> int | None:
        """Return the exit code, or None while it runs."""
        ...

    def wait(self, timeout: float | None = None) -> int:
        """Wait and return the exit code; raises ``TimeoutError`` (or ``subprocess.TimeoutExpired``)."""
        ...

    def terminate(self) -> None:
        """Ask it to end."""
        ...

    def kill(self) -> None:
        """End it."""
        ...


class GuestAccess(RunnerFacts):
    """Commands and files. All of it is called in READY only and raises ``WorldLost`` when the world is gone.

    A world with a shell overrides ``exec``, ``exec_capture`` (or ``exec_capture_bytes``), ``copy_to`` and
    ``copy_from``; the rest follows. A world without one overrides nothing, or only ``run_hook``.
    """

    spec: EnvSpec

    # --- commands ------------------------------------------------------------------------------------------------

    def exec(
        self,
        cmd: str,
        env: dict[str, str] | None = None,
        user: str | None = None,
        use_pty: bool = True,
        timeout: float = DEFAULT_EXEC_TIMEOUT_S,
    ) -> int:
        """Run one command line in the guest's shell and return its exit code.

        Args:
            cmd: a command line for the guest's shell (``bash -lc``, PowerShell, ``sh``); its output is not returned.
            env: added to ``default_exec_env()``.
            user: guest user; None means the one the runner uses for hooks (root).
            use_pty: give it a terminal, where the world has one to give.
            timeout: seconds; then the command *and its children* are killed in the guest.
        stdin is empty. A child left in the background does not keep the call from returning.
        Returns: the exit code, 128 + n when killed by signal n. Non-zero does not raise.
        Raises: GuestCommandFailed with ``detail["timed_out"]`` after ``timeout``; Aborted; WorldLost.
        """
        raise self.unsupported("exec", "this world runs no commands")

    def exec_async(
        self,
        cmd: str,
        env: dict[str, str] | None = None,
        stdout: IO[bytes] | int | None = None,
        stderr: IO[bytes] | int | None = None,
    ) -> GuestProcess:
        """Start a command line and return its handle; it is killed with the world. None for output means discarded."""
        raise self.unsupported("exec_async", "this world starts no background commands")

    def exec_capture(self, cmd: str, *, timeout: float = DEFAULT_EXEC_TIMEOUT_S) -> str:
        """Run like ``exec`` (as root) and return its standard output as text (UTF-8, undecodable bytes replaced).

        The exit code does not matter and standard error is not included; write ``2>&1`` to have it. (Older runners take
        ``cmd`` alone: core passes ``timeout`` only where ``accepts_keyword`` says yes.)
        """
        if self.overrides(["exec_capture_bytes"]):
            limits = {"timeout": timeout} if accepts_keyword(self.exec_capture_bytes, "timeout") else {}
            return self.exec_capture_bytes(cmd, **limits).decode("utf-8", errors="replace")
        raise self.unsupported("exec_capture", "this world runs no commands")

    def exec_capture_bytes(self, cmd: str, *, timeout: float = DEFAULT_EXEC_TIMEOUT_S) -> bytes:
        """Run like ``exec_capture`` and return the bytes unchanged."""
        raise self.unsupported("exec_capture_bytes", "this world runs no commands, or returns text only")

    def default_exec_env(self) -> dict[str, str]:
        """Return the environment every guest command gets: the spec's secrets, and the display of a Linux desktop."""
        security = getattr(self.spec, "security", None)
        env = dict(getattr(security, "resolved_env", None) or {})
        if self.get_platform_family() == "linux":
            env.setdefault("DISPLAY", ":1")
        return env

    def merge_exec_env(self, env: dict[str, str] | None = None) -> dict[str, str]:
        """Return ``default_exec_env()`` with ``env`` on top."""
        return {**self.default_exec_env(), **(env or {})}

    def get_platform_family(self) -> str:
        """Return ``linux``, ``windows``, ``android`` or ``macos`` (the spec's ``os_type``, else ``linux``)."""
        return str(getattr(self.spec, "os_type", None) or "linux")

    # --- hooks ---------------------------------------------------------------------------------------------------

    def run_hook(self, cmd: str, *, stage: str, timeout: float | None = None, use_pty: bool = True) -> int:
        """Run one hook command line of the spec, as root, with its output in the stage's log in the guest.

        The default wraps the whole command line for the shell of the guest's family (a login shell on Linux, so that
        ``FOO=1 bar | baz && qux`` and quotes work as written) and runs it by ``exec``. A world with no shell overrides
        this.

        Args: stage: ``pre_start``, ``post_start``, ``reset``, ``pre_task``, ``post_task``.
        Returns: the exit code. Raises: as ``exec``.
        """
        family = self.get_platform_family()
        wrapped = hook_command(cmd, family=family, log_path=hook_log_path(stage, family=family))
        limit = DEFAULT_EXEC_TIMEOUT_S if timeout is None else timeout
        return self.exec(wrapped, use_pty=use_pty, timeout=limit)

    def hook_log_paths(self, stages: list[str]) -> list[str]:
        """Return where ``run_hook`` leaves these stages' output in the guest, in the same order."""
        family = self.get_platform_family()
        return [hook_log_path(stage, family=family) for stage in stages]

    # --- files ---------------------------------------------------------------------------------------------------

    def copy_to(self, host_src: str | os.PathLike[str], container_dst: str) -> None:
        """Copy a file or a folder (its content becomes ``container_dst``) from the host into the world.

        Parents are made, modes kept, an existing file replaced. Raises: FileNotFoundError for a missing source.
        """
        raise self.unsupported("copy_to", "this world has no file system")

    def copy_from(self, container_src: str, host_dst: str | os.PathLike[str]) -> None:
        """Copy a file or a folder from the world to the host.

        Raises: GuestFileNotFound (a ``FileNotFoundError``) when it is missing; ``host_dst`` is then untouched.
        """
        raise self.unsupported("copy_from", "this world has no file system")

    def put_file(self, host_path: str | os.PathLike[str]) -> str:
        """Copy one host file to a fresh place in the guest and return its guest path.

        The default uses ``copy_to`` and the family's temporary folder.
        """
        import uuid

        folder = {"windows": "C:\\Windows\\Temp\\", "android": "/data/local/tmp/"}.get(
            self.get_platform_family(), "/tmp/"
        )
        destination = f"{folder}ga_{uuid.uuid4().hex[:12]}_{Path(host_path).name}"
        self.copy_to(host_path, destination)
        return destination

    def to_container_path(self, host_path: str | os.PathLike[str]) -> str:
        """Return where a host path appears inside the world through its mounts; the path itself when nowhere."""
        return str(host_path)

    # --- save and load -------------------------------------------------------------------------------------------

    def save_state(self, save_paths: list[str] | None = None) -> str:
        """Save these guest paths (None: the spec's ``save_paths``) and return the snapshot's guest path."""
        raise self.unsupported("save_state", "this runner cannot save the state of a running world")

    def load_state(self, snapshot_container_path: str) -> Any:
        """Bring back what ``save_state`` saved."""
        raise self.unsupported("load_state", "this runner cannot load a saved state")
