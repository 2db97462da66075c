"""Machines whose QEMU runs inside Apptainer: booted once, forked, saved with their memory, and gone after ``kill -9``.

They boot a machine of their own, since a template is of the QEMU that made it: a long run.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gym_anything._util import labels, proc
from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.runtime.qemu.apptainer_emulator import RECIPE, ApptainerEmulator, version_in
from gym_anything.runtime.runners.qemu_native.in_apptainer import QemuApptainerRunner
from tests.docker_engine import built
from tests.integration.qemu.conftest import spec_of

pytestmark = [pytest.mark.real, pytest.mark.soak, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def qemu_image(apptainer_backend: None, qemu_backend: None, require_backend: Callable[[str, bool, str], None]) -> None:
    """QEMU as an image of apptainer's."""
    built(RECIPE, require_backend)


@pytest.fixture
def world(qemu_image: None) -> Iterator[QemuApptainerRunner]:
    runner = QemuApptainerRunner(spec_of())
    try:
        runner.start()
        yield runner
    finally:
        runner.stop()


def qemu_of(runner: QemuApptainerRunner) -> int:
    """Return the process of the world's QEMU."""
    world = runner._world
    assert world is not None
    assert "qemu-system" in proc.command_line(world.process.pid)[0]
    return world.process.pid


def test_the_machine_runs_inside_the_image(world: QemuApptainerRunner) -> None:
    plan = world._plan
    assert plan is not None and isinstance(plan.emulator, ApptainerEmulator)
    assert plan.emulator.version.startswith(version_in(plan.emulator.program, plan.emulator.image))
    pid = qemu_of(world)
    root = Path(f"/proc/{pid}/root")
    assert (root / ".singularity.d").is_dir()
    assert not (root / "root").joinpath(".cache", "gym-anything", "images").exists(), (
        "no more of this host than it needs"
    )
    assert labels.ENV_NAME in proc.environ(pid), "or nobody finds it"
    assert "CapEff:\t0000000000000000" in Path(f"/proc/{pid}/status").read_text()


def test_eyes_hands_and_commands_work(world: QemuApptainerRunner) -> None:
    assert world.exec_capture("id -un").strip() == "root"
    world.inject_action({"mouse": {"move": [300, 300]}})
    frame = world.capture_frame()
    assert frame.array.shape == (800, 1280, 3) and frame.array.std() > 1


def test_a_world_goes_on_from_its_saved_memory(qemu_image: None) -> None:
    first = QemuApptainerRunner(spec_of())
    first.set_checkpoint_key("post_start", None, use_savevm=True)
    second = QemuApptainerRunner(spec_of())
    second.set_checkpoint_key("post_start", None, use_savevm=True)
    try:
        first.start()
        first.exec("mkdir -p /run/kept && echo kept > /run/kept/word")
        assert first.create_checkpoint()
        assert second.start_from_checkpoint()
        assert second.exec_capture("cat /run/kept/word").strip() == "kept"
    finally:
        second.stop()
        first.stop()
        first.delete_checkpoint()


OWNER = """
    import sys
    from gym_anything.runtime.runners.qemu_native.in_apptainer import QemuApptainerRunner
    from tests.integration.qemu.conftest import spec_of
    runner = QemuApptainerRunner(spec_of())
    runner.start()
    print(runner._world.process.pid, flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("with_supervisor", [False, True], ids=["owner", "owner-and-supervisor"])
def test_nothing_is_left_when_its_owner_is_killed(qemu_image: None, tmp_path: Path, with_supervisor: bool) -> None:
    """Not even when whoever would tidy up is killed with it: then the next ``cache gc`` does."""
    env = {**os.environ, "GYM_ANYTHING_STATE_DIR": str(tmp_path)}
    argv = [sys.executable, "-c", textwrap.dedent(OWNER)]
    owner = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
    try:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline())
        beside, *keepers = proc.ancestors(pid)  # a process of apptainer's, then those that keep it
        keepers = [keeper for keeper in proc.descendants(owner.pid) if keeper in keepers]
        assert keepers, "somebody keeps it"
        for victim in [owner.pid, *(keepers if with_supervisor else [])]:
            os.kill(victim, signal.SIGKILL)
        owner.wait(10)
        if with_supervisor:
            tidy(env)
        wait_until(
            lambda: not [p for p in (pid, beside) if proc.command_line(p)],
            deadline=Deadline.after(20),
            awaited="the end of the machine",
        )
    finally:
        owner.kill()
        owner.communicate()
    tidy(env)
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]


def tidy(env: dict[str, str]) -> None:
    argv = [sys.executable, "-m", "gym_anything.cli.main", "cache", "gc"]
    subprocess.run(argv, env=env, check=True, capture_output=True, timeout=100)
