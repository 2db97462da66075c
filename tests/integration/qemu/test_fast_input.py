"""Fast input: QEMU's tablet and the keyboard of our own, as the guest's applications see them."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.actions.model import TypeText
from gym_anything.errors import Unauthorized, WorldStartFailed
from gym_anything.runtime.qemu.fast_keyboard import DEVICE, FastKeyboard
from gym_anything.runtime.qemu.guest_machine import FAST_INPUT_PORT
from gym_anything.runtime.runners.qemu_native.runner import QemuNativeRunner
from tests.busy_host import busy_host
from tests.integration.qemu.conftest import spec_of

pytestmark = pytest.mark.real

PRINTABLE = [chr(code) for code in range(32, 127)]


@pytest.fixture(scope="module")
def fast(qemu_backend: None) -> Iterator[QemuNativeRunner]:
    """A running world in fast mode that the tests share."""
    runner = QemuNativeRunner(spec_of())
    runner.set_fast_io(True)
    try:
        runner.start()
        yield runner
    finally:
        runner.stop()


def translated(world: QemuNativeRunner) -> int:
    """Return how many pieces of the guest's code QEMU has translated so far: each is one that had not run before."""
    told = world._running("count").process.qmp.human("info jit", deadline=Deadline.after(10))
    return int(re.search(r"TB count\s+(\d+)", told)[1])  # type: ignore[index]


def test_a_copy_does_not_do_again_what_a_guest_does_once_for_its_first_key(qemu_backend: None) -> None:
    runner = QemuNativeRunner(spec_of())
    runner.set_fast_io(True)
    try:
        runner.start()
        runner.inject_action({"mouse": {"move": [40, 40]}})
        before = translated(runner)
        runner.inject_action({"keyboard": {"keys": ["shift"]}})
        assert translated(runner) - before < 3000, "all programs read the keyboard's map: 7,000 pieces"
    finally:
        runner.stop()


def show(world: QemuNativeRunner, title: str, command: str) -> object:
    """Start a program with a window as the desktop's user; return once the window is active."""
    program = world.exec_async(f"runuser -u ga -- {command}")
    there = f"xdotool search --onlyvisible --name '^{title}$' windowactivate --sync"
    wait_until(lambda: world.exec(there, use_pty=False) == 0, deadline=Deadline.after(60), awaited="the window")
    return program


def typed_into(world: QemuNativeRunner, type_it: Callable[[], object], ends: str) -> str:
    """Return what a terminal's program reads while something types, up to ``ends``."""
    world.exec("rm -f /tmp/typed", use_pty=False)
    terminal = show(world, "typing", "xterm -title typing -e 'cat > /tmp/typed'")
    try:
        type_it()
        wait_until(
            lambda: world.exec_capture("cat /tmp/typed").endswith(ends),
            deadline=Deadline.after(30),
            awaited="the end of the text",
            status=lambda: world.exec_capture("tail -c 300 /tmp/typed"),
        )
        return world.exec_capture("cat /tmp/typed")
    finally:
        terminal.kill()  # type: ignore[attr-defined]


def test_the_device_has_its_name_and_the_display_server_reads_it(fast: QemuNativeRunner) -> None:
    """The seeds: the device GymAnything Fast Keyboard in the guest's input stack; a virtual tablet, not PS/2."""
    devices = fast.exec_capture("cat /proc/bus/input/devices")
    assert f'Name="{DEVICE}"' in devices and "USB Tablet" in devices and "USB Keyboard" in devices
    assert "gym-anything-fast-inputd" in fast.exec_capture("cat /proc/*/cmdline 2>/dev/null | tr '\\0' ' '")


def test_five_hundred_characters_arrive_exactly(fast: QemuNativeRunner) -> None:
    """T1: the text is exact, at the fast keyboard's own pace."""
    rng = random.Random(4)
    text = "\n".join("".join(rng.choices(PRINTABLE, k=99)) for _ in range(5)) + "\n."
    text += "\n"
    typed: list[int] = []

    def type_it() -> None:
        assert fast._world is not None
        typed.append(fast._world.desktop.send([TypeText(text)]).chars_typed)

    assert typed_into(fast, type_it, ".\n") == text
    assert typed == [len(text)]


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_texts_arrive_exactly_on_a_host_that_is_busy(fast: QemuNativeRunner) -> None:
    """A processor of the machine that waits for one of the host's reads no keys meanwhile: none may be lost."""
    rng = random.Random(5)
    with busy_host(4):
        for _ in range(10):
            text = "".join(rng.choices(PRINTABLE, k=99)) + "\n"
            text += "".join(rng.choices(PRINTABLE, k=399)) + "\n.\n"

            def type_it(text: str = text) -> None:
                fast.inject_action({"keyboard": {"text": text}})

            assert typed_into(fast, type_it, "\n.\n") == text


