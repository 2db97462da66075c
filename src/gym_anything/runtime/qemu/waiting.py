"""Machines in waiting: copies of a saved machine that were made ahead, in QEMU processes of this process.

A copy needs most of its time for QEMU's start and for the first words with its guest, whose every instruction is new to
an emulator. So while a world runs, the next one's machine is started beside it, with its own folder, disk layer, ports
and identity; it wakes, is probed, has everything connected, and stands still. Whoever takes it has it alone: it goes on
from there with the time of now.
All of them are labelled and supervised as every world is: they end with this process.
"""

from __future__ import annotations

import dataclasses
import os
import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import ClassVar

from gym_anything._util import env_vars
from gym_anything._util.deadline import Deadline
from gym_anything._util.state_dir import Run, WorldDir
from gym_anything._util.supervisor import Supervisor
from gym_anything._util.waiting import wait_until
from gym_anything.errors import Aborted, GymAnythingError
from gym_anything.runtime.checkpoints.store import Lease
from gym_anything.runtime.qemu.guest_machine import GuestMachine
from gym_anything.runtime.qemu.machine_plan import MachinePlan
from gym_anything.runtime.qemu.templates import STATE, TOKEN, SavedFiles, copy_spec, new_machine, stand_by

WAITING = env_vars.declare(
    "GYM_ANYTHING_QEMU_WAITING",
    env_vars.whole_number,
    1,
    "How many copies of each saved machine that worlds of this process are made from wait for the next ones, standing "
    "still (some 70 MB each, made while worlds run): the next world is ready sooner. 0: none. Default 1.",
    "gym_anything.runtime.qemu.waiting",
)
MOST = 8
"""So many wait in all, whatever they wait for; the oldest goes first."""
_START_S = 60.0
_NAME = "waiting"


@dataclass(frozen=True)
class Waiting:
    """A machine that waits: what it can become, its folder, the use of the files that it would be copied from."""

    key: Hashable
    saved: SavedFiles
    place: WorldDir
    machine: GuestMachine
    lease: Lease

    @property
    def usable(self) -> bool:
        """True while it lives and what it waits for is there: a removed template's folder has another name."""
        return self.machine.process.alive and self.saved.folder.is_dir()

    def end(self) -> None:
        """End it and remove all of it. Idempotent."""
        try:
            self.machine.stop()
            Supervisor.shared().stop_world(self.place.id)
            self.place.remove()
        finally:
            self.lease.release()


def waiting_key(saved: SavedFiles, plan: MachinePlan) -> Hashable:
    """Return what is equal for machines of which one can stand in for another: all of their spec but their identity."""
    spec = copy_spec(saved, plan, saved.folder, _NAME)
    network = None if spec.network is None else dataclasses.replace(spec.network, mac="")
    return spec.with_(network=network), repr(plan.emulator)


