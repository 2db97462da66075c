"""The fake world in detail: its commands, files, screen, states and checkpoints."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from gym_anything.errors import (
    Aborted,
    ActionUnsupported,
    CheckpointMissing,
    GuestCommandFailed,
    GuestFileNotFound,
    StateError,
    WorldError,
    WorldLost,
    WorldStartFailed,
)
from gym_anything.specs.env_spec import EnvSpec
from gym_anything.testing.fakes.checkpoints import forget_checkpoints
from gym_anything.testing.fakes.files import GuestFiles
from gym_anything.testing.fakes.misbehaving import CrashingWorld
from gym_anything.testing.fakes.world import CLICKS_FILE, TYPED_FILE, FakeWorld

pytestmark = pytest.mark.unit


def spec_of(**fields: Any) -> EnvSpec:
    base = {
        "id": "fake@1",
        "observation": [{"type": "rgb_screen", "resolution": [64, 48]}],
        "action": [{"type": "mouse"}, {"type": "keyboard"}],
    }
    return EnvSpec.from_dict({**base, **fields})


@pytest.fixture
def world():
    forget_checkpoints()
    runner = FakeWorld(spec_of())
    runner.start(seed=1)
    yield runner
    runner.stop()


# --- commands ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cmd", "output", "code"),
    [
        ("echo a  b", "a b\n", 0),
        ("echo 'a  b' \"c d\"", "a  b c d\n", 0),
        ("echo -n x; echo y", "xy\n", 0),
        ("false && echo no || echo yes", "yes\n", 0),
        ("true && echo yes", "yes\n", 0),
        ("X=1; echo $X ${X}2 '$X'", "1 12 $X\n", 0),
        ("exit 5; echo never", "", 5),
        ("bash -lc 'Y=2; echo $Y; exit 4'; echo $?", "2\n4\n", 0),
        ("echo one > /tmp/f && echo two >> /tmp/f; cat /tmp/f", "one\ntwo\n", 0),
        ("cat < /tmp/none", "", 1),
        ("no_such_command", "", 127),
        ("test -f /tmp/none", "", 1),
        ("mkdir -p /tmp/d/e && [ -d /tmp/d/e ] && rm -rf /tmp/d && test ! -e /tmp/d", "", 0),
        ("touch /tmp/t && [ -f /tmp/t ] && rm /tmp/t && rm /tmp/t", "", 1),
        ("A=7 env > /tmp/env; test -f /tmp/env", "", 0),
        ("# a comment\necho line1\necho 'line\n2'", "line1\nline\n2\n", 0),
        ("echo 'unclosed", "", 2),
        ("seq 3", "1\n2\n3\n", 0),
        ("printf '%s-%s\\n' a b", "a-b\n", 0),
        ("echo $DISPLAY", ":1\n", 0),
        ("", "", 0),
    ],
)
def test_the_few_words_of_its_shell(world, cmd, output, code):
    assert world.exec_capture(cmd) == output
    assert world.exec(cmd) == code


def test_a_script_in_its_files_runs(world):
    world.files.write("/workspace/setup.sh", b"#!/bin/bash\nset -e\necho ran $NAME\nexit 6\n", mode=0o755)
    assert world.exec("/workspace/setup.sh > /tmp/out", env={"NAME": "it"}) == 6
    assert world.files.read("/tmp/out") == b"ran it\n"
    assert world.exec("bash /workspace/setup.sh") == 6


def test_a_hook_leaves_its_output_in_its_log_and_its_exit_code(world):
    assert world.run_hook("echo said; no_such; exit 3", stage="pre_task") == 3
    (log,) = world.hook_log_paths(["pre_task"])
    assert log == "/home/ga/task_pre_task.log"
    assert world.files.read(log) == b"said\nsh: no_such: command not found\n"


def test_sleep_ends_at_the_time_out(world):
    with pytest.raises(GuestCommandFailed) as caught:
        world.exec("sleep 60", timeout=0.05)
    assert caught.value.detail["timed_out"]


def test_a_world_with_its_own_clock_sleeps_in_no_time():
    runner = FakeWorld(spec_of(runner_options={"time_control": True}))
    runner.start()
    before = runner.capture_frame().array.tobytes()
    assert runner.exec("sleep 86400", timeout=0.05) == 0
    assert runner.clock.now() == 86400
    assert runner.capture_frame().array.tobytes() != before
    runner.stop()


# --- input and screen --------------------------------------------------------------------------------------------


def test_ground_truth_of_input_lies_in_its_files(world):
    world.inject_action({"mouse": {"double_click": [0, 47]}})
    world.inject_action({"keyboard": {"text": "aЖ你🙂\b!"}})
    assert world.files.read(CLICKS_FILE) == b"left 0 47 2\n"
    assert world.files.read(TYPED_FILE).decode() == "aЖ你!"
    assert "'aЖ你!'" in world.capture_ui_tree()


def test_held_keys_are_told_and_released(world):
    world.inject_action({"keyboard": {"keys_down": ["shift"]}})
    world.inject_action({"mouse": {"buttons": {"left_down": True}}})
    assert len(world.held) == 2
    world.release_held_inputs()
    assert world.held == set()


@pytest.mark.parametrize("action", [{"action": "fly"}, {"action": "wait", "time": 1}, {"voice": "hello"}])
def test_what_it_does_not_know_is_refused(world, action):
    with pytest.raises(ActionUnsupported):
        world.inject_action(action)


@pytest.mark.parametrize("corner", [[0, 0], [63, 0], [0, 47], [63, 47]])
def test_the_corners_of_its_screen_can_be_clicked_and_dragged(world, corner):
    before = world.capture_frame().array.tobytes()
    world.inject_action({"mouse": {"triple_click": corner}})
    world.inject_action({"mouse": {"left_click_drag": [corner, [30, 20]]}})
    assert world.capture_frame().array.tobytes() != before


def test_frames_do_not_change_under_their_holder(world):
    frame = world.capture_frame()
    kept = frame.array.copy()
    world.inject_action({"mouse": {"left_click": [20, 20]}})
    assert (frame.array == kept).all()
    assert not frame.array.flags.writeable


# --- states ------------------------------------------------------------------------------------------------------


def test_nothing_works_before_start_and_after_stop():
    runner = FakeWorld(spec_of())
    for _ in range(2):
        for act in (runner.capture_frame, lambda: runner.exec("true"), lambda: runner.inject_action({})):
            with pytest.raises(StateError):
                act()
        runner.start()
        with pytest.raises(StateError, match="stop it first"):
            runner.start()
        runner.stop()


def test_a_lost_world_says_so_to_everything_until_it_is_stopped(world):
    world.lose("killed by the test")
    with pytest.raises(WorldLost, match="killed by the test"):
        world.capture_frame()
    with pytest.raises(WorldLost):
        world.exec("true")
    world.stop()
    world.start()
    assert world.exec("true") == 0


def test_a_crashing_world_dies_at_its_third_action():
    runner = CrashingWorld(spec_of())
    runner.start()
    for _ in range(2):
        runner.inject_action({"mouse": {"move": [1, 1]}})
    with pytest.raises(WorldLost):
        runner.inject_action({"mouse": {"move": [1, 1]}})
    with pytest.raises(WorldLost):
        runner.capture_frame()
    runner.stop()


def test_stop_ends_a_start_that_is_under_way():
    runner = FakeWorld(spec_of(runner_options={"boot_s": 30}))
    ended: list[BaseException] = []

    def start() -> None:
        try:
            runner.start()
        except Aborted as error:
            ended.append(error)

    thread = threading.Thread(target=start)
    thread.start()
    while runner.state != "starting":
        thread.join(0.001)
    runner.stop()
    thread.join(5)
    assert len(ended) == 1


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"time_contrl": True}, "did you mean 'time_control'"),
        ({"boot_s": "1"}, "number of seconds"),
        ({"boot_s": True}, "number of seconds"),
        ({"boot_s": -1}, "zero or more"),
        ({"time_control": 1}, "must be a bool"),
        ({"misbehave": "thread"}, "this world behaves"),
    ],
)
def test_wrong_options_are_named_before_and_at_start(options, complaint):
    spec = spec_of(runner_options=options)
    (problem,) = FakeWorld.validate_options(spec)
    assert complaint in problem
    with pytest.raises(WorldStartFailed, match=complaint):
        FakeWorld(spec).start()


# --- files and checkpoints ---------------------------------------------------------------------------------------


def test_mounts_are_copied_in(tmp_path):
    (tmp_path / "data" / "sub").mkdir(parents=True)
    (tmp_path / "data" / "sub" / "a.txt").write_text("a")
    mount = {"source": str(tmp_path / "data"), "target": "/workspace/data", "mode": "ro"}
    runner = FakeWorld(spec_of(mounts=[mount]))
    runner.start()
    assert runner.exec_capture("cat /workspace/data/sub/a.txt") == "a"
    assert runner.to_container_path(tmp_path / "data" / "sub") == "/workspace/data/sub"
    assert runner.to_container_path("/elsewhere") == "/elsewhere"
    runner.stop()


def test_files_and_folders_do_not_take_each_others_place():
    files = GuestFiles()
    files.write("/a/b", b"1")
    with pytest.raises(WorldError, match="folder"):
        files.write("/a", b"2")
    with pytest.raises(WorldError, match="file"):
        files.make_folder("/a/b/c")
    with pytest.raises(GuestFileNotFound):
        files.read("/a/none")
    assert not files.remove("/none")


def test_state_is_saved_and_loaded(world):
    world.files.write("/home/ga/papers/a", b"before")
    name = world.save_state(["/home/ga/papers"])
    world.files.write("/home/ga/papers/a", b"after")
    world.files.write("/home/ga/papers/new", b"x")
    world.load_state(name)
    assert world.files.read("/home/ga/papers/a") == b"before"
    assert not world.files.exists("/home/ga/papers/new")


def test_a_key_covers_the_spec_the_task_and_the_kind_but_no_episodes_tag():
    forget_checkpoints()

    def key(level: str = "post_start", task: str | None = None, memory: bool = False, **options: Any) -> str | None:
        runner = FakeWorld(spec_of(runner_options=options))
        runner.set_checkpoint_key(level, task, memory)
        return runner._key

    assert key() == key(task="t", episode_tag="one") == key(episode_tag="two")
    others = [key(boot_s=0.5), key("pre_start"), key("post_task", "a"), key("post_task", "b"), key(memory=True), key()]
    assert len(set(others)) == len(others)


def test_a_memory_checkpoint_keeps_the_screen_and_a_disk_one_does_not(world):
    world.inject_action({"mouse": {"left_click": [20, 20]}})
    clicked = world.capture_frame().array.tobytes()
    world.set_checkpoint_key("post_start", use_savevm=True)
    world.create_checkpoint()
    assert world.capture_frame().array.tobytes() == clicked
    world.set_checkpoint_key("post_start")
    world.create_checkpoint()
    fresh = world.capture_frame().array.tobytes()
    assert fresh != clicked, "a disk checkpoint restarts the world"
    other = FakeWorld(spec_of())
    other.set_checkpoint_key("post_start")
    other.start_from_checkpoint(seed=1)
    assert other.capture_frame().array.tobytes() == fresh, "first and restored runs agree"
    other.stop()
    other.set_checkpoint_key("post_start", use_savevm=True)
    other.start_from_checkpoint(seed=1)
    assert other.capture_frame().array.tobytes() == clicked
    assert other.delete_checkpoint()
    assert not other.delete_checkpoint()
    other.stop()
    with pytest.raises(CheckpointMissing):
        other.start_from_checkpoint()
