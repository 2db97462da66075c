"""Whoever dies, and however: nothing of ours is left, and who waits is told."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gym_anything._util import labels, proc
from gym_anything._util.deadline import Deadline
from gym_anything._util.orphans import collect, find_orphans
from gym_anything._util.state_dir import Run
from gym_anything._util.supervision.link import Call
from gym_anything._util.supervisor import Supervisor
from gym_anything.errors import StateError, SupervisorLost
from tests.integration.supervisor.conftest import MARK, Owner, until

pytestmark = pytest.mark.real

StartOwner = Callable[[str], Owner]
Marked = Callable[[], list[int]]

TREES = """
world = Run.current().new_world("test")
for _ in range(2):
    supervisor.spawn(TREE, name="tree", env={**os.environ, **world.env})
print(supervisor.warden_pid, flush=True)
time.sleep(600)
"""
SLEEPERS = 6


def _victims(owner: Owner) -> dict[str, int]:
    warden = int(owner.line())
    until(lambda: proc.children(warden), "the warden's child")
    [supervisor] = proc.children(warden)
    return {"owner": owner.process.pid, "warden": warden, "supervisor": supervisor}


@pytest.mark.parametrize("killed", ["owner", "owner supervisor", "owner warden", "supervisor owner", "warden owner"])
def test_kill_9_of_the_owner_and_one_more_ends_every_tree_and_removes_the_folder(
    owner: StartOwner, marked: Marked, state: Path, killed: str
) -> None:
    """L2."""
    one = owner(TREES)
    victims = _victims(one)
    until(lambda: len(marked()) == SLEEPERS, "the trees")
    for name in killed.split():
        os.kill(victims[name], signal.SIGKILL)
    until(lambda: not marked(), "the end of the trees")
    until(lambda: not any(proc.start_ticks(pid) for pid in victims.values()), "the end of the supervisors")
    assert list(state.iterdir()) == []


def test_kill_9_of_all_three_is_repaired_by_the_collection_and_no_look_alike_is_touched(
    owner: StartOwner, marked: Marked, state: Path
) -> None:
    """L3."""
    one = owner(TREES)
    victims = _victims(one)
    until(lambda: len(marked()) == SLEEPERS, "the trees")
    label = labels.label_of_process(marked()[0])
    assert label is not None
    look_alikes = [
        subprocess.Popen(["sleep", str(MARK)], env=env)
        for env in (
            {},
            {labels.ENV_NAME: f"{label.run}x/{label.world}/{labels.Owner.current()}"},
            {labels.ENV_NAME: f"{label.run}/{label.world}"},
            {"OTHER": str(label)},
        )
    ]
    for pid in victims.values():
        os.kill(pid, signal.SIGKILL)
    one.process.wait()
    until(lambda: find_orphans(state), "orphans")
    found = find_orphans(state)
    left = marked()
    removed = collect(state)
    assert {(o.kind, o.what) for o in removed} == {(o.kind, o.what) for o in found}
    assert all(orphan.removed for orphan in removed)
    assert sorted(marked()) == sorted(process.pid for process in look_alikes)
    assert len(left) > len(marked())
    assert collect(state) == []
    for process in look_alikes:
        assert process.poll() is None
        process.kill()
        process.wait()


BUSY = """
import threading
def churn():
    while True:
        world = Run.current().new_world("test")
        process = supervisor.spawn(TREE, name="tree", env={**os.environ, **world.env}, stop=StopPlan(grace_s=0.05))
        process.stop()
        world.remove()
for _ in range(4):
    threading.Thread(target=churn, daemon=True).start()
print(supervisor.warden_pid, flush=True)
time.sleep(600)
"""


@pytest.mark.slow
def test_kill_9_at_random_points_leaves_nothing_after_a_collection(
    owner: StartOwner, marked: Marked, state: Path
) -> None:
    """L3. Any of the three, in any order, at any time."""
    chance = random.Random(7)
    for _ in range(15):
        one = owner(BUSY)
        victims = list(_victims(one).values())
        time.sleep(chance.uniform(0, 0.4))  # the point is random, so there is nothing to wait for
        for pid in chance.sample(victims, k=chance.randint(1, 3)):
            _kill(pid)
        _kill(one.process.pid)
        one.process.wait()
        until(lambda: not collect(state) and not marked(), "nothing")
        assert list(state.iterdir()) == []


def test_ctrl_c_in_the_terminal_reaches_the_owner_only(owner: StartOwner, marked: Marked) -> None:
    """L2: the owner decides what to do with its programs."""
    one = owner(
        """
