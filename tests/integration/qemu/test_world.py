"""A machine as a world: its screen, hands, commands, files, network and end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from gym_anything._util import proc
from gym_anything._util.deadline import Deadline
from gym_anything._util.state_dir import state_root
from gym_anything._util.waiting import wait_until
from gym_anything.runtime.runners.qemu_native.runner import QemuNativeRunner
from tests.integration.qemu.conftest import MakeRunner

pytestmark = pytest.mark.real

TEXT = "The quick brown fox; rm -rf ~ \"$HOME\" 'q' \\ é Ж 好 🙂 -0.07 --help 100%\n"


def machine_of(runner: QemuNativeRunner) -> int:
    world = runner._world
    assert world is not None
    return world.process.pid


def test_a_picture_has_the_screens_size_and_something_on_it(world: QemuNativeRunner) -> None:
    frame = world.capture_frame()
    assert frame.array.shape == (800, 1280, 3)
    assert len({bytes(pixel) for pixel in frame.array[::50, 640]}) > 10  # the wallpaper is a gradient


def test_a_frame_shows_what_the_input_before_it_did(world: QemuNativeRunner) -> None:
    """S2: the frame that follows an input is not from before it: the pointer is where it was sent, every time."""
    for number in range(10):
        x, y = 200 + 60 * number, 150 + 20 * number
        world.inject_action({"mouse": {"move": [20, 20]}})
        before = world.capture_frame().array[y : y + 12, x : x + 6].copy()
        world.inject_action({"mouse": {"move": [x, y]}})
        after = world.capture_frame()
        assert (after.array[y : y + 12, x : x + 6] != before).any(), f"no pointer at {x}, {y}"
        assert after.after_input >= 2 * number + 2


def test_text_of_any_script_arrives_exactly_in_an_application(world: QemuNativeRunner) -> None:
    """T1, T2."""
    world.exec("rm -f /tmp/typed")
    terminal = world.exec_async("runuser -u ga -- xterm -title typing -e 'cat > /tmp/typed'")
    there = "xdotool search --onlyvisible --name '^typing$' windowactivate --sync"
    wait_until(lambda: world.exec(there) == 0, deadline=Deadline.after(60), awaited="the terminal")
    try:
        world.inject_action({"keyboard": {"text": TEXT}})
        world.inject_action({"keyboard": {"keys": ["ctrl", "d"]}})
        wait_until(lambda: terminal.poll() is not None, deadline=Deadline.after(30), awaited="the terminal's end")
        assert world.exec_capture("cat /tmp/typed") == TEXT
    finally:
        terminal.kill()


def test_only_loopback_reaches_the_machine(world: QemuNativeRunner) -> None:
    """N1: loopback by default."""
    inodes = {target.strip("socket:[]") for target in proc.open_fds(machine_of(world)).values() if "socket" in target}
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    listening = [row[1] for row in rows if row[3] == "0A" and row[9] in inodes]
    assert len(listening) == 3  # commands, desktop, fast keyboard
    assert all(address.startswith("0100007F:") for address in listening)
    assert not [line for line in Path("/proc/net/tcp6").read_text().splitlines()[1:] if line.split()[9] in inodes]


def test_people_get_in_by_vnc_with_a_password(make_runner: MakeRunner) -> None:
    """N2: VNC listens on loopback, and not without a password."""
    runner = make_runner(vnc={"enable": True, "password": "secret12"})
    runner.start()
    info = runner.get_runtime_info()
    assert info.vnc_password == "secret12" and info.vnc_port is not None
    with socket.create_connection(("127.0.0.1", info.vnc_port), timeout=5) as viewer:
        assert viewer.recv(12) == b"RFB 003.008\n"
        viewer.sendall(b"RFB 003.008\n")
        assert viewer.recv(16) == b"\x01\x02"  # one way in: VNC authentication


def test_its_secret_stands_in_no_process_list(world: QemuNativeRunner) -> None:
    machine = world._world
    assert machine is not None
    command_line = Path(f"/proc/{machine_of(world)}/cmdline").read_bytes()
    assert b"fw_cfg" in command_line and machine.token not in command_line


@pytest.mark.parametrize("net", [True, False])
def test_the_network_is_there_only_when_asked_for(make_runner: MakeRunner, net: bool) -> None:
    runner = make_runner(resources={"cpu": 2, "mem_gb": 1, "net": net})
    runner.start()
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = runner.exec(f"timeout 5 bash -c 'exec 3<>/dev/tcp/10.0.2.2/{port}'", use_pty=False)
    assert (code == 0) == net


def test_accounts_and_mounts_of_the_spec_are_there_and_changes_come_back(
    make_runner: MakeRunner, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/data.txt").write_text("given")
    (tmp_path / "out").mkdir()
    runner = make_runner(
        user_accounts=[{"name": "maria", "uid": 1234, "permissions": {"sudo": True}}],
        mounts=[
            {"source": str(tmp_path / "in"), "target": "/workspace/in"},
            {"source": str(tmp_path / "out"), "target": "/workspace/out", "mode": "rw"},
        ],
    )
    runner.start()
    assert runner.exec_capture("cat /workspace/in/data.txt") == "given"
    assert runner.exec_capture("id -u maria; stat -c %U /home/maria").split() == ["1234", "maria"]
    assert runner.exec("sudo -n true", user="maria", use_pty=False) == 0
    assert runner.exec("echo made > /workspace/out/result.txt", user="ga", use_pty=False) == 0
    runner.stop()
    assert (tmp_path / "out/result.txt").read_text() == "made\n"


def test_a_machine_whose_owner_is_killed_ends_and_its_files_are_collected(qemu_backend: None) -> None:
    """L3: after kill -9 nothing runs on, and what lies about is found by its label."""
    program = textwrap.dedent(
        """
        import sys
        from tests.integration.qemu.conftest import spec_of
        from gym_anything.runtime.runners.qemu_native.runner import QemuNativeRunner
        runner = QemuNativeRunner(spec_of())
        runner.start()
        print(runner._world.process.pid, runner._lodging.place.path, flush=True)
        sys.stdin.read()
        """
    )
    owner = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    pid, folder = owner.stdout.readline().split()
    owner.send_signal(signal.SIGKILL)
    owner.communicate()
    wait_until(lambda: proc.read_stat(int(pid)) is None, deadline=Deadline.after(10), awaited="the end of the machine")
    assert Path(folder).is_relative_to(state_root())
    gc = [sys.executable, "-m", "gym_anything.cli.main", "cache", "gc"]
    subprocess.run(gc, check=True, capture_output=True, env=dict(os.environ))
    assert not Path(folder).exists()


def test_a_machine_that_dies_is_a_lost_world_with_its_last_words(make_runner: MakeRunner) -> None:
    """L9: a dead world is not taken for command output."""
    from gym_anything.errors import WorldLost

    runner = make_runner()
    runner.start()
    os.kill(machine_of(runner), signal.SIGKILL)
    with pytest.raises(WorldLost, match="-9"):
        runner.exec("true")
    with pytest.raises(WorldLost):
        runner.capture_frame()
