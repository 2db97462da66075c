"""Worlds with Windows and Android: QEMU is real, and so are its screen and its input; the guests are stand-ins.

What is behind the forwarded port would be Windows' SSH server or Android's ``adbd``; here ``tests.standins`` speak those
protocols, and an empty disk plays the image.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gym_anything.errors import ActionUnsupported, MissingDependency, SpecNotFound
from gym_anything.runtime.guest.adb.device import AndroidShell
from gym_anything.runtime.guest.adb.hands import NO_POINTER
from gym_anything.runtime.guest.ssh.command import SshLogin
from gym_anything.runtime.guest.ssh.shell import WindowsShell
from gym_anything.runtime.qemu.cache import CACHE
from gym_anything.runtime.qemu.program import IMAGE_TOOL, SYSTEM, find_program
from gym_anything.runtime.runners.qemu_native.other_guest import OtherGuestRunner
from gym_anything.runtime.runners.qemu_native.runner import QemuNativeRunner
from gym_anything.specs.env_spec import EnvSpec
from tests.standins.adb_device import AdbDevice
from tests.standins.windows_ssh import PASSWORD, USER, Answer, WindowsSsh, windows_ssh

pytestmark = pytest.mark.real
Make = Callable[..., OtherGuestRunner]


@pytest.fixture
def image(tmp_path: Path, require_backend: Callable[[str, bool, str], None]) -> Path:
    """An empty disk where the user's image would be."""
    there = find_program(SYSTEM) is not None and find_program(IMAGE_TOOL) is not None
    require_backend("qemu_native", there, "QEMU is not installed: apt-get install qemu-system-x86 qemu-utils")
    path = tmp_path / "base.qcow2"
    subprocess.run([IMAGE_TOOL, "create", "-q", "-f", "qcow2", str(path), "8M"], check=True, timeout=60)
    return path


@pytest.fixture
def make(image: Path) -> Iterator[Make]:
    """Return ``make(os_type, **fields)`` for worlds that are not started; each is stopped."""
    made: list[OtherGuestRunner] = []

    def build(os_type: str, **fields: Any) -> OtherGuestRunner:
        options = {"image": str(image), "firmware": "bios", "start_timeout_s": 60.0}
        spec = {
            "id": "other@1",
            "os_type": os_type,
            "observation": [{"type": "rgb_screen", "resolution": [1280, 720]}],
            "action": [{"type": "mouse"}, {"type": "keyboard"}],
            "resources": {"cpu": 1, "mem_gb": 0.25, "net": False},
            "runner_options": options,
            **fields,
        }
        runner = QemuNativeRunner(EnvSpec.from_dict(spec))
        assert isinstance(runner, OtherGuestRunner)
        made.append(runner)
        return runner

    yield build
    for runner in made:
        runner.stop()


def ends(runner: OtherGuestRunner, image: Path, before: str) -> None:
    """Stop a world and look for what it may not have done."""
    world = runner._world
    assert world is not None
    place, process = world.place.path, world.process
    runner.stop()
    assert not place.exists() and not process.alive
    assert hashlib.sha256(image.read_bytes()).hexdigest() == before, "the user's image was written"


# --- Windows ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def server(tmp_path: Path) -> Iterator[WindowsSsh]:
    drive = tmp_path / "drive"
    drive.mkdir()

    def answer(script: str) -> Answer:
        tested = re.search(r"Test-Path -LiteralPath 'C:\\([^']*)'", script)
        if tested:
            return ("file" if (drive / tested[1].replace("\\", "/")).is_file() else "folder"), "", 0
        return ("said\n", "", 7) if "exit 7" in script else ("said\n", "", 0)

    with windows_ssh(drive, answer) as found:
        yield found