class WaitingMachines:
    """Those of this process. Any thread."""

    _shared: ClassVar[WaitingMachines | None] = None
    _guard: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self) -> None:
        """Use ``shared``; a test may make its own and ``end`` it."""
        self._lock = threading.Lock()
        self._there: list[Waiting] = []
        self._coming: dict[Hashable, threading.Thread] = {}
        self._in_making: dict[Hashable, GuestMachine] = {}
        self._claimed: set[Hashable] = set()
        self._over = False

    @classmethod
    def shared(cls) -> WaitingMachines:
        """Return this process's; a forked child has none of its parent's."""
        with cls._guard:
            if cls._shared is None:
                cls._shared = cls()
            return cls._shared

    @property
    def pids(self) -> list[int]:
        """Process ids of those that wait, for measurements."""
        with self._lock:
            return [one.machine.process.pid for one in self._there if one.machine.process.alive]

    def take(
        self, key: Hashable, deadline: Deadline | None = None, aborted: Callable[[], bool] = lambda: False
    ) -> Waiting | None:
        """Return a machine that waits, which is the caller's from now on, or None when there is none.

        Args: deadline: until then one that is just being made is waited for, unless another caller waits for it: to
            make one more would take longer. None: it is not. aborted: a true answer ends that.
        Raises: DeadlineExceeded, Aborted.
        """
        found = self._take_now(key)
        if found is not None or deadline is None or not self._claim(key):
            return found
        taken: list[Waiting] = []

        def decided() -> bool:
            coming = key in self._coming  # asked first: what came meanwhile is there
            taken.extend(one for one in [self._take_now(key)] if one is not None)
            return bool(taken) or not coming

        try:
            wait_until(decided, deadline=deadline, awaited="a machine that is being made", poll_s=0.01, aborted=aborted)
        finally:
            with self._lock:
                self._claimed.discard(key)
        return taken[0] if taken else None

    def _claim(self, key: Hashable) -> bool:
        with self._lock:
            if key not in self._coming or key in self._claimed:
                return False
            self._claimed.add(key)
            return True

    def _take_now(self, key: Hashable) -> Waiting | None:
        with self._lock:
            useless = [one for one in self._there if not one.usable]
            found = next((one for one in self._there if one.key == key and one.usable), None)
            self._there = [one for one in self._there if one is not found and one not in useless]
        _end(useless)
        return found

    def want(self, saved: SavedFiles, plan: MachinePlan, lease: Callable[[], Lease], runner: str) -> None:
        """Have machines wait for this saved one, as many as the setting says; they are started by another thread.

        Args: lease: gives a use of the saved machine's files. runner: whose worlds they will be.
        """
        key, wanted = waiting_key(saved, plan), min(WAITING.get(), MOST)

        def fill() -> None:
            while self._room_for(key, wanted):
                try:
                    held = lease()
                    place = Run.current().new_world(runner, waiting=True)
                    made = _start(key, saved, plan, held, place, lambda machine: self._note(key, machine))
                except (GymAnythingError, OSError):
                    break  # the template is gone, or the host has no room: the next world starts its own, and says why
                self._keep(made)

        with self._lock:
            if self._over or key in self._coming or wanted <= sum(one.key == key for one in self._there):
                return
            thread = threading.Thread(target=self._work, args=(key, fill), name="qemu-waiting", daemon=True)
            self._coming[key] = thread
            thread.start()

    def settle(self, deadline: Deadline) -> None:
        """Wait until all that is wanted is there, for measurements."""
        for thread in self._threads():
            thread.join(deadline.remaining())

    def drop(self) -> None:
        """End those whose saved machine is gone."""
        with self._lock:
            useless = [one for one in self._there if not one.usable]
            self._there = [one for one in self._there if one not in useless]
        _end(useless)

    def end(self) -> None:
        """End all of them, also those that are just being started; others may be wanted later. Idempotent."""
        with self._lock:
            self._over = True
            for machine in self._in_making.values():
                machine.abort()
        for thread in self._threads():
            thread.join()
        with self._lock:
            there, self._there, self._over = self._there, [], False
        _end(there)

    def _threads(self) -> list[threading.Thread]:
        with self._lock:
            return list(self._coming.values())

    def _work(self, key: Hashable, fill: Callable[[], None]) -> None:
        try:
            fill()
        finally:
            with self._lock:
                del self._coming[key]
                self._in_making.pop(key, None)

    def _room_for(self, key: Hashable, wanted: int) -> bool:
        with self._lock:
            return not self._over and sum(one.key == key for one in self._there) < wanted

    def _note(self, key: Hashable, machine: GuestMachine) -> None:
        """Note a machine before it is started, so that ``end`` need not wait for it. Raises: Aborted after ``end``."""
        with self._lock:
            if self._over:
                raise Aborted("the start of a machine in waiting: ended")
            self._in_making[key] = machine

    def _keep(self, made: Waiting) -> None:
        with self._lock:
            self._in_making.pop(made.key, None)
            self._there.append(made)
            too_many, self._there = self._there[:-MOST], self._there[-MOST:]
        _end(too_many)

    @classmethod
    def _after_fork_in_child(cls) -> None:
        cls._guard, cls._shared = threading.Lock(), None


def _start(
    key: Hashable,
    saved: SavedFiles,
    plan: MachinePlan,
    lease: Lease,
    place: WorldDir,
    note: Callable[[GuestMachine], object],
) -> Waiting:
    """Return a machine that waits. Args: note: told which machine it will be; may raise."""
    made = Waiting(key, saved, place, new_machine(place, (saved.folder / TOKEN).read_bytes()), lease)
    deadline = Deadline.after(_START_S)
    try:
        note(made.machine)
        stand_by(made.machine, saved, plan, place, deadline)
        made.machine.wake(saved.folder / STATE, deadline)
        made.machine.doze(deadline)
    except BaseException:
        made.end()
        raise
    return made


def _end(machines: list[Waiting]) -> None:
    for one in machines:
        one.end()


os.register_at_fork(after_in_child=WaitingMachines._after_fork_in_child)
