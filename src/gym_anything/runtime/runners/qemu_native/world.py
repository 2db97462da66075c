"""One QEMU world of one episode: its folder, its machine, the template that it lies on."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from gym_anything._util.deadline import Deadline
from gym_anything._util.state_dir import Run, WorldDir
from gym_anything._util.supervised_process import SupervisedProcess
from gym_anything._util.supervisor import Supervisor
from gym_anything.errors import Aborted, CheckpointUnsupported, GuestCommandFailed, SpecNotFound
from gym_anything.runtime.checkpoints.store import Checkpoint
from gym_anything.runtime.guest.channel import GuestChannel
from gym_anything.runtime.guest.shell_io import copy_in
from gym_anything.runtime.qemu.branching import DiskChain, Hold, QemuBranch
from gym_anything.runtime.qemu.guest_machine import GuestMachine
from gym_anything.runtime.qemu.guest_ssh import SshAccess, public_key
from gym_anything.runtime.qemu.waiting import Waiting
from gym_anything.runtime.session.account_texts import PATHS, AccountTexts, accounts_in, with_accounts
from gym_anything.runtime.session.accounts import DESKTOP_USER
from gym_anything.runtime.vnc.door import VncDoor, open_door
from gym_anything.specs.access import Vnc
from gym_anything.specs.accounts import UserAccount
from gym_anything.specs.env_spec import EnvSpec

_FILES_S = 600.0
_CALL_S = 60.0


class QemuWorld:
    """What a world has on the host. ``stop`` takes it down, whatever of it is there."""

    def __init__(self, key: str, env_id: str) -> None:
        self.place: WorldDir = Run.current().new_world(key, env=env_id)
        self.runner, self._env_id = key, env_id
        self.base: Checkpoint | None = None
        self.branch: QemuBranch | None = None
        self.disk = DiskChain(self.place.path)
        self.door: VncDoor | None = None
        self.ssh: SshAccess | None = None
        self._machine: GuestMachine | None = None
        self._lease: Hold | None = None
        self._lock = threading.Lock()
        self._ended = False

    @property
    def machine(self) -> GuestMachine | None:
        """The machine, once it is there."""
        return self._machine

    def lie_on(self, base: Checkpoint | QemuBranch, lease: Hold) -> None:
        """Note the template or branch point whose files the machine uses; it is held until the world has gone."""
        with self._lock:
            old, self._lease = self._lease, lease
            if isinstance(base, QemuBranch):
                self.branch = base
            else:
                self.base = base
            ended = self._ended
        if old is not None:
            old.release()
        if ended:
            self._release()

    def check_can_be_saved(self) -> None:
        """Raise CheckpointUnsupported where the disk has layers that belong to no checkpoint."""
        if self.branch is not None or self.disk.frozen:
            raise CheckpointUnsupported(
                "a world that was forked cannot be saved as a checkpoint: its disk lies on layers that go with its "
                "family; fork it once more, or save before the first fork",
                detail={"feature": "checkpoint of a fork"},
            )

    @property
    def vnc_socket(self) -> Path:
        """Where QEMU serves VNC, for this world's door alone."""
        return self.place.socket_path("vnc")

    def open_door(self, vnc: Vnc) -> VncDoor:
        """Open the way in for people: a port of this host's loopback with a password."""
        socket = self.vnc_socket
        with (self.place.path / "vnc.log").open("ab") as log:
            self.door = open_door(vnc, (str(socket.parent), socket.name), self._spawn, log.fileno())
        return self.door

    def _spawn(self, argv: Sequence[str], *, name: str, stderr: int, pass_fds: Mapping[int, int]) -> SupervisedProcess:
        env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", **self.place.env}
        name = f"{name} of world {self.place.id}"
        return Supervisor.shared().spawn(argv, name=name, env=env, stderr=stderr, pass_fds=pass_fds)

    def take(self, machine: GuestMachine | None) -> None:
        """Note the machine before it is started, so that ``stop`` ends it. Raises: Aborted when it was stopped."""
        with self._lock:
            self._machine = machine
            ended = self._ended
        if ended:
            if machine is not None:
                machine.stop()
            raise Aborted("start: ended by abort() or stop()")

    def adopt(self, waiting: Waiting) -> GuestMachine:
        """Take over a machine that waits, and its folder. Raises: Aborted when the world was stopped."""
        with self._lock:
            own, self.place = self.place, waiting.place
            self.disk = DiskChain(self.place.path)
        own.remove()
        waiting.lease.release()  # the world has its own
        self.take(waiting.machine)
        self.place.update_manifest(env=self._env_id, waiting=False)
        return waiting.machine

    @property
    def ended(self) -> bool:
        """True once the world was told to end."""
        return self._ended

    def abort(self) -> None:
        """End every blocked call. Any thread; returns at once."""
        self._ended = True
        if self._machine is not None:
            self._machine.abort()

    def end_machine(self) -> None:
        """End the machine; its files stay. Idempotent."""
        with self._lock:
            machine, self._machine = self._machine, None
        if machine is not None:
            machine.stop()

    def stop(self) -> None:
        """End the world and remove its folder. Idempotent."""
        self.abort()
        self.end_machine()
        Supervisor.shared().stop_world(self.place.id)
        self.place.remove()
        self._release()

    def _release(self) -> None:
        with self._lock:
            lease, self._lease = self._lease, None
        if lease is not None:
            lease.release()


