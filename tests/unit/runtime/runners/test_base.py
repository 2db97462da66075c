"""The runner contract's defaults: they follow from what a class writes, or say no."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from gym_anything.errors import Aborted, CaptureFailed, CheckpointUnsupported, UnsupportedFeature
from gym_anything.observations.frame import Frame
from gym_anything.runtime.runners.base import BaseRunner
from gym_anything.runtime.runners.base_guest import accepts_keyword
from tests.unit.runtime.runners.minimal_runner import SixMethods, bare_spec

pytestmark = pytest.mark.unit

CONTRACT_TEXT = """
start stop run_reset run_task_init inject_action capture_observation
doctor_status compatibility install_plan cache_components platform_priority autodetect_eligible conformance_profile
validate_options on_episode_start supports_time_control run_hook hook_log_paths supports_live_recording
supports_checkpoint_caching supports_savevm supports_fast_io acks_input_delivery set_fast_io default_exec_env
merge_exec_env get_platform_family get_runtime_info exec exec_async exec_capture exec_capture_bytes put_file copy_to
copy_from capture_screenshot capture_screenshot_image capture_audio_raw capture_ui_tree save_state load_state
to_container_path set_checkpoint_key checkpoint_exists create_checkpoint start_from_checkpoint set_reporter
"""
CONTRACT = CONTRACT_TEXT.split()


class WithFrames(SixMethods):
    """Writes ``capture_frame`` alone."""

    def capture_frame(self, after_input=None):
        array = np.zeros((4, 6, 3), dtype=np.uint8)
        array[0, 0] = (250, 1, 2)
        return Frame(array, seq=1, captured_at=0.0)


class WithImages(SixMethods):
    """Writes ``capture_screenshot_image`` alone, in another mode."""

    def capture_screenshot_image(self):
        return Image.new("RGBA", (6, 4), (250, 1, 2, 255))


class WithFiles(SixMethods):
    """Writes ``capture_screenshot`` alone, as older runners do."""

    def capture_screenshot(self, path):
        Image.new("RGB", (6, 4), (250, 1, 2)).save(path)
        return True


class WithFailingFiles(SixMethods):
    """Says False, as older runners do on failure."""

    def capture_screenshot(self, path):
        return False


def test_the_contract_has_every_name_of_the_guide():
    assert [name for name in CONTRACT if not callable(getattr(BaseRunner, name, None))] == []


def test_exactly_six_methods_are_required():
    assert sorted(BaseRunner.__abstractmethods__) == sorted(CONTRACT[:6])


def test_six_methods_are_enough():
    runner = SixMethods(bare_spec())
    runner.set_reporter(None)
    runner.report("booting")
    runner.on_episode_start({"env_id": "bare@1"})
    assert runner.episode_context == {"env_id": "bare@1"}
    assert runner.doctor_status()["available"] is True
    assert runner.platform_priority() == 0
    assert runner.get_runtime_info().platform_family == "linux"
    assert not any([runner.supports_fast_io(), runner.supports_savevm(), runner.supports_time_control()])
    assert not runner.has_screen()
    assert not runner.checkpoint_exists()
    runner.release_held_inputs()
    runner.set_fast_io(False)


@pytest.mark.parametrize(
    "act",
    [
        lambda r: r.exec("true"),
        lambda r: r.exec_async("true"),
        lambda r: r.exec_capture("true"),
        lambda r: r.exec_capture_bytes("true"),
        lambda r: r.run_hook("true", stage="pre_start"),
        lambda r: r.copy_to("a", "b"),
        lambda r: r.copy_from("a", "b"),
        lambda r: r.put_file("a"),
        lambda r: r.capture_frame(),
        lambda r: r.capture_screenshot("x.png"),
        lambda r: r.capture_screenshot_image(),
        lambda r: r.capture_audio_raw(1, 8000, 1),
        lambda r: r.capture_ui_tree(),
        lambda r: r.save_state(),
        lambda r: r.load_state("x"),
        lambda r: r.settle(),
        lambda r: r.set_fast_io(True),
    ],
)
def test_what_is_not_written_is_refused_and_never_pretended(act):
    with pytest.raises(UnsupportedFeature, match="SixMethods does not support") as caught:
        act(SixMethods(bare_spec()))
    assert caught.value.detail["feature"]


@pytest.mark.parametrize("act", ["create_checkpoint", "start_from_checkpoint", "delete_checkpoint"])
def test_checkpoints_are_refused(act):
    with pytest.raises(CheckpointUnsupported, match="makes no checkpoints"):
        getattr(SixMethods(bare_spec()), act)()


@pytest.mark.parametrize("kind", [WithFrames, WithImages, WithFiles])
def test_one_way_of_capturing_gives_the_other_two(kind, tmp_path):
    runner = kind(bare_spec())
    assert runner.has_screen()
    frame = runner.capture_frame()
    image = runner.capture_screenshot_image()
    assert runner.capture_screenshot(tmp_path / "shot.png") is True
    with Image.open(tmp_path / "shot.png") as stored:
        assert stored.convert("RGB").getpixel((0, 0)) == (250, 1, 2)
    assert (frame.width, frame.height) == (6, 4)
    assert tuple(frame.array[0, 0]) == (250, 1, 2) == image.convert("RGB").getpixel((0, 0))
    assert [path.name for path in tmp_path.iterdir()] == ["shot.png"]


def test_frames_made_from_images_are_numbered():
    runner = WithImages(bare_spec())
    assert [runner.capture_frame().seq for _ in range(3)] == [1, 2, 3]


def test_a_screenshot_that_failed_is_an_error_not_an_image():
    with pytest.raises(CaptureFailed):
        WithFailingFiles(bare_spec()).capture_frame()


def test_the_screen_size_is_what_the_spec_declares():
    screen = SimpleNamespace(type="rgb_screen", resolution=(640, 480))
    assert SixMethods(bare_spec(observation=(SimpleNamespace(type="x", resolution=(1, 1)), screen))).screen_size() == (
        640,
        480,
    )
    assert SixMethods(bare_spec()).screen_size() is None


def test_settle_ends_when_the_screen_is_still():
    result = WithFrames(bare_spec()).settle(quiet_ms=30, max_ms=5000)
    assert result.settled
    assert 30 <= result.waited_ms < 2000


def test_settle_says_that_the_screen_did_not_come_to_rest():
    class Restless(WithFrames):
        count = 0

        def capture_frame(self, after_input=None):
            self.count += 1
            return Frame(np.full((2, 2, 3), self.count % 250, dtype=np.uint8), seq=self.count, captured_at=0.0)

    result = Restless(bare_spec()).settle(quiet_ms=100, max_ms=80)
    assert not result.settled
    assert result.waited_ms >= 80


def test_settle_leaves_out_the_boxes_it_is_given():
    class Blinking(WithFrames):
        count = 0

        def capture_frame(self, after_input=None):
            self.count += 1
            array = np.zeros((8, 8, 3), dtype=np.uint8)
            array[2:4, 3:6] = self.count % 250
            return Frame(array, seq=self.count, captured_at=0.0)

    assert not Blinking(bare_spec()).settle(quiet_ms=30, max_ms=80, ignore=[(3, 2, 2, 2)]).settled, "not all of it"
    found = Blinking(bare_spec()).settle(quiet_ms=30, max_ms=5000, ignore=[(0, 7, 1, 1), (3, 2, 3, 2)])
    assert found.settled and found.ignored == ((0, 7, 1, 1), (3, 2, 3, 2))


def test_abort_is_final_and_works_without_super_init():
    runner = SixMethods(bare_spec())
    assert not runner.abort_signal.is_set()
    runner.abort()
    runner.abort()
    with pytest.raises(Aborted, match="boot"):
        runner.abort_signal.check("boot")


def test_abort_ends_a_settle_from_another_thread():
    runner = WithFrames(bare_spec())
    ended = []

    def settle():
        try:
            runner.settle(quiet_ms=60_000, max_ms=60_000)
        except Aborted:
            ended.append(time.monotonic())

    thread = threading.Thread(target=settle)
    thread.start()
    aborted_at = time.monotonic()
    runner.abort()
    thread.join(5)
    assert ended
    assert ended[0] - aborted_at < 1


def test_an_action_is_refused_by_name():
    error = SixMethods(bare_spec()).unsupported_action({"action": "fly"})
    assert "fly" in str(error)
    assert (error.blame, error.code) == ("policy", "action-unsupported")


def test_overriding_is_told_for_methods_and_class_methods():
    class Own(SixMethods):
        @classmethod
        def validate_options(cls, spec):
            return []

        def capture_ui_tree(self):
            return "tree"

    assert Own.overrides(["validate_options"])
    assert Own.overrides(["exec", "capture_ui_tree"])
    assert not Own.overrides(["exec", "doctor_status"])
    assert not SixMethods.overrides(["validate_options", "doctor_status", "capture_ui_tree"])


def test_only_a_class_with_its_own_abort_claims_it():
    class Abortable(SixMethods):
        def abort(self):
            super().abort()

    assert Abortable(bare_spec()).can_abort()
    assert not SixMethods(bare_spec()).can_abort()


def test_the_guest_environment_is_secrets_display_and_what_is_given():
    spec = bare_spec(security=SimpleNamespace(resolved_env={"TOKEN": "t", "DISPLAY": ":7"}))
    runner = SixMethods(spec)
    assert runner.default_exec_env() == {"TOKEN": "t", "DISPLAY": ":7"}
    assert runner.merge_exec_env({"A": "1", "TOKEN": "x"}) == {"TOKEN": "x", "DISPLAY": ":7", "A": "1"}
    assert SixMethods(bare_spec(os_type="windows")).default_exec_env() == {}
    assert SixMethods(bare_spec()).default_exec_env() == {"DISPLAY": ":1"}


def test_an_older_runners_capture_takes_the_command_alone():
    class Older(SixMethods):
        def exec_capture_bytes(self, cmd):
            return b"caf\xc3\xa9 \xff"

    assert Older(bare_spec()).exec_capture("x") == "café �"
    assert not accepts_keyword(Older(bare_spec()).exec_capture_bytes, "timeout")
    assert accepts_keyword(SixMethods(bare_spec()).exec_capture, "timeout")


def test_put_file_finds_a_fresh_place_by_copy_to(tmp_path):
    class Copying(SixMethods):
        copied: tuple = ()

        def copy_to(self, host_src, container_dst):
            self.copied = (str(host_src), container_dst)

    runner = Copying(bare_spec())
    source = tmp_path / "häßlich name.txt"
    first, second = runner.put_file(source), runner.put_file(source)
    assert runner.copied == (str(source), second)
    assert first != second
    assert first.startswith("/tmp/")
    assert first.endswith("häßlich name.txt")


def test_hooks_go_through_exec_in_the_familys_shell():
    class Executing(SixMethods):
        ran: tuple = ()

        def exec(self, cmd, env=None, user=None, use_pty=True, timeout=600):
            self.ran = (cmd, timeout)
            return 3

    runner = Executing(bare_spec())
    assert runner.run_hook("echo 'a b' && exit 3", stage="pre_task", timeout=9) == 3
    assert runner.ran == ("bash -lc 'echo '\"'\"'a b'\"'\"' && exit 3' >> /home/ga/task_pre_task.log 2>&1", 9)


def test_passwords_do_not_show_in_runtime_info():
    from gym_anything.runtime.runners.runtime_info import RuntimeInfo

    assert "hunter2" not in repr(RuntimeInfo("x", "linux", vnc_password="hunter2", ssh_password="hunter2"))