@pytest.fixture
def windows(server: WindowsSsh, make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OtherGuestRunner:
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    (scripts / "setup.ps1").write_text("exit 0\n")

    def shell(self: OtherGuestRunner, port: int) -> WindowsShell:
        assert self._world is not None
        return WindowsShell(SshLogin(server.port, USER, PASSWORD), self._world.place.path, self._world.place.env)

    monkeypatch.setattr(OtherGuestRunner, "_new_shell", shell)
    mounts = [{"source": str(scripts), "target": "/workspace/scripts", "mode": "ro"}]
    runner = make("windows", mounts=mounts, vnc={"enable": True})
    runner.start()
    return runner


def test_a_windows_world_from_its_start_to_its_end(windows: OtherGuestRunner, server: WindowsSsh, image: Path) -> None:
    before = hashlib.sha256(image.read_bytes()).hexdigest()
    assert (server.drive / "workspace/scripts/setup.ps1").read_text() == "exit 0\n"
    frame = windows.capture_frame()
    assert frame.array.ndim == 3 and frame.array.shape[2] == 3
    line = "powershell -ExecutionPolicy Bypass -File C:\\workspace\\scripts\\setup.ps1; exit 7"
    assert windows.run_hook(line, stage="post_start") == 7
    assert line in server.scripts[-1] and "C:\\Users\\Docker\\env_setup_post_start.log" in server.scripts[-1]
    assert windows.exec_capture("Get-Date") == "said\n"
    windows.exec("Get-Item x", env={"TOKEN": "it's"})
    assert "$env:TOKEN='it''s'\nGet-Item x" in server.scripts[-1]
    info = windows.get_runtime_info()
    assert (info.platform_family, info.ssh_user) == ("windows", "Docker") and info.vnc_port
    ends(windows, image, before)


def test_input_of_a_windows_world_is_taken_by_qemu_or_refused_whole(windows: OtherGuestRunner) -> None:
    windows.inject_action({"mouse": {"left_click": [640, 360]}})
    windows.inject_action({"mouse": {"left_click_drag": [[10, 10], [200, 100]]}})
    windows.inject_action({"mouse": {"scroll": 2}})
    windows.inject_action({"keyboard": {"text": "C:\\x~ 1\n"}})
    windows.inject_action({"keyboard": {"keys": ["win", "r"]}})
    assert windows.capture_frame().after_input == 5
    with pytest.raises(ActionUnsupported, match="Ж"):
        windows.inject_action({"keyboard": {"text": "aЖ"}})
    with pytest.raises(ActionUnsupported, match="horizontal"):
        windows.inject_action({"mouse": {"hscroll": 1}})
    windows.release_held_inputs()


# --- Android ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def device(tmp_path: Path) -> Iterator[AdbDevice]:
    root = tmp_path / "device"
    (root / "bin").mkdir(parents=True)
    (root / "sdcard").mkdir()
    for name, text in (("getprop", "echo 1"), ("input", f'echo "$*" >> {root}/input.log'), ("pm", "echo Success")):
        (root / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (root / "bin" / name).chmod(0o755)
    found = AdbDevice(root)
    yield found
    found.close()


@pytest.fixture
def android(device: AdbDevice, make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OtherGuestRunner:
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    (scripts / "setup.sh").write_text("#!/bin/sh\necho ran\nexit 3\n")
    (scripts / "setup.sh").chmod(0o644)  # as Android's shared storage shows every file
    (tmp_path / "app.apk").write_bytes(b"PK")
    monkeypatch.setattr(OtherGuestRunner, "_new_shell", lambda self, port: AndroidShell(device.port))
    mounts = [{"source": str(scripts), "target": "/sdcard/scripts", "mode": "rw"}]
    runner = make("android", mounts=mounts, apks=[str(tmp_path / "app.apk")])
    runner.start()
    return runner


def test_an_android_world_from_its_start_to_its_end(
    android: OtherGuestRunner, device: AdbDevice, image: Path, tmp_path: Path
) -> None:
    before = hashlib.sha256(image.read_bytes()).hexdigest()
    assert any(command.startswith("pm install -r -g /data/local/tmp/ga_") for command in device.commands)
    for line in ("/sdcard/scripts/setup.sh", "sh /sdcard/scripts/setup.sh"):
        assert android.run_hook(line, stage="post_start") == 3
    assert (device.root / "sdcard/env_setup_post_start.log").read_text() == "ran\nran\n"
    assert android.capture_frame().array.shape[2] == 3
    (device.root / "sdcard/scripts/result.json").write_text("{}")
    ends(android, image, before)
    assert (tmp_path / "scripts/result.json").read_text() == "{}", "a read-write mount comes back"


def test_touches_are_what_the_contract_says(android: OtherGuestRunner, device: AdbDevice) -> None:
    assert android.inject_action({"mouse": {"left_click": [3, 4]}}) is None
    assert android.inject_action({"mouse": {"move": [3, 4]}}) == NO_POINTER
    android.inject_action({"mouse": {"double_click": [5, 6]}})
    android.inject_action({"mouse": {"right_click": [7, 8]}})
    android.inject_action({"keyboard": {"text": "it's 5 %s\n"}})
    assert (device.root / "input.log").read_text().splitlines() == [
        "tap 3 4",
        "tap 5 6",
        "tap 5 6",
        "swipe 7 8 7 8 1000",
        "text it's%s5%s%",
        "text s",
        "keyevent KEYCODE_ENTER",
    ]
    with pytest.raises(ActionUnsupported, match="pointer"):
        android.inject_action({"mouse": {"middle_click": [1, 1]}})


# --- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base", "name"), [("windows-11", "base_windows_11.qcow2"), ("android-14", "base_android_14.qcow2")]
)
def test_without_an_image_a_start_says_where_it_should_be_and_leaves_nothing(
    base: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE.name, str(tmp_path))
    monkeypatch.setenv("GYM_ANYTHING_IMAGE_DIR", str(tmp_path / "images"))
    runner = QemuNativeRunner(EnvSpec.from_dict({"id": "a@1", "base": base}))
    with pytest.raises(MissingDependency, match=re.escape(str(tmp_path / name))):
        runner.start()
    runner.stop()
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_qcow2_image_is_refused_with_the_way_to_make_one(make: Make, tmp_path: Path) -> None:
    (tmp_path / "raw.img").write_bytes(bytes(1 << 16))
    runner = make("windows", runner_options={"image": str(tmp_path / "raw.img")})
    with pytest.raises(MissingDependency, match="qemu-img convert"):
        runner.start()


def test_a_missing_mount_is_refused_before_anything_starts(make: Make) -> None:
    runner = make("windows", mounts=[{"source": "/nowhere", "target": "/workspace/x"}])
    with pytest.raises(SpecNotFound, match="/nowhere"):
        runner.start()
    assert runner._world is None


def test_ovmf_is_found_on_the_host_or_in_the_image(tmp_path: Path) -> None:
    from gym_anything.runtime.qemu.other_images import firmware_files

    folder = tmp_path / "usr/share/OVMF"
    folder.mkdir(parents=True)
    with pytest.raises(MissingDependency, match="ovmf"):
        firmware_files((tmp_path,))
    for name in ("OVMF_CODE_4M.fd", "OVMF_VARS_4M.fd"):
        (folder / name).write_bytes(b"x")
    assert firmware_files((tmp_path / "no", tmp_path)) == (folder / "OVMF_CODE_4M.fd", folder / "OVMF_VARS_4M.fd")
