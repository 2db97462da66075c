"""The local runner: a private Debian desktop on this machine, in a sandbox of our own."""

from __future__ import annotations

import getpass
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import IO, Any

from gym_anything._util.deadline import Deadline
from gym_anything._util.sheltered_call import sheltered
from gym_anything._util.state_dir import Run
from gym_anything.actions.model import InputAction, PassthroughAction
from gym_anything.actions.parse import parse_action
from gym_anything.errors import (
    ActionUnsupported,
    CheckpointError,
    CheckpointUnsupported,
    GuestCommandFailed,
    StateError,
)
from gym_anything.observations.frame import Frame
from gym_anything.runtime.checkpoints.levels import CheckpointName
from gym_anything.runtime.runners.base import BaseRunner
from gym_anything.runtime.runners.base_guest import DEFAULT_EXEC_TIMEOUT_S, GuestProcess
from gym_anything.runtime.runners.base_senses import SettleResult
from gym_anything.runtime.runners.compatibility import RunnerCompatibility
from gym_anything.runtime.runners.hook_shell import hook_command
from gym_anything.runtime.runners.local import facts, io, view
from gym_anything.runtime.runners.local.bring_up import Blueprint, bring_up
from gym_anything.runtime.runners.local.checkpoint import LocalCheckpoints, WorldFiles, checkpoint_root
from gym_anything.runtime.runners.local.control_groups import orphaned_groups
from gym_anything.runtime.runners.local.desktop_session import DEFAULT_SIZE
from gym_anything.runtime.runners.local.launch import SANDBOX_PEOPLE, LocalWorld
from gym_anything.runtime.runners.local.mounts import copy_shared_out, decide_mounts
from gym_anything.runtime.runners.local.options import LocalOptions, option_errors
from gym_anything.runtime.runners.local.promises import unenforced
from gym_anything.runtime.runners.local.ui_tree import missing_packages, read_ui_tree
from gym_anything.runtime.runners.runtime_info import RuntimeInfo
from gym_anything.specs.env_spec import EnvSpec

KEY = "local"
_FLUSH_S = 3.0
"""How long programs may take to end by themselves before a checkpoint, so that they write what they still hold."""