process = supervisor.spawn(["sleep", str(MARK)], name="t")
try:
    print("ready", flush=True)
    time.sleep(600)
except KeyboardInterrupt:
    print(process.poll(), flush=True)
time.sleep(600)
"""
    )
    assert one.line() == "ready"
    os.killpg(one.process.pid, signal.SIGINT)  # what a terminal does
    assert one.line() == "None"
    assert len(marked()) == 1


@pytest.mark.parametrize("end", ["", "sys.exit(3)", "raise KeyError(1)", "os.kill(os.getpid(), 15)", "os._exit(0)"])
def test_however_an_owner_ends_its_programs_and_its_folder_go_too(
    owner: StartOwner, marked: Marked, state: Path, end: str
) -> None:
    """L2."""
    one = owner(f"supervisor.spawn(TREE, name='tree', stop=StopPlan(grace_s=0.1))\nprint(1, flush=True)\n{end}")
    assert one.line() == "1"
    one.process.wait(20)
    until(lambda: not marked() and not list(state.iterdir()), "the end")


def test_the_loss_of_the_supervisor_is_told_to_every_waiter_and_a_new_one_takes_over(
    state: Path, marked: Marked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Supervisor, "_shared", None)
    supervisor = Supervisor.shared()
    assert Supervisor.shared() is supervisor
    processes = [supervisor.spawn(["sleep", str(MARK)], name=f"s{n}") for n in range(3)]
    errors: list[BaseException] = []

    def wait(index: int) -> None:
        try:
            processes[index].wait(Deadline.after(60))
        except SupervisorLost as error:
            errors.append(error)

    threads = [threading.Thread(target=wait, args=(index,)) for index in range(3)]
    for thread in threads:
        thread.start()
    os.kill(proc.children(supervisor.warden_pid)[0], signal.SIGKILL)
    for thread in threads:
        thread.join(20)
    assert len(errors) == 3
    assert "s0" in " ".join(map(str, errors))
    with pytest.raises(SupervisorLost, match="s1"):
        processes[1].poll()
    with pytest.raises(SupervisorLost):
        supervisor.spawn(["true"], name="t")
    assert processes[0].stop() is None
    assert marked() == []
    supervisor.stop_world("any")
    supervisor.close()
    again = Supervisor.shared()
    assert again is not supervisor
    assert again.spawn(["true"], name="t").wait(Deadline.after(20)) == 0
    again.close()


def test_a_forked_child_has_a_supervisor_of_its_own_and_the_parents_death_is_still_seen(
    owner: StartOwner, marked: Marked, state: Path
) -> None:
    one = owner(
        """
def say(*words):  # in one piece, since two processes speak
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())
mine = supervisor.spawn(["sleep", str(MARK)], name="parent's")
child = os.fork()
if child == 0:
    try:
        mine.poll()
    except Exception as error:
        say(type(error).__name__)
    other = Supervisor.shared()
    say(other is not supervisor, other.spawn(["true"], name="t").wait(Deadline.after(20)))
    say(Run.current().path.name, os.getpid())
    time.sleep(600)
say(supervisor.warden_pid)
time.sleep(600)
"""
    )
    lines = [one.line() for _ in range(4)]
    warden = next(line for line in lines if line.isdigit())
    assert "StateError" in lines and "True 0" in lines
    run, child = next(line.split() for line in lines if line.startswith("r"))
    os.kill(one.process.pid, signal.SIGKILL)
    until(lambda: not marked() and proc.start_ticks(int(warden)) is None, "the end of the parent's programs")
    assert [path.name for path in state.iterdir()] == [run]
    os.kill(int(child), signal.SIGKILL)
    until(lambda: not list(state.iterdir()), "the end of the child's run")


def test_a_parents_handle_is_refused_in_a_forked_child(supervisor: Supervisor) -> None:
    process = supervisor.spawn(["sleep", str(MARK)], name="t")
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        refused = 0
        for call in (process.poll, process.stop, lambda: process.wait(Deadline.after(1)), lambda: process.signal(9)):
            try:
                call()
            except StateError:
                refused += 1
        os.write(writable, str(refused).encode())
        os._exit(0)
    os.close(writable)
    os.waitpid(child, 0)
    assert os.read(readable, 10) == b"4"
    os.close(readable)
    assert process.poll() is None


def test_an_interrupt_at_any_point_of_a_start_leaves_nothing_behind(owner: StartOwner, marked: Marked) -> None:
    """L2: the second Ctrl-C, too."""
    one = owner(
        """
