"""QEMU worlds with Windows or Android: booted from the user's image, reached by SSH or adb, seen and moved by QEMU."""

from __future__ import annotations

import dataclasses
import itertools
import os
from pathlib import Path
from typing import Any

from gym_anything._util import proc
from gym_anything._util.deadline import Deadline
from gym_anything._util.sheltered_call import sheltered
from gym_anything.actions.model import InputAction, Move, PassthroughAction
from gym_anything.actions.parse import parse_action
from gym_anything.errors import (
    ActionUnsupported,
    GuestCommandFailed,
    GymAnythingError,
    InputDeliveryUnknown,
    SpecNotFound,
    StateError,
    WorldError,
    WorldStartFailed,
)
from gym_anything.observations.frame import Frame
from gym_anything.runtime.guest.adb import hands
from gym_anything.runtime.guest.adb.device import AndroidShell
from gym_anything.runtime.guest.exec_result import ExecResult
from gym_anything.runtime.guest.other_shell import OtherShell
from gym_anything.runtime.guest.ssh.command import SshLogin
from gym_anything.runtime.guest.ssh.shell import WindowsShell
from gym_anything.runtime.qemu.accelerator import choose_accelerator
from gym_anything.runtime.qemu.emulator import Emulator, HostEmulator
from gym_anything.runtime.qemu.fast_frames import require_qmp
from gym_anything.runtime.qemu.machine_spec import DiskLayer
from gym_anything.runtime.qemu.other_images import existing_image
from gym_anything.runtime.qemu.other_machine_spec import Firmware, OtherMachineSpec
from gym_anything.runtime.qemu.overlay import make_overlay
from gym_anything.runtime.runners.base import BaseRunner
from gym_anything.runtime.runners.base_guest import DEFAULT_EXEC_TIMEOUT_S
from gym_anything.runtime.runners.qemu_native.health import ask_emulator
from gym_anything.runtime.runners.qemu_native.other_lines import hook_line, with_environment
from gym_anything.runtime.runners.qemu_native.other_machines import (
    disk_format,
    find_firmware,
    hardware_of,
    machine_of,
)
from gym_anything.runtime.runners.qemu_native.other_options import OtherOptions, family_of, image_of
from gym_anything.runtime.runners.qemu_native.other_world import DISK, OtherWorld
from gym_anything.runtime.runners.runtime_info import RuntimeInfo
from gym_anything.specs.access import Adb, Ssh
from gym_anything.specs.env_spec import EnvSpec

WINDOWS_USER, WINDOWS_PASSWORD, SSH_PORT = "Docker", "GymAnything123!", 22
"""The account of the images that the preset windows-11 means."""
DEFAULT_SIZE = (1920, 1080)
_FRAME_S, _INPUT_S, _FILES_S, _LIFE_S = 10.0, 60.0, 600.0, 2.0