def test_what_no_us_keyboard_has_is_typed_in_its_turn(fast: QemuNativeRunner) -> None:
    """T2: any script; what goes by another way keeps its place in the order."""

    def type_it() -> None:
        for part in ("begin ", "Grüße 東京 🎉", " middle ", "Жук", " end\n"):
            fast.inject_action({"keyboard": {"text": part}})

    assert typed_into(fast, type_it, "end\n") == "begin Grüße 東京 🎉 middle Жук end\n"


@pytest.mark.soak
def test_caps_lock_does_not_change_what_is_typed(fast: QemuNativeRunner) -> None:
    def type_it() -> None:
        fast.inject_action({"keyboard": {"keys": ["Caps_Lock"]}})
        fast.inject_action({"keyboard": {"text": "aBc dEf 1!\n"}})
        fast.inject_action({"keyboard": {"keys": ["Caps_Lock"]}})

    assert typed_into(fast, type_it, "1!\n") == "aBc dEf 1!\n"


def test_the_pointer_is_where_it_was_sent_in_every_column(fast: QemuNativeRunner) -> None:
    world = fast._world
    assert world is not None
    for x, y in ((0, 0), (1279, 799), *((x, x % 800) for x in range(3, 1280, 61))):
        fast.inject_action({"mouse": {"move": [x, y]}})
        assert world.desktop.pointer() == (x, y)


def test_clicks_and_double_clicks_all_arrive(fast: QemuNativeRunner) -> None:
    """I1: every press and release is seen, none is swallowed."""
    fast.exec("rm -f /tmp/seen", use_pty=False)
    command = "xev -event button -geometry 600x300+300+100 | grep --line-buffered -o 'Button[PR][a-z]*' > /tmp/seen"
    window = show(fast, "Event Tester", f'sh -c "stdbuf -oL {command}"')
    try:
        for number in range(10):
            fast.inject_action({"mouse": {"left_click": [400 + number, 200]}})
            fast.inject_action({"mouse": {"double_click": [400, 200 + number]}})
        fast.inject_action({"mouse": {"left_click_drag": [[350, 150], [700, 300]]}})
        fast.inject_action({"mouse": {"scroll": 3}})
        want = ["ButtonPress", "ButtonRelease"] * (10 * 3 + 1 + 3)
        wait_until(
            lambda: fast.exec_capture("cat /tmp/seen").split() == want,
            deadline=Deadline.after(10),
            awaited="all events",
            status=lambda: str(len(fast.exec_capture("cat /tmp/seen").split())),
        )
    finally:
        window.kill()  # type: ignore[attr-defined]


def test_a_wrong_secret_is_refused(fast: QemuNativeRunner) -> None:
    world = fast._world
    assert world is not None
    with pytest.raises(Unauthorized):
        FastKeyboard.connect(world._ports[FAST_INPUT_PORT], token=b"x" * 32, deadline=Deadline.after(10))


def test_a_keyboard_that_nobody_reads_is_refused_loudly(fast: QemuNativeRunner) -> None:
    """The seeds: fast mode fails loudly when the contract of the keyboard does not hold."""
    world = fast._world
    assert world is not None
    fast.exec("systemctl stop gym-anything-x", use_pty=False)
    try:
        with pytest.raises(WorldStartFailed, match="no display server reads"):
            FastKeyboard.connect(world._ports[FAST_INPUT_PORT], token=world.token, deadline=Deadline.after(10))
    finally:
        fast.exec("systemctl start gym-anything-x", use_pty=False)


@pytest.mark.soak
@pytest.mark.parametrize("keyboard", ["virtio", "qmp-experimental"])
def test_the_other_keyboards_type(qemu_backend: None, keyboard: str) -> None:
    """Chosen by name; nothing acknowledges them."""
    runner = QemuNativeRunner(spec_of(runner_options={"fast_keyboard": keyboard, "input_devices": "virtio"}))
    runner.set_fast_io(True)
    try:
        runner.start()
        text = "plain text 42.\n"
        assert typed_into(runner, lambda: runner.inject_action({"keyboard": {"text": text}}), ".\n") == text
    finally:
        runner.stop()