def furnish(channel: GuestChannel, spec: EnvSpec) -> None:
    """Give a machine the accounts and the read-only files of its spec: what a restored one has already."""
    others = [user for user in spec.user_accounts if user.name != DESKTOP_USER]
    if others:
        _add_accounts(channel, spec.user_accounts)
    copy_mounts_in(channel, spec, "ro")


def copy_mounts_in(channel: GuestChannel, spec: EnvSpec, mode: str) -> None:
    """Copy the mounts of one mode in; read-write ones belong to the desktop's user there."""
    for mount in spec.mounts:
        if mount.mode == mode:
            copy_in(channel, _source(mount.source), mount.target, DESKTOP_USER if mode == "rw" else "root")


def copy_mounts_out(machine: GuestMachine, spec: EnvSpec) -> None:
    """Copy the read-write mounts back: new and changed files; what the world deleted stays on the host."""
    deadline = Deadline.after(_FILES_S)
    for mount in spec.mounts:
        if mount.mode != "rw":
            continue
        if machine.resting:
            machine.go_on(deadline)
        source = Path(mount.source).expanduser()
        if source.is_dir():
            machine.channel.get_tree(mount.target, source, deadline=deadline)
        else:
            machine.channel.get_file(mount.target, source, deadline=deadline)


def check_sources(spec: EnvSpec) -> None:
    """Raise SpecNotFound for a mount or a key whose file is not there, before a machine is started for it."""
    for mount in spec.mounts:
        _source(mount.source)
    if spec.ssh is not None:
        public_key(spec.ssh)


def _source(text: str) -> Path:
    path = Path(text).expanduser()
    if not path.exists():
        raise SpecNotFound(f"mount source {text} does not exist", detail={"key": "mounts", "source": text})
    return path


def _add_accounts(channel: GuestChannel, users: Sequence[UserAccount]) -> None:
    """Write the accounts into the guest's own files and make their homes."""
    deadline = Deadline.after(_CALL_S)
    texts = AccountTexts(**{name: channel.get_file(path, deadline=deadline).decode() for name, path in PATHS.items()})
    people = accounts_in(texts, users)
    done = with_accounts(texts, people)
    for name, path in PATHS.items():
        mode = 0o640 if "shadow" in name else 0o644
        channel.put_file(getattr(done, name).encode(), path, deadline=deadline, mode=mode)
    for account in people.accounts:
        if account.make_home and account.name != DESKTOP_USER:
            argv = ["/usr/bin/install", "-d", "-m", f"{account.home_mode:o}", "-o", str(account.uid)]
            made = channel.exec([*argv, "-g", str(account.gid), account.home], deadline=deadline)
            if not made.ok:
                raise GuestCommandFailed(f"no home for {account.name}: {made.stderr.decode(errors='replace')[-300:]}")
        if account.may_sudo:
            line = f"{account.name} ALL=(ALL:ALL) NOPASSWD: ALL\n".encode()
            channel.put_file(line, f"/etc/sudoers.d/{account.name}", deadline=deadline, mode=0o440)
