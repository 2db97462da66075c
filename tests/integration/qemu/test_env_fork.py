"""Episodes in machines branch in mid-task: memory, programs, disk, screen; each fork is a machine of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gym_anything._util import labels, orphans, proc
from gym_anything._util.deadline import Deadline
from gym_anything._util.state_dir import Run
from gym_anything._util.waiting import wait_until
from gym_anything.episode.env import GymAnythingEnv
from gym_anything.episode.factory import make
from gym_anything.errors import CheckpointError, CheckpointUnsupported, StateError
from gym_anything.runtime.qemu import branching, templates
from gym_anything.runtime.runners.qemu_native.runner import QemuNativeRunner
from tests.integration.qemu.conftest import MakeRunner, spec_of
from tests.integration.qemu.test_forks import IDENTITY

pytestmark = pytest.mark.real

LISTENING = "pgrep -x cat > /dev/null"
MakeEnv = Callable[..., GymAnythingEnv]


@pytest.fixture
def make_env(qemu_backend: None, tmp_path: Path) -> Iterator[MakeEnv]:
    """Return ``make(**fields of the spec)``; every environment made is closed."""
    made: list[GymAnythingEnv] = []

    def make_one(**fields: Any) -> GymAnythingEnv:
        recording = {"enable": False, "output_dir": str(tmp_path)}
        made.append(make({**spec_of().to_dict(), "runner": "qemu_native", "recording": recording, **fields}))
        return made[-1]

    yield make_one
    for env in made:
        env.close()


def branches_left() -> list[str]:
    """Return the folders of branch points of this process."""
    return [world.id for world in Run.current().worlds if (world.path / templates.STATE).exists()]


def shell(env: GymAnythingEnv, command: str) -> str:
    return env.runner.exec_capture(command)


def type_text(env: GymAnythingEnv, text: str) -> dict[str, Any]:
    return env.step([{"keyboard": {"text": text}}], 0.0, settle_after_actions=False)[3]


def written(env: GymAnythingEnv) -> str:
    """Return the first line that has reached the file of the terminal's program."""
    return shell(env, "until [ -s /home/ga/typed ]; do sleep 0.05; done; cat /home/ga/typed").strip()


def test_an_episode_branches_in_mid_task(make_env: MakeEnv) -> None:
    """A half typed line is in no file: it is there in each fork, and each ends it in its own way."""
    env = make_env()
    env.reset()
    env.runner.exec_async("runuser -u ga -- xterm -e 'cat > /home/ga/typed'")
    shell(env, f"until {LISTENING}; do sleep 0.05; done")
    env.step([{"action": "settle", "quiet_ms": 300}], 0.0, settle_after_actions=False)
    type_text(env, "half a line, ")
    first, second = env.fork(2)
    with first, second:
        assert len(branches_left()) == 1
        for fork, end in ((first, "one"), (second, "two"), (env, "the source")):
            assert type_text(fork, f"{end}\n")["step"] == 3
        texts = [written(each) for each in (first, second, env)]
        assert texts == ["half a line, one", "half a line, two", "half a line, the source"]
        identities = [shell(each, IDENTITY).split() for each in (env, first, second)]
        assert all(len(set(column)) == 3 for column in zip(*identities, strict=True)), identities
        first.close()
        assert shell(second, "echo still here") == "still here\n"
        assert len(branches_left()) == 1
    assert branches_left() == []
    summary = json.loads((Path(str(second.episode_dir)) / "summary.json").read_text())
    assert (summary["lineage"]["parent"], summary["steps"]) == (Path(str(env.episode_dir)).name, 3)


def test_layers_are_frozen_and_outlive_whoever_wrote_them(
    make_runner: MakeRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk of a machine that has written much is not copied; forks of forks, without their source."""
    monkeypatch.setattr(branching, "COPIED_BYTES", 0)
    monkeypatch.setattr(branching, "clone_file", lambda *_: False)
    source = make_runner()
    source.start()
    points = []
    for number in range(2):
        source.exec(f"head -c 1M /dev/urandom > /root/data{number}; sha256sum /root/data* > /root/sums", use_pty=False)
        points.append(source.branch())
    source.exec("rm /root/data0 && echo gone > /root/sums && sync", use_pty=False)
    children = [fork_of(make_runner, point) for point in points]
    with pytest.raises(CheckpointUnsupported, match="forked"):
        source.create_checkpoint()
    source.stop()
    grandchild_point = children[1].branch()
    children[1].stop()
    for point in points:
        point.release()
    grandchild = fork_of(make_runner, grandchild_point)
    grandchild_point.release()
    # Read from the disk, not from the memory that was copied with it.
    check = "echo 3 > /proc/sys/vm/drop_caches; sha256sum -c /root/sums"
    assert children[0].exec_capture(check).count(": OK") == 1
    assert grandchild.exec_capture(check).count(": OK") == 2
    assert grandchild.exec_capture("dmesg --level=emerg,alert,crit,err | grep -ic ext4 || true").strip() == "0"
    for runner in (children[0], grandchild):
        runner.stop()
    assert branches_left() == []
    with pytest.raises(StateError):
        make_runner().start_from_branch(points[0])


def fork_of(make_runner: MakeRunner, point: Any) -> QemuNativeRunner:
    fork = make_runner()
    fork.start_from_branch(point)
    return fork


def test_a_branch_that_fails_leaves_nothing_and_the_source_goes_on(
    make_env: MakeEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise CheckpointError("the disk is full")

    env = make_env()
    env.reset()
    monkeypatch.setattr(templates, "save", fail)
    with pytest.raises(CheckpointError, match="full"):
        env.fork(2)
    assert branches_left() == []
    assert shell(env, "echo still here") == "still here\n"
    assert type_text(env, "x")["step"] == 1


KILLED = """
import sys
sys.path.insert(0, sys.argv[2])
from tests.integration.qemu.test_env_fork import spec_of
from gym_anything.episode.factory import make
from gym_anything._util.state_dir import Run
from gym_anything._util.supervisor import Supervisor
env = make({**spec_of().to_dict(), "runner": "qemu_native", "recording": {"enable": False, "output_dir": sys.argv[1]}})
env.reset()
forks = env.fork(2)
print(Run.current().path, flush=True)
sys.stdin.readline()
"""


@pytest.mark.soak
def test_after_a_kill_the_next_collection_takes_all_of_a_family(qemu_backend: None, tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path), str(Path(__file__).parents[3])]
    owner = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert owner.stdout is not None
        run = Path(owner.stdout.readline().strip())
        family = [pid for pid in proc.pids() if f"{run.name}/" in proc.environ(pid).get(labels.ENV_NAME, "")]
        assert len([pid for pid in family if "qemu" in proc.command_line(pid)[0]]) >= 3
        killed = [owner.pid, *proc.descendants(owner.pid)]
        for pid in killed:
            os.kill(pid, signal.SIGSTOP)  # so that none can act on another's death
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
    finally:
        owner.kill()
        owner.communicate()
    orphans.collect(run.parent, only_run=run.name)
    wait_until(
        lambda: not run.exists() and not any(pid in proc.pids() for pid in family),
        deadline=Deadline.after(10),
        awaited="the end of the family",
    )
