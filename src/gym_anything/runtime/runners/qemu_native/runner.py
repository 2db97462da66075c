"""The QEMU runner: a virtual machine of this host's own QEMU, forked from one that was booted once."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

from gym_anything._util.deadline import Deadline
from gym_anything._util.sheltered_call import sheltered
from gym_anything.errors import CheckpointError, GymAnythingError, StateError, WorldStartFailed
from gym_anything.runtime.checkpoints.levels import CheckpointName
from gym_anything.runtime.checkpoints.store import Checkpoint
from gym_anything.runtime.images.store import StoredImage
from gym_anything.runtime.qemu.accelerator import choose_accelerator
from gym_anything.runtime.qemu.branching import QemuBranch
from gym_anything.runtime.qemu.cache import checkpoint_root, disk_root
from gym_anything.runtime.qemu.emulator import Emulator, HostEmulator
from gym_anything.runtime.qemu.fast_frames import chosen_frames, require_frames
from gym_anything.runtime.qemu.guest_machine import GuestMachine
from gym_anything.runtime.qemu.guest_ssh import open_ssh
from gym_anything.runtime.qemu.image.build import build_disk
from gym_anything.runtime.qemu.image.disk import StoredDisk
from gym_anything.runtime.qemu.keyboards import chosen_hands
from gym_anything.runtime.qemu.machine_plan import MachinePlan
from gym_anything.runtime.qemu.templates import SavedFiles, boot_from_disk, wake_copy
from gym_anything.runtime.qemu.waiting import WaitingMachines
from gym_anything.runtime.runners.base_forks import BranchPoint
from gym_anything.runtime.runners.compatibility import RunnerCompatibility
from gym_anything.runtime.runners.qemu_native import facts, other_options
from gym_anything.runtime.runners.qemu_native.checkpoint import QemuCheckpoints
from gym_anything.runtime.runners.qemu_native.forks import branch_world, note_for_fork
from gym_anything.runtime.runners.qemu_native.garbage import collect_stale
from gym_anything.runtime.runners.qemu_native.health import MachineHealth
from gym_anything.runtime.runners.qemu_native.options import QemuOptions, option_errors
from gym_anything.runtime.runners.qemu_native.other_guest import OtherGuestRunner
from gym_anything.runtime.runners.qemu_native.promises import unenforced
from gym_anything.runtime.runners.qemu_native.waking import wake_soon
from gym_anything.runtime.runners.qemu_native.world import (
    QemuWorld,
    check_sources,
    copy_mounts_in,
    copy_mounts_out,
    furnish,
)
from gym_anything.runtime.runners.runtime_info import RuntimeInfo
from gym_anything.runtime.session.accounts import DESKTOP_USER
from gym_anything.specs.env_spec import EnvSpec

KEY = "qemu_native"
DEFAULT_SIZE = (1280, 800)
_CPUS, _MEMORY_GB = 2, 2.0


class QemuNativeRunner(MachineHealth):
    """A Linux desktop in a machine of its own.

    The first world of an image and a machine size boots it and saves it; every other one is a clone of that.
    """

    _world: GuestMachine | None

    def __new__(cls, spec: EnvSpec) -> Self:
        """Return a world of the spec's system: those with Windows or Android are of a class of their own."""
        if spec.os_type in other_options.FAMILIES:
            return cls._other_guest()(spec)  # type: ignore[return-value]
        return super().__new__(cls)

    @classmethod
    def _other_guest(cls) -> type[OtherGuestRunner]:
        return OtherGuestRunner

    def __init__(self, spec: EnvSpec) -> None:
        super().__init__(spec)
        self._world = None
        self._lodging: QemuWorld | None = None
        self._making: GuestMachine | None = None
        self._plan: MachinePlan | None = None
        self._fast_io = False
        self._checkpoints = QemuCheckpoints(spec, self.volatile_option_paths())

    # --- facts ---------------------------------------------------------------------------------------------------

    @classmethod
    def runner_name(cls) -> str:
        return KEY

    @classmethod
    def doctor_status(cls) -> dict[str, Any]:
        return facts.status()

    @classmethod
    def unenforced_fields(cls, spec: EnvSpec) -> list[tuple[str, str]]:
        return other_options.unenforced(spec) if spec.os_type in other_options.FAMILIES else unenforced(spec)

    @classmethod
    def cache_components(cls) -> list[dict[str, Any]]:
        row = {"name": KEY, "category": "checkpoints", "paths": [str(checkpoint_root())]}
        disks = {"name": KEY, "category": "images", "paths": [str(disk_root())], "desc": "disks of QEMU worlds"}
        return [{**row, "desc": "saved machines of QEMU worlds", "collector": collect_stale}, disks]

    @classmethod
    def compatibility(cls) -> RunnerCompatibility:
        return facts.compatibility_row(cls.runner_name())

    @classmethod
    def install_plan(cls) -> list[dict[str, str]]:
        return facts.install_steps()

    @classmethod
    def platform_priority(cls) -> int:
        return 10

    @classmethod
    def autodetect_eligible(cls, spec: EnvSpec | None = None) -> bool:
        return facts.eligible(spec)

    @classmethod
    def ineligible_reason(cls, spec: EnvSpec) -> str:
        other = other_options.misfit(spec) if spec.os_type in other_options.FAMILIES else ""
        return other or super().ineligible_reason(spec)

    @classmethod
    def conformance_profile(cls) -> str:
        return "desktop_linux"

    @classmethod
    def validate_options(cls, spec: EnvSpec) -> list[str]:
        if spec.os_type in other_options.FAMILIES:
            return other_options.spec_errors(spec)
        return [*option_errors(spec.runner_options), *facts.spec_errors(spec)]

    @classmethod
    def volatile_option_paths(cls) -> tuple[str, ...]:
        return ("start_timeout_s", "begin", "fast_io_backend", "fast_keyboard")

    def supports_fast_io(self) -> bool:
        return True

    def set_fast_io(self, enabled: bool) -> None:
        super().set_fast_io(enabled)
        self._fast_io = enabled

    def supports_live_recording(self) -> bool:
        return True

    def pins_frames(self) -> bool:
        return True

    def acks_input_delivery(self) -> bool:
        return True

    def supports_checkpoint_caching(self) -> bool:
        return True

    def supports_savevm(self) -> bool:
        return True

    def supports_fork(self) -> bool:
        return True

    def screen_size(self) -> tuple[int, int]:
        return self.spec.screen_size or DEFAULT_SIZE

    # --- life ----------------------------------------------------------------------------------------------------

    def start(self, seed: int | None = None) -> None:
        self._check_stopped("start")
        sheltered(lambda: self._bring_up(None), give_up=self._give_up, name="qemu-start")

    def stop(self) -> None:
        lodging, self._lodging = self._lodging, None
        world, self._world = self._world, None
        if lodging is None:
            return
        try:
            usable = world is not None and world.process.alive and not lodging.ended and not self.abort_signal.is_set()
            if world is not None and usable and lodging.branch is None:
                copy_mounts_out(world, self.spec)
        finally:
            lodging.stop()

    def abort(self) -> None:
        super().abort()
        self._give_up()

    def _give_up(self) -> None:
        """End what the present world is doing; unlike ``abort`` a later start may still succeed."""
        for part in (self._making, self._lodging):
            if part is not None:
                part.abort()

    def get_runtime_info(self) -> RuntimeInfo:
        lodging = self._lodging
        door = None if lodging is None else lodging.door
        ssh = None if lodging is None else lodging.ssh
        return RuntimeInfo(
            runner_name=self.runner_name(),
            platform_family="linux",
            instance_name=None if lodging is None else lodging.place.id,
            vnc_port=None if door is None else door.port,
            vnc_url=None if door is None else door.url,
            vnc_password=None if door is None else door.password,
            ssh_port=None if ssh is None else ssh.port,
            ssh_user=None if ssh is None else ssh.user,
            ssh_password=None if ssh is None else ssh.password,
        )

    def _bring_up(self, saved: Checkpoint | QemuBranch | None) -> None:
        """Make a new world: from a checkpoint or branch point, from the image's booted template, or by a boot."""
        options = self._options()
        check_sources(self.spec)
        deadline = Deadline.after(options.start_timeout_s)
        lodging = self._lodging = QemuWorld(self.runner_name(), self.spec.id)
        try:
            self.abort_signal.check("start")
            machine = self._machine_from(saved, lodging, options.begin == "boot", deadline)
            if saved is None:
                furnish(machine.channel, self.spec)
            if not isinstance(saved, QemuBranch):  # whose own are as they were in the midst of the episode
                copy_mounts_in(machine.channel, self.spec, "rw")
            if self.spec.vnc.enable:
                self._open_door(lodging)
            if self.spec.ssh is not None:
                lodging.ssh = open_ssh(machine.channel, machine.process, self.spec.ssh, DESKTOP_USER, deadline)
        except OSError as error:
            if lodging.ended:  # its folder has gone under our feet
                self.abort_signal.check("start")
            if isinstance(error, GymAnythingError):
                raise
            raise WorldStartFailed(f"the world could not be started: {error}") from error
        self._world = machine
        machine.expect_input()

    def _machine_from(
        self, saved: Checkpoint | QemuBranch | None, lodging: QemuWorld, boot: bool, deadline: Deadline
    ) -> GuestMachine:
        plan, templates = self._plan_of_machine(), self._checkpoints.templates
        vnc = lodging.vnc_socket if self.spec.vnc.enable else None
        if isinstance(saved, QemuBranch):
            lodging.lie_on(saved, saved.hold())
            return wake_copy(saved.files, plan, lodging.place, deadline, lodging.take, vnc)
        if saved is None and boot:
            return boot_from_disk(plan, (), lodging.place, deadline, lodging.take, vnc)
        base = saved or templates.booted(plan, deadline, self._watch, self._told_to_end)
        lodging.lie_on(base, templates.store.lease(base))
        if vnc is not None:  # its socket lies in the world's own folder: nothing can wait for that
            return templates.wake(base, plan, lodging.place, deadline, lodging.take, vnc)
        return wake_soon(templates, base, plan, lodging, deadline)

    def _open_door(self, lodging: QemuWorld) -> None:
        door = lodging.open_door(self.spec.vnc)
        if door.moved_from is not None:
            self.report("note", text=f"VNC port {door.moved_from} is taken; it is {door.port} instead")

    def _plan_of_machine(self) -> MachinePlan:
        """Return what this world's machines are like; decided once. Raises: MissingDependency, SpecNotFound."""
        if self._plan is None:
            resources, choice = self.spec.resources, choose_accelerator()
            if choice.reason:
                self.report("note", text=choice.reason)
            image, programs = facts.built_image(self.spec.image or facts.DEFAULT_IMAGE)
            emulator, options = self._emulator(), self._options()
            frames, devices = chosen_frames(options.fast_io_backend), options.input_devices
            by_guest = frames == "guest"
            require_frames(emulator, frames)
            self._plan = MachinePlan(
                self._disk(image, programs),
                emulator,
                choice.accelerator,
                cpus=max(1, round(resources.cpu or _CPUS)),
                memory_mib=round((resources.mem_gb or _MEMORY_GB) * 1024),
                screen=self.screen_size(),
                outside=bool(resources.net),
                frames=frames,
                hands=chosen_hands(options.fast_keyboard, fast_io=self._fast_io, by_guest=by_guest, devices=devices),
                input_devices=devices,
            )
        return self._plan

    def _options(self) -> QemuOptions:
        return QemuOptions.model_validate(dict(self.spec.runner_options))

    def _emulator(self) -> Emulator:
        """Return the QEMU that this world's machines are of. Raises: MissingDependency."""
        return HostEmulator.find()

    def _disk(self, image: StoredImage, programs: dict[str, Path]) -> StoredDisk:
        def progress(stage: str) -> None:
            self.report("starting", stage=stage)

        return build_disk(image, programs, progress=progress, aborted=self._told_to_end)

    def _told_to_end(self) -> bool:
        lodging = self._lodging
        return self.abort_signal.is_set() or (lodging is not None and lodging.ended)

    def _watch(self, machine: GuestMachine | None) -> None:
        self._making = machine
        if machine is not None:
            self.report("starting", stage="starting the machine that others are copied from; once for an image")
            if self._told_to_end():
                machine.abort()

    def _check_stopped(self, doing: str) -> None:
        self.abort_signal.check(doing)
        if self._lodging is not None:
            raise StateError(f"{doing}: this world runs already; stop it first")

    def _running(self, doing: str) -> GuestMachine:
        self.abort_signal.check(doing)
        if self._world is None:
            raise StateError(f"{doing}: the world is not started")
        return self._world

    def fork_source(self) -> tuple[SavedFiles, MachinePlan]:
        """Return what worlds of this spec are copies of, made when it is not there, and their plan: to measure them."""
        plan, templates = self._plan_of_machine(), self._checkpoints.templates
        deadline = Deadline.after(self._options().start_timeout_s)
        return templates.files(templates.booted(plan, deadline, self._watch, self._told_to_end)), plan

    # --- checkpoints ---------------------------------------------------------------------------------------------

    def set_checkpoint_key(self, cache_level: str, task_id: str | None = None, use_savevm: bool = False) -> None:
        digest = self.episode_context.get("task_digest")
        name = CheckpointName.checked(cache_level, task_id, use_savevm)
        self._checkpoints.choose(name, None if digest is None else str(digest))

    def checkpoint_exists(self) -> bool:
        return self._checkpoints.exists(self._plan_of_machine())

    def create_checkpoint(self) -> bool:
        sheltered(self._create_checkpoint, give_up=self._give_up, name="qemu-checkpoint")
        return True

    def _create_checkpoint(self) -> None:
        machine, plan, lodging = self._running("create_checkpoint"), self._plan_of_machine(), self._lodging
        assert lodging is not None
        lodging.check_can_be_saved()
        if self._checkpoints.memory:
            self._checkpoints.make_with_memory(lodging, machine, plan)
            return
        copy_mounts_out(machine, self.spec)
        try:
            saved = self._checkpoints.make_from_disk(lodging, machine, plan, self._watch)
        except (CheckpointError, WorldStartFailed) as error:
            self._start_again(lodging, plan)
            raise CheckpointError(f"the world was not saved: {error}", detail=error.detail) from error
        self._lodging = self._world = None
        lodging.stop()
        self._bring_up(saved)

    def _start_again(self, lodging: QemuWorld, plan: MachinePlan) -> None:
        """Boot a world again from what it has written, after saving it failed."""
        if lodging.machine is None:
            above = [] if lodging.base is None else self._checkpoints.templates.layers(lodging.base)
            deadline = Deadline.after(self._options().start_timeout_s)
            self._world = boot_from_disk(plan, above, lodging.place, deadline, lodging.take)

    def delete_checkpoint(self) -> bool:
        deleted = self._checkpoints.delete(self._plan_of_machine())
        WaitingMachines.shared().drop()
        return deleted

    def start_from_checkpoint(self, seed: int | None = None) -> bool:
        self._check_stopped("start_from_checkpoint")
        saved = self._checkpoints.get(self._plan_of_machine())
        sheltered(lambda: self._bring_up(saved), give_up=self._give_up, name="qemu-start")
        return True

    # --- forks ---------------------------------------------------------------------------------------------------

    def branch(self) -> BranchPoint:
        return sheltered(self._branch, give_up=self._give_up, name="qemu-branch")

    def _branch(self) -> QemuBranch:
        machine, lodging = self._running("branch"), self._lodging
        assert lodging is not None
        with machine.explaining():
            return branch_world(lodging, machine, self._plan_of_machine(), self._checkpoints.templates)

    def start_from_branch(self, point: BranchPoint, seed: int | None = None) -> None:
        self._check_stopped("start_from_branch")
        if not isinstance(point, QemuBranch):
            raise StateError("start_from_branch: this branch point is of another kind of world")
        self._plan = point.plan  # not the one of now: the image may have been built anew since
        note = note_for_fork(self.spec)
        if note is not None:
            self.report("note", text=note)
        sheltered(lambda: self._bring_up(point), give_up=self._give_up, name="qemu-start")