class OtherGuestRunner(BaseRunner):
    """A machine with Windows or Android. It has no checkpoints and cannot be forked: every world is a boot."""

    def __init__(self, spec: EnvSpec) -> None:
        super().__init__(spec)
        self._family = family_of(spec)
        self._world: OtherWorld | None = None
        self._frames, self._inputs = itertools.count(1), 0

    @classmethod
    def runner_name(cls) -> str:
        return "qemu_native"

    def supports_fast_io(self) -> bool:
        return True

    def supports_live_recording(self) -> bool:
        return True

    def pins_frames(self) -> bool:
        return True

    def screen_size(self) -> tuple[int, int]:
        return self.spec.screen_size or DEFAULT_SIZE

    def _emulator(self) -> Emulator:
        """Return the QEMU that this world's machine is of. Raises: MissingDependency."""
        return HostEmulator.find()

    # --- life ----------------------------------------------------------------------------------------------------

    def start(self, seed: int | None = None) -> None:
        self.abort_signal.check("start")
        if self._world is not None:
            raise StateError("start: this world runs already; stop it first")
        sheltered(self._bring_up, give_up=self._give_up, name="qemu-start")

    def _bring_up(self) -> None:
        require_qmp(self._family.capitalize())
        options = OtherOptions.model_validate(dict(self.spec.runner_options))
        image = existing_image(image_of(self.spec), self._family)
        for source in (*(mount.source for mount in self.spec.mounts), *self.spec.apks):
            _existing(source)
        deadline = Deadline.after(options.start_timeout_s)
        world = self._world = OtherWorld(self.runner_name(), self.spec.id)
        try:
            self.abort_signal.check("start")
            emulator = self._emulator()
            spec = self._machine(world, emulator, disk_format(image))
            self.report("starting", stage=f"starting {self._family.capitalize()}")
            world.start(spec, emulator, self._guest_port(), self._new_shell, deadline)
            self._furnish(world, deadline)
        except OSError as error:
            world.check_going_on()  # its folder may have gone under our feet
            if isinstance(error, GymAnythingError):
                raise
            raise WorldStartFailed(f"the world could not be started: {error}") from error

    def _machine(self, world: OtherWorld, emulator: Emulator, base: DiskLayer) -> OtherMachineSpec:
        choice = choose_accelerator()
        if choice.reason:
            self.report("note", text=choice.reason)
        make_overlay(world.place.path / DISK, _disk_mib(base.path), emulator)
        spec = machine_of(
            self.spec,
            name=world.place.id,
            layers=(base, DiskLayer(world.place.path / DISK)),
            accelerator=choice.accelerator,
            guest_port=self._guest_port(),
            screen=self.screen_size(),
            vnc_socket=world.vnc_socket if self.spec.vnc.enable else None,
        )
        if not hardware_of(self.spec)[1]:
            return spec
        code, settings = find_firmware(emulator)
        firmware = Firmware(code, world.firmware_settings(settings))
        return spec.with_(hardware=dataclasses.replace(spec.hardware, firmware=firmware))

    def _furnish(self, world: OtherWorld, deadline: Deadline) -> None:
        for mount in self.spec.mounts:
            world.shell.put(_existing(mount.source), mount.target, deadline)
        if isinstance(world.shell, AndroidShell):
            for package in self.spec.apks:
                world.shell.install(_existing(package), deadline)
        if self.spec.vnc.enable:
            door = world.open_door(self.spec.vnc)
            if door.moved_from is not None:
                self.report("note", text=f"VNC port {door.moved_from} is taken; it is {door.port} instead")

    def _guest_port(self) -> int:
        if self._family == "android":
            return (self.spec.adb or Adb()).guest_port
        return (self.spec.ssh or Ssh()).port or SSH_PORT

    def _new_shell(self, port: int) -> OtherShell:
        world, wish = self._world, self.spec.ssh or Ssh()
        assert world is not None
        if self._family == "android":
            return AndroidShell(port)
        key = None if wish.key_file is None else Path(wish.key_file).expanduser().absolute()
        password = wish.password or (WINDOWS_PASSWORD if key is None else None)
        login = SshLogin(port, wish.user or WINDOWS_USER, password, key)
        return WindowsShell(login, world.place.path, world.place.env)

    def stop(self) -> None:
        world, self._world = self._world, None
        if world is None:
            return
        try:
            if world.process.alive and not world.ended and not self.abort_signal.is_set():
                for mount in self.spec.mounts:
                    if mount.mode == "rw":
                        world.shell.get(mount.target, Path(mount.source).expanduser(), Deadline.after(_FILES_S))
        finally:
            world.stop()

    def abort(self) -> None:
        super().abort()
        self._give_up()

    def _give_up(self) -> None:
        """End what the present world is doing; unlike ``abort`` a later start may still succeed."""
        world = self._world
        if world is not None:
            world.abort()

    def _running(self, doing: str) -> OtherWorld:
        self.abort_signal.check(doing)
        if self._world is None:
            raise StateError(f"{doing}: the world is not started")
        return self._world

    def seed_matters_at_start(self) -> bool:
        return False

    def check_life(self, deep: bool = False) -> None:
        world, deadline = self._running("check_life"), Deadline.after(_LIFE_S)
        ask_emulator(world.process)
        why_not = world.shell.is_up(deadline) if deep else ""
        if why_not:
            raise WorldError(f"the guest does not answer: {why_not}")

    def memory_mib(self) -> float | None:
        world = self._world
        return None if world is None or not world.process.alive else proc.pss_kib(world.process.pid) / 1024 or None

    def get_runtime_info(self) -> RuntimeInfo:
        world = self._world
        door = None if world is None else world.door
        by_ssh = world is not None and self._family == "windows"
        return RuntimeInfo(
            runner_name=self.runner_name(),
            platform_family=self._family,
            instance_name=None if world is None else world.place.id,
            vnc_port=None if door is None else door.port,
            vnc_url=None if door is None else door.url,
            vnc_password=None if door is None else door.password,
            ssh_port=world.port if world is not None and by_ssh else None,
            ssh_user=(self.spec.ssh or Ssh()).user or WINDOWS_USER if by_ssh else None,
        )

    # --- eyes and hands ------------------------------------------------------------------------------------------

    def capture_frame(self, after_input: int | None = None) -> Frame:
        array, at = self._running("capture_frame").screen.picture(Deadline.after(_FRAME_S))
        return Frame(array=array, seq=next(self._frames), captured_at=at, after_input=self._inputs)

    def capture_observation(self) -> dict[str, Any]:
        self._running("capture_observation")
        return {}

    def inject_action(self, action: dict[str, Any]) -> Any:
        world = self._running("inject_action")
        parsed = parse_action(action, screen=self.screen_size())
        if not isinstance(parsed, InputAction):
            what = parsed.raw if isinstance(parsed, PassthroughAction) else action
            raise ActionUnsupported(f"a machine cannot do this action: {str(what)[:200]}")
        said = None
        if self._family == "android":
            said = self._touch(world, parsed)
        else:
            world.hands.do(parsed.ops, Deadline.after(_INPUT_S))
        self._inputs += 1
        return said

    def _touch(self, world: OtherWorld, action: InputAction) -> str | None:
        lines = hands.input_lines(action.ops, self.screen_size())
        if lines:
            done = world.shell.run("set -e\n" + "\n".join(lines), Deadline.after(_INPUT_S))
            if not done.ok:
                tail = (done.stderr or done.stdout)[-500:].decode(errors="replace")
                raise InputDeliveryUnknown(f"Android's 'input' ended with {done.exit_code}: {tail}", detail={})
        return hands.NO_POINTER if any(isinstance(op, Move) for op in action.ops) else None

    def release_held_inputs(self) -> None:
        world = self._running("release_held_inputs")
        if self._family == "windows":
            world.hands.release(Deadline.after(_INPUT_S))

    # --- commands and files --------------------------------------------------------------------------------------

    def exec(
        self,
        cmd: str,
        env: dict[str, str] | None = None,
        user: str | None = None,
        use_pty: bool = True,
        timeout: float = DEFAULT_EXEC_TIMEOUT_S,
    ) -> int:
        if user is not None:
            raise self.unsupported("exec as another user", f"commands of a {self._family} guest run as one user")
        return self._run(cmd, timeout, env).exit_code

    def exec_capture_bytes(self, cmd: str, *, timeout: float = DEFAULT_EXEC_TIMEOUT_S) -> bytes:
        return self._run(cmd, timeout).stdout

    def _run(self, cmd: str, timeout: float, env: dict[str, str] | None = None) -> ExecResult:
        line = with_environment(cmd, self.merge_exec_env(env), self._family)
        result = self._running("exec").shell.run(line, Deadline.after(timeout))
        if result.timed_out:
            tail = (result.stderr or result.stdout)[-2000:].decode(errors="replace")
            raise GuestCommandFailed(
                f"a command took longer than {timeout:g} s and was ended: {cmd[:200]}; output tail: {tail}",
                detail={"timed_out": True, "exit_code": result.exit_code, "log_tail": tail},
            )
        return result

    def copy_to(self, host_src: str | os.PathLike[str], container_dst: str) -> None:
        source = Path(host_src)
        if not source.exists():
            raise FileNotFoundError(f"copy_to: no such file on the host: {source}")
        self._running("copy_to").shell.put(source, container_dst, Deadline.after(_FILES_S))

    def copy_from(self, container_src: str, host_dst: str | os.PathLike[str]) -> None:
        self._running("copy_from").shell.get(container_src, Path(host_dst), Deadline.after(_FILES_S))

    def to_container_path(self, host_path: str | os.PathLike[str]) -> str:
        wanted = Path(host_path).absolute()
        for mount in self.spec.mounts:
            source = Path(mount.source).expanduser().absolute()
            if wanted == source or source in wanted.parents:
                below = wanted.relative_to(source).as_posix()
                path = mount.target.rstrip("/\\") + ("" if below == "." else f"/{below}")
                return path.replace("/", "\\") if self._family == "windows" else path
        return str(host_path)

    def run_hook(self, cmd: str, *, stage: str, timeout: float | None = None, use_pty: bool = True) -> int:
        return super().run_hook(hook_line(cmd, self._family), stage=stage, timeout=timeout, use_pty=use_pty)

    def run_reset(self, script: str, seed: int | None = None) -> None:
        self._run_script(script, "reset", {} if seed is None else {"GYM_ANYTHING_SEED": str(seed)})

    def run_task_init(self, script: str) -> None:
        self._run_script(script, "task_init", {})

    def _run_script(self, script: str, stage: str, env: dict[str, str]) -> None:
        result = self._run(hook_line(script, self._family), DEFAULT_EXEC_TIMEOUT_S, env)
        if result.exit_code != 0:
            tail = (result.stderr or result.stdout)[-2000:].decode(errors="replace")
            raise GuestCommandFailed(
                f"the {stage} script exited with {result.exit_code}: {script[:200]}; output tail: {tail}",
                detail={"exit_code": result.exit_code, "log_tail": tail},
            )


def _existing(text: str) -> Path:
    path = Path(text).expanduser()
    if not path.exists():
        raise SpecNotFound(f"{text} does not exist", detail={"source": text})
    return path


def _disk_mib(image: Path) -> int:
    """Return the size of the disk that a qcow2 image is of, in MiB. Source: QEMU ``docs/interop/qcow2``."""
    with image.open("rb") as file:
        header = file.read(32)
    return -(-int.from_bytes(header[24:32], "big") // (1 << 20))