class LocalRunner(BaseRunner):
    """One desktop on this machine: Xvnc, window manager, panel and programs of this host in a sandbox.

    The sandbox shows ``/usr`` and the harmless part of ``/etc`` read-only and nothing else of the host; everything the
    world writes lies in one overlay, which is what a checkpoint keeps.
    """

    def __init__(self, spec: EnvSpec) -> None:
        super().__init__(spec)
        self._world: LocalWorld | None = None
        self._plan: Blueprint | None = None
        self._checkpoints = LocalCheckpoints(spec, self.volatile_option_paths())

    # --- facts ---------------------------------------------------------------------------------------------------

    @classmethod
    def runner_name(cls) -> str:
        return KEY

    @classmethod
    def doctor_status(cls) -> dict[str, Any]:
        return facts.status()

    @classmethod
    def unenforced_fields(cls, spec: EnvSpec) -> list[tuple[str, str]]:
        return unenforced(spec)

    @classmethod
    def cache_components(cls) -> list[dict[str, Any]]:
        row = {"name": KEY, "category": "checkpoints", "paths": [str(checkpoint_root())]}
        return [{**row, "desc": "layers of local worlds", "collector": orphaned_groups}]

    @classmethod
    def compatibility(cls) -> RunnerCompatibility:
        return facts.compatibility_row(KEY)

    @classmethod
    def install_plan(cls) -> list[dict[str, str]]:
        return facts.install_steps()

    @classmethod
    def platform_priority(cls) -> int:
        return 50

    @classmethod
    def autodetect_eligible(cls, spec: EnvSpec | None = None) -> bool:
        return facts.eligible(spec)

    @classmethod
    def conformance_profile(cls) -> str:
        return "desktop_linux"

    @classmethod
    def validate_options(cls, spec: EnvSpec) -> list[str]:
        return option_errors(spec.runner_options)

    def supports_fast_io(self) -> bool:
        return True

    def supports_live_recording(self) -> bool:
        return True

    def pins_frames(self) -> bool:
        return True

    def acks_input_delivery(self) -> bool:
        return True

    def supports_checkpoint_caching(self) -> bool:
        return bool(self.spec.runner_options.get("sandbox", True))

    # --- life ----------------------------------------------------------------------------------------------------

    def start(self, seed: int | None = None) -> None:
        self._check_stopped("start")
        self._checkpoints.release()
        sheltered(self._bring_up, give_up=self._give_up, name="local-start")

    def stop(self) -> None:
        world, self._world = self._world, None
        if world is None:
            return
        try:
            self._copy_shared_out(world)
        finally:
            world.stop()
            self._checkpoints.release()

    def abort(self) -> None:
        super().abort()
        self._give_up()

    def _give_up(self) -> None:
        """End what the present world is doing; unlike ``abort`` a later start may still succeed."""
        world = self._world
        if world is not None:
            world.abort()

    def get_runtime_info(self) -> RuntimeInfo:
        world = self._world
        name = world.place.id if world is not None else None
        door = world.door if world is not None else None
        return RuntimeInfo(
            runner_name=KEY,
            platform_family="linux",
            container_name=name,
            instance_name=name,
            vnc_port=None if door is None else door.port,
            vnc_url=None if door is None else door.url,
            vnc_password=None if door is None else door.password,
        )

    def _bring_up(self) -> None:
        """Make a new world on the layers of the chosen base, if any."""
        options = LocalOptions.model_validate(dict(self.spec.runner_options))
        mounts = decide_mounts(self.spec, ids_are_mapped=os.geteuid() == 0)
        self._plan = Blueprint(self.spec, options, view.host_view(self.spec, options), mounts)
        self._world = LocalWorld(Run.current().new_world(KEY, env=self.spec.id))
        self.abort_signal.check("start")
        bring_up(self._world, self._plan, self._checkpoints.layers(), self.report)

    def _copy_shared_out(self, world: LocalWorld) -> None:
        if self._plan is not None and self._plan.mounts.shared and world.usable and not self.abort_signal.is_set():
            copy_shared_out(world.channel, self._plan.mounts)

    def _check_stopped(self, doing: str) -> None:
        self.abort_signal.check(doing)
        if self._world is not None:
            raise StateError(f"{doing}: this world runs already; stop it first")

    # --- checkpoints ---------------------------------------------------------------------------------------------

    def set_checkpoint_key(self, cache_level: str, task_id: str | None = None, use_savevm: bool = False) -> None:
        if not self.supports_checkpoint_caching():
            raise self._no_checkpoints()
        if use_savevm:
            raise CheckpointUnsupported(
                "a local world keeps its disk, not its memory; use use_cache without use_savevm",
                detail={"feature": "use_savevm"},
            )
        digest = self.episode_context.get("task_digest")
        self._checkpoints.choose(CheckpointName.checked(cache_level, task_id), None if digest is None else str(digest))

    def checkpoint_exists(self) -> bool:
        return self._checkpoints.exists()

    def create_checkpoint(self) -> bool:
        world = self._running("create_checkpoint")
        _ = self._checkpoints.material  # what is missing is found before anything ends
        self._checkpoints.check_base()
        self._copy_shared_out(world)
        world.shut_down(_FLUSH_S, Deadline.after(_FLUSH_S + 10))
        world.end_processes()
        files = WorldFiles(world.place.path, int(world.facts["base_uid"]), int(world.facts["id_count"]))
        try:
            self._checkpoints.make(files)
        except CheckpointError:
            assert self._plan is not None
            bring_up(world, self._plan, self._checkpoints.layers(), self.report)
            raise
        self._world = None
        world.stop()
        self._bring_up()
        return True

    def delete_checkpoint(self) -> bool:
        """See the contract; while a world lies on it nobody finds it any more, and its files go with that world."""
        return self._checkpoints.delete()

    def start_from_checkpoint(self, seed: int | None = None) -> bool:
        self._check_stopped("start_from_checkpoint")
        self._checkpoints.use()
        sheltered(self._bring_up, give_up=self._give_up, name="local-start")
        return True

    def _running(self, doing: str) -> LocalWorld:
        self.abort_signal.check(doing)
        if self._world is None:
            raise StateError(f"{doing}: the world is not started")
        return self._world

    # --- commands and files --------------------------------------------------------------------------------------

    def exec(
        self,
        cmd: str,
        env: dict[str, str] | None = None,
        user: str | None = None,
        use_pty: bool = True,
        timeout: float = DEFAULT_EXEC_TIMEOUT_S,
    ) -> int:
        channel = self._running("exec").channel
        merged = self.merge_exec_env(env)
        who = self._who(user)
        return io.run_shell(channel, cmd, env=merged, user=who, timeout_s=timeout, pty=use_pty).exit_code

    def exec_capture_bytes(self, cmd: str, *, timeout: float = DEFAULT_EXEC_TIMEOUT_S) -> bytes:
        channel = self._running("exec_capture").channel
        return io.run_shell(channel, cmd, env=self.merge_exec_env(), user=self._who(), timeout_s=timeout).stdout

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
            return io.DetachedProcess(world.channel, cmd, merged, self._who())
        return io.StreamedProcess(world.new_channel(Deadline.after(10)), cmd, merged, self._who(), stdout, stderr)

    def copy_to(self, host_src: str | os.PathLike[str], container_dst: str) -> None:
        source = Path(host_src)
        if not source.exists():
            raise FileNotFoundError(f"copy_to: no such file on the host: {source}")
        world = self._running("copy_to")
        at_home = container_dst.startswith(f"{world.people.home}/")
        io.copy_in(world.channel, source, container_dst, world.people.desktop if at_home else world.people.admin)

    def copy_from(self, container_src: str, host_dst: str | os.PathLike[str]) -> None:
        io.copy_out(self._running("copy_from").channel, container_src, Path(host_dst), self._who())

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
        home = self._world.people.home if self._world is not None else SANDBOX_PEOPLE.home
        return [f"{home}/{PurePosixPath(path).name}" for path in super().hook_log_paths(stages)]

    def run_reset(self, script: str, seed: int | None = None) -> None:
        self._run_script(script, "reset", {} if seed is None else {"GYM_ANYTHING_SEED": str(seed)})

    def run_task_init(self, script: str) -> None:
        self._run_script(script, "task_init", {})

    def _run_script(self, script: str, stage: str, env: Mapping[str, str]) -> None:
        channel = self._running(stage).channel
        merged = self.merge_exec_env(dict(env))
        result = io.run_shell(channel, script, env=merged, user=self._who(), timeout_s=DEFAULT_EXEC_TIMEOUT_S)
        if result.exit_code != 0:
            tail = (result.stderr or result.stdout)[-2000:].decode(errors="replace")
            raise GuestCommandFailed(
                f"the {stage} script exited with {result.exit_code}: {script[:200]}; output tail: {tail}",
                detail={"exit_code": result.exit_code, "log_tail": tail},
            )

    # --- screen and input ----------------------------------------------------------------------------------------

    def screen_size(self) -> tuple[int, int]:
        return self.spec.screen_size or DEFAULT_SIZE

    def inject_action(self, action: dict[str, Any]) -> Any:
        world = self._running("inject_action")
        parsed = parse_action(action, screen=self.screen_size())
        if isinstance(parsed, InputAction):
            world.desktop.send(parsed.ops)
            return None
        what = parsed.raw if isinstance(parsed, PassthroughAction) else action
        raise ActionUnsupported(f"a local desktop cannot do this action: {str(what)[:200]}")

    def release_held_inputs(self) -> None:
        self._running("release_held_inputs").desktop.release_held()

    def capture_frame(self, after_input: int | None = None) -> Frame:
        return self._running("capture_frame").desktop.frame()

    def settle(self, quiet_ms: float = 100, max_ms: float = 2000) -> SettleResult:
        return self._running("settle").desktop.settle(quiet_ms, max_ms)

    def capture_ui_tree(self) -> str:
        world = self._running("capture_ui_tree")
        missing = missing_packages()
        if missing:
            raise self.unsupported("ui_tree", f"not installed: {', '.join(missing)}", f"apt-get install {missing[0]}")
        return read_ui_tree(world.channel, self.merge_exec_env(), world.people.desktop)

    def capture_observation(self) -> dict[str, Any]:
        self._running("capture_observation")
        return {}
