"""Android guests over adb's protocol, against a stand-in for a device that Debian's own ``adb`` takes for one, too."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything._util.ports import bind_loopback, port_of
from gym_anything.errors import (
    Aborted,
    GuestCommandFailed,
    GuestFileNotFound,
    Unauthorized,
    Unreachable,
    UnsupportedFeature,
    WorldLost,
)
from gym_anything.runtime.guest.adb.connection import AdbConnection
from gym_anything.runtime.guest.adb.files import pull, push
from gym_anything.runtime.guest.adb.shell import run_command
from tests.standins.adb_device import AdbDevice

pytestmark = pytest.mark.real


def free_port() -> int:
    """Return a port that nobody listens on."""
    with bind_loopback() as sock:
        return port_of(sock)


def soon(seconds: float = 10.0) -> Deadline:
    return Deadline.after(seconds)


@pytest.fixture
def device(tmp_path: Path) -> Iterator[AdbDevice]:
    root = tmp_path / "device"
    root.mkdir()
    found = AdbDevice(root)
    yield found
    found.close()


@pytest.fixture
def adb(device: AdbDevice) -> Iterator[AdbConnection]:
    connection = AdbConnection.connect(device.port, soon())
    yield connection
    connection.close()


def test_a_device_tells_what_it_is(adb: AdbConnection) -> None:
    assert adb.banner.kind == "device"
    assert adb.banner.properties["ro.product.name"] == "standin"
    assert "shell_v2" in adb.banner.features


def test_output_errors_and_exit_code_come_apart_and_whole(adb: AdbConnection) -> None:
    done = run_command(adb, "printf 'Ж\\n'; echo bad >&2; seq 1 3000; exit 7", soon())
    assert done.exit_code == 7 and not done.timed_out
    assert done.stdout.decode() == "Ж\n" + "".join(f"{n}\n" for n in range(1, 3001))
    assert done.stderr == b"bad\n"


def test_input_arrives_whole(adb: AdbConnection) -> None:
    data = os.urandom(200_000)
    assert run_command(adb, "cat", soon(), stdin=data).stdout == data


def test_a_command_that_takes_too_long_is_ended_and_the_next_one_works(adb: AdbConnection, device: AdbDevice) -> None:
    done = run_command(adb, "echo begun; sleep 1000", soon(0.5))
    assert done.timed_out and done.stdout == b"begun\n"
    assert run_command(adb, "echo next", soon()).stdout == b"next\n"


def test_files_and_folders_arrive_with_their_modes(adb: AdbConnection, tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "deep er").mkdir(parents=True)
    (source / "run.sh").write_text("exit 0\n")
    (source / "run.sh").chmod(0o755)
    (source / "deep er" / "Ж.bin").write_bytes(os.urandom(300_000))
    (source / "empty").write_bytes(b"")
    push(adb, source, "/sdcard/scripts", soon())
    back = tmp_path / "back"
    pull(adb, "/sdcard/scripts", back, soon())
    files = {path.relative_to(source): path for path in source.rglob("*") if path.is_file()}
    assert {path.relative_to(back) for path in back.rglob("*") if path.is_file()} == set(files)
    for name, path in files.items():
        assert (back / name).read_bytes() == path.read_bytes()
    assert (back / "run.sh").stat().st_mode & 0o777 == 0o755


def test_a_service_may_end_before_it_has_taken_the_last_words(
    adb: AdbConnection, device: AdbDevice, tmp_path: Path
) -> None:
    device.ends_without_taking = True
    (tmp_path / "a").write_text("a")
    push(adb, tmp_path / "a", "/sdcard/a", soon())
    pull(adb, "/sdcard/a", tmp_path / "back", soon())
    assert (tmp_path / "back").read_text() == "a"


def test_a_missing_file_is_named_and_nothing_is_written(adb: AdbConnection, tmp_path: Path) -> None:
    with pytest.raises(GuestFileNotFound, match="/sdcard/gone"):
        pull(adb, "/sdcard/gone", tmp_path / "out", soon())
    assert not (tmp_path / "out").exists()


def test_what_the_device_does_not_take_is_told_with_its_reason(adb: AdbConnection, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    with pytest.raises(GuestCommandFailed, match="Read-only file system"):
        push(adb, tmp_path / "a", "/system/a", soon())
    assert run_command(adb, "echo on", soon()).stdout == b"on\n"


def test_a_device_that_wants_a_key_says_what_image_to_use(tmp_path: Path) -> None:
    device = AdbDevice(tmp_path, wants_key=True)
    try:
        with pytest.raises(Unauthorized, match=r"ro\.adb\.secure"):
            AdbConnection.connect(device.port, soon())
    finally:
        device.close()


def test_a_device_without_exit_codes_is_refused(tmp_path: Path) -> None:
    device = AdbDevice(tmp_path, features="cmd")
    try:
        with (
            contextlib.closing(AdbConnection.connect(device.port, soon())) as adb,
            pytest.raises(UnsupportedFeature, match="shell_v2"),
        ):
            run_command(adb, "true", soon())
    finally:
        device.close()


def test_nobody_there_is_unreachable() -> None:
    with pytest.raises(Unreachable):
        AdbConnection.connect(free_port(), soon(2))


def test_a_device_that_dies_in_the_middle_is_a_lost_world(adb: AdbConnection, device: AdbDevice) -> None:
    threading.Timer(0.3, device.hang_up).start()
    with pytest.raises(WorldLost):
        run_command(adb, "sleep 1000", soon())


def test_abort_from_another_thread_ends_a_blocked_call(adb: AdbConnection) -> None:
    threading.Timer(0.3, adb.abort).start()
    with pytest.raises(Aborted):
        run_command(adb, "sleep 1000", soon())


def test_debians_own_adb_takes_the_stand_in_for_a_device(device: AdbDevice, tmp_path: Path) -> None:
    """What makes the stand-in one: the real client gets the same from it."""
    program = shutil.which("adb")
    if program is None:
        pytest.skip("adb is not installed: apt-get install adb")
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "ANDROID_ADB_SERVER_PORT": str(free_port())}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([program, *words], env=env, capture_output=True, text=True, timeout=30, check=False)

    serial = f"127.0.0.1:{device.port}"
    try:
        assert "connected to" in run("connect", serial).stdout
        done = run("-s", serial, "shell", "echo out; echo bad >&2; exit 5")
        assert (done.returncode, done.stdout, done.stderr) == (5, "out\n", "bad\n")
        (tmp_path / "word").write_text("kept")
        assert run("-s", serial, "push", str(tmp_path / "word"), "/sdcard/word").returncode == 0
        assert (device.root / "sdcard" / "word").read_text() == "kept"
        assert run("-s", serial, "pull", "/sdcard/word", str(tmp_path / "back")).returncode == 0
        assert (tmp_path / "back").read_text() == "kept"
    finally:
        run("kill-server")