import random, signal
class Stop(BaseException): pass
def on_alarm(*_):
    raise Stop
signal.signal(signal.SIGALRM, on_alarm)
chance, interrupted = random.Random(3), 0
for _ in range(50):
    world = Run.current().new_world("test")
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, chance.uniform(0.0001, 0.004))
            while True:
                supervisor.spawn(["sleep", str(MARK)], name="t", env={**os.environ, **world.env})
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except Stop:
        interrupted += 1
    supervisor.stop_world(world.id)
    world.remove()
print(interrupted, len(supervisor.running), flush=True)
time.sleep(600)
"""
    )
    assert one.line() == "50 0"
    assert marked() == []


@pytest.mark.parametrize("answered", [False, True])
def test_a_start_whose_caller_was_interrupted_is_undone(
    supervisor: Supervisor, marked: Marked, monkeypatch: pytest.MonkeyPatch, answered: bool
) -> None:
    """L2: before or after the answer came, and without a world to stop."""

    class Interrupted(BaseException):
        pass

    def interrupted(call: Call, _: Deadline) -> None:
        if answered:
            assert call.answered.wait(20)
        raise Interrupted

    with monkeypatch.context() as patch:
        patch.setattr(Call, "wait", interrupted)
        with pytest.raises(Interrupted):
            supervisor.spawn(["sleep", str(MARK)], name="t")
    after = supervisor.spawn(["true"], name="t")
    assert after._key == 2  # so the first was started
    after.stop()
    until(lambda: not marked() and not supervisor.running, "its end")


def test_the_collection_from_inside_a_dead_runs_world_spares_itself(state: Path) -> None:
    """L3: whoever collects is not collected, nor is the shell it was started from."""
    dead = labels.Label("rdead", "w1", labels.Owner(1, 0, proc.boot_id()[:8], proc.pid_namespace()))
    script = "from gym_anything._util.orphans import collect; from pathlib import Path; import sys; "
    script += "print([o.kind for o in collect(Path(sys.argv[1]))])"
    state.mkdir(exist_ok=True)
    result = subprocess.run(
        ["sh", "-c", f"'{sys.executable}' -c '{script}' '{state}'; echo done"],
        env={**os.environ, **dead.as_env()},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert result.stdout == "[]\ndone\n"


def test_a_mount_below_a_dead_run_is_detached_before_its_folder_goes(
    state: Path, tmp_path: Path, require_backend: Callable[[str, bool, str], None]
) -> None:
    """L3: and what was mounted keeps its content."""
    require_backend("root", os.geteuid() == 0, "mounting needs root")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("x")
    script = f"""
import os
from gym_anything._util.state_dir import Run
world = Run.current().new_world("test")
(world.path / "a b").mkdir()
assert os.system(f"mount --bind '{outside}' '{{world.path}}/a b'") == 0
os.kill(os.getpid(), 9)
"""
    subprocess.run([sys.executable, "-c", script], check=False, timeout=60)
    removed = collect(state)
    assert [(orphan.kind, orphan.removed) for orphan in removed] == [("mount", True), ("folder", True)]
    assert (outside / "kept").exists()


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # it went with the one killed before


def test_run_is_per_process_after_fork(state: Path) -> None:
    run = Run.current()
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        own = Run.current()
        os.write(writable, f"{own.id != run.id} {run._lock.held}".encode())
        own.close()
        os._exit(0)
    os.close(writable)
    os.waitpid(child, 0)
    assert os.read(readable, 50) == b"True False"
    os.close(readable)
    assert run.path.exists() and run._lock.held
