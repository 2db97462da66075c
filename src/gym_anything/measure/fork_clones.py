"""Clones of one saved machine, made and timed one by one: ours and bare ones, started now or waiting."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gym_anything._util.deadline import Deadline
from gym_anything._util.reflink import copy_file
from gym_anything._util.state_dir import Run, WorldDir
from gym_anything._util.supervisor import Supervisor
from gym_anything.measure.fork_bare import BareClone
from gym_anything.runtime.qemu.guest_machine import GuestMachine
from gym_anything.runtime.qemu.machine_plan import MachinePlan
from gym_anything.runtime.qemu.program import SYSTEM, require_program
from gym_anything.runtime.qemu.saved_machine import load, resume
from gym_anything.runtime.qemu.screendump import Screendump
from gym_anything.runtime.qemu.templates import (
    DISK,
    EMPTY,
    STATE,
    TOKEN,
    SavedFiles,
    copy_spec,
    new_machine,
    stand_by,
)

_LIMIT_S = 120.0
_NAME = "bench-fork"


@dataclass(frozen=True)
class Source:
    """What is cloned, and how."""

    saved: SavedFiles
    plan: MachinePlan


@dataclass(frozen=True)
class Stages:
    """Milliseconds from the moment a clone was asked for."""

    running: float
    frame: float
    answers: float


@contextmanager
def place() -> Iterator[WorldDir]:
    """Give a folder for a clone; whatever was started with its label ends with it."""
    folder = Run.current().new_world(_NAME)
    try:
        yield folder
    finally:
        Supervisor.shared().stop_world(folder.id)
        folder.remove()


@contextmanager
def standing_by(source: Source) -> Iterator[GuestMachine]:
    """Give a machine of ours that waits for its state."""
    with place() as folder:
        machine = new_machine(folder, (source.saved.folder / TOKEN).read_bytes())
        try:
            stand_by(machine, source.saved, source.plan, folder, Deadline.after(_LIMIT_S))
            yield machine
        finally:
            machine.stop()


def ours(source: Source, *, waiting: bool) -> Stages:
    """Make two clones of ours: one is looked at as soon as it runs, one is woken as every world is."""
    state, deadline = source.saved.folder / STATE, Deadline.after(_LIMIT_S)
    began = time.monotonic()
    with standing_by(source) as machine:
        began = time.monotonic() if waiting else began
        load(machine.process, state, deadline, memory_in_file=True, prepared=True)
        resume(machine.process, deadline)
        running = time.monotonic() - began
        screen = Screendump(machine.process.qmp)
        screen.picture(deadline)
        frame = time.monotonic() - began
        screen.close()
    began = time.monotonic()
    with standing_by(source) as machine:
        began = time.monotonic() if waiting else began
        machine.wake(state, deadline)
        answers = machine.answered_at - began
    return Stages(running * 1000, frame * 1000, answers * 1000)


def ahead(source: Source) -> Stages:
    """Make a clone as one that waits for the next world is made, and time it from when it is asked for."""
    deadline = Deadline.after(_LIMIT_S)
    with standing_by(source) as machine:
        machine.wake(source.saved.folder / STATE, deadline)
        machine.doze(deadline)
        began = time.monotonic()
        machine.go_on(deadline)
        machine.desktop.frame(deadline=deadline)
        frame = time.monotonic() - began
        return Stages((machine.running_at - began) * 1000, frame * 1000, (machine.answered_at - began) * 1000)


@contextmanager
def bare_clone(source: Source) -> Iterator[BareClone]:
    """Give a bare clone that was just started."""
    with place() as folder:
        copy_file(source.saved.folder / EMPTY, folder.path / DISK)
        with BareClone(copy_spec(source.saved, source.plan, folder.path, _NAME), require_program(SYSTEM)) as clone:
            yield clone


def bare(source: Source, *, waiting: bool) -> Stages:
    """Make two bare clones, in the same way."""
    times: list[tuple[float, float]] = []
    for look in (True, False):
        with tempfile.TemporaryDirectory(prefix="ga-bare-") as pictures:
            began = time.monotonic()
            with bare_clone(source) as clone:
                clone.stand_by()
                began = time.monotonic() if waiting else began
                clone.run(source.saved.folder / STATE)
                running = time.monotonic() - began
                if look:
                    clone.picture(Path(pictures))
                else:
                    clone.answer()
                times.append((running, time.monotonic() - began))
    (running, frame), (_, answers) = times
    return Stages(running * 1000, frame * 1000, answers * 1000)


def pss_mib(pid: int) -> float:
    """Return a process's share of memory: its own, and its part of what several have mapped. 0 when it has ended."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in text.splitlines() if line.startswith("Pss:")), 0.0)


def disk_mib(folder: Path) -> float:
    """Return what a world's folder takes on disk."""
    return sum(path.lstat().st_blocks for path in folder.rglob("*")) / 2048
