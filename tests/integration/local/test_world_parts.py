"""The parts of a local world: mounts, files, accounts, network, VNC, accessibility tree, network."""

from __future__ import annotations

import os
import socket
import struct
from pathlib import Path

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.errors import SpecInvalid, UnsupportedFeature
from gym_anything.runtime.runners.local.runner import LocalRunner
from gym_anything.runtime.session.ui_tree import missing_packages
from gym_anything.runtime.vnc.des import rfb_answer
from tests.conftest import RequireBackend
from tests.integration.local.conftest import SIZE, MakeRunner

pytestmark = pytest.mark.real


def test_a_read_only_mount_is_readable_and_cannot_be_changed(make_runner: MakeRunner, tmp_path: Path) -> None:
    source = tmp_path / "with spaces and ümlaut"
    (source / "sub").mkdir(parents=True)
    (source / "secret.txt").write_text("read me")
    (source / "secret.txt").chmod(0o600)
    (source / "sub" / "run.sh").write_text("#!/bin/sh\necho ran\n")
    (source / "sub" / "run.sh").chmod(0o755)
    runner = make_runner(mounts=[{"source": str(source), "target": "/workspace/my data"}])
    runner.start()
    assert runner.exec_capture("cat '/workspace/my data/secret.txt'; '/workspace/my data/sub/run.sh'").split() == [
        "read", "meran",
    ]  # fmt: skip
    runner.exec(
        "echo x > '/workspace/my data/secret.txt'; rm -rf '/workspace/my data/sub'; touch '/workspace/my data/new'"
    )
    assert (source / "secret.txt").read_text() == "read me"
    assert sorted(path.name for path in source.iterdir()) == ["secret.txt", "sub"]


def test_a_read_write_mount_comes_back(make_runner: MakeRunner, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("in")
    runner = make_runner(mounts=[{"source": str(tmp_path), "target": "/workspace/shared", "mode": "rw"}])
    runner.start()
    runner.exec(
        "su ga -c 'cat /workspace/shared/in.txt > /workspace/shared/out.txt && echo more >> /workspace/shared/in.txt'"
    )
    runner.exec("cp /usr/bin/id /workspace/shared/tool && chmod 4755 /workspace/shared/tool")
    runner.stop()
    assert (tmp_path / "out.txt").read_text() == "in"
    assert (tmp_path / "in.txt").read_text() == "inmore\n"
    assert not (tmp_path / "tool").stat().st_mode & 0o6000, "no set-uid program comes out"
    assert (tmp_path / "tool").stat().st_uid == os.geteuid()


def test_a_mount_over_a_link_of_the_world_stays_inside(make_runner: MakeRunner, tmp_path: Path) -> None:
    """N3: no route reads or writes a host path outside."""
    (tmp_path / "f").write_text("x")
    mounts = [{"source": str(tmp_path), "target": "/home/ga/../../workspace/y"}]
    runner = make_runner(mounts=mounts)
    runner.start()
    assert runner.exec_capture("cat /workspace/y/f").strip() == "x"


def test_accounts_of_the_spec_are_there(make_runner: MakeRunner) -> None:
    users = [
        {"name": "alice", "password": "pw", "permissions": {"sudo_nopasswd": True, "home_permissions": "700"}},
        {"name": "bob", "uid": 1500, "permissions": {"groups": ["research"], "env_vars": {"EDITOR": "vi"}}},
    ]
    runner = make_runner(user_accounts=users)
    runner.start()
    assert runner.exec_capture("su - alice -c 'sudo -n id -u'; stat -c %a /home/alice").split() == ["0", "700"]
    assert runner.exec_capture("su - bob -c 'id -u; id -Gn; echo $EDITOR; sudo -n true || echo no' 2>/dev/null").split() == [
        "1500", "bob", "research", "vi", "no",
    ]  # fmt: skip
    assert runner.exec("true", user="bob", use_pty=False) == 0


def test_files_go_in_and_out_with_their_modes(world: LocalRunner, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "sub").mkdir(parents=True)
    (tree / "sub" / "tool").write_bytes(bytes(range(256)) * 100)
    (tree / "sub" / "tool").chmod(0o755)
    world.copy_to(tree, "/home/ga/tree")
    assert world.exec_capture("stat -c '%U %a' /home/ga/tree/sub/tool").split() == ["ga", "755"]
    world.copy_from("/home/ga/tree", tmp_path / "back")
    assert (tmp_path / "back" / "sub" / "tool").read_bytes() == (tree / "sub" / "tool").read_bytes()
    path = world.put_file(tree / "sub" / "tool")
    assert world.exec_capture_bytes(f"cat {path}") == (tree / "sub" / "tool").read_bytes()


def test_without_a_network_there_is_loopback_only(world: LocalRunner) -> None:
    devices = world.exec_capture("tail -n +3 /proc/net/dev | cut -d: -f1").split()
    assert devices == ["lo"]
    script = "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(); socket.create_connection(s.getsockname())"
    assert world.exec(f'python3 -c "{script}"', use_pty=False) == 0


def test_with_a_network_there_is_a_route_and_the_hosts_own_services_stay_hidden(
    make_runner: MakeRunner, require_backend: RequireBackend
) -> None:
    import shutil

    require_backend("pasta", shutil.which("pasta") is not None, "pasta is not installed (passt)")
    require_backend("route", "00000000" in Path("/proc/net/route").read_text(), "this host has no default route")
    runner = make_runner(resources={"net": True})
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        runner.start()
        route = runner.exec_capture("awk '$2 == \"00000000\" {print $3; exit}' /proc/net/route").strip()
        gateway = socket.inet_ntoa(int(route, 16).to_bytes(4, "little"))
        for address in ("127.0.0.1", gateway):
            script = f"import socket; socket.create_connection(('{address}', {port}), timeout=1)"
            assert runner.exec(f'python3 -c "{script}"', use_pty=False) != 0, address


def exactly(stream: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        chunk = stream.recv(count - len(data))
        assert chunk, "hung up"
        data += chunk
    return data


def watch(port: int, password: str) -> tuple[int, int]:
    """Log in as a viewer and return the size of the screen."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as person:
        assert exactly(person, 12) == b"RFB 003.008\n"
        person.sendall(b"RFB 003.008\n")
        assert exactly(person, 2) == b"\x01\x02"
        person.sendall(b"\x02")
        person.sendall(rfb_answer(password, exactly(person, 16)))
        if struct.unpack(">I", exactly(person, 4))[0] != 0:
            raise PermissionError
        person.sendall(b"\x01")
        width, height = struct.unpack(">HH", exactly(person, 24)[:4])
        return width, height


def test_a_person_watches_by_vnc_with_the_password_and_not_without(make_runner: MakeRunner) -> None:
    """N2: VNC never listens beyond loopback, and asks for a password."""
    runner = make_runner(vnc={"enable": True, "password": "sesame"})
    runner.start()
    info = runner.get_runtime_info()
    assert info.vnc_port is not None and info.vnc_password == "sesame"
    assert "sesame" not in repr(info) and info.vnc_url == f"vnc://127.0.0.1:{info.vnc_port}"
    assert watch(info.vnc_port, "sesame") == tuple(SIZE)
    assert watch(info.vnc_port, "sesame") == tuple(SIZE), "a second viewer is welcome"
    with pytest.raises(PermissionError):
        watch(info.vnc_port, "wrong")
    addresses = [line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    mine = [address for address in addresses if address.endswith(f":{info.vnc_port:04X}")]
    assert mine and all(address.startswith("0100007F") for address in mine)
    runner.stop()
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", info.vnc_port), timeout=1)


def test_without_asking_nobody_can_watch(world: LocalRunner) -> None:
    assert world.get_runtime_info().vnc_port is None
    assert "5901" not in world.exec_capture("cat /proc/net/tcp /proc/net/tcp6")


def test_the_tree_is_the_real_one_of_the_programs_on_the_screen(
    world: LocalRunner, require_backend: RequireBackend
) -> None:
    """ui_tree: a real accessibility tree or absent, never a dummy."""
    require_backend("accessibility", not missing_packages(), f"not installed: {missing_packages()}")
    assert "mousepad" not in world.capture_ui_tree()
    world.exec_async("su - ga -c mousepad")
    wait_until(
        lambda: 'frame "Untitled 1 - Mousepad"' in world.capture_ui_tree(),
        deadline=Deadline.after(30),
        awaited="the editor's window in the tree",
        status=lambda: world.capture_ui_tree()[:500],
    )
    tree = world.capture_ui_tree()
    line = next(line for line in tree.splitlines() if 'menu "File"' in line)
    assert "at (" in line and "size " in line
    world.inject_action({"keyboard": {"text": "seen in the tree"}})
    wait_until(
        lambda: 'text "seen in the tree"' in world.capture_ui_tree(), deadline=Deadline.after(10), awaited="the text"
    )


def test_sound_is_honestly_absent(world: LocalRunner) -> None:
    with pytest.raises(UnsupportedFeature, match="no sound"):
        world.capture_audio_raw(0.1, 16000, 1)


def test_a_picture_of_the_host_may_be_the_wallpaper(make_runner: MakeRunner, tmp_path: Path) -> None:
    from PIL import Image

    picture = tmp_path / "wall paper.png"
    Image.new("RGB", (80, 60), (200, 30, 40)).save(picture)
    runner = make_runner(runner_options={"wallpaper": str(picture)})
    runner.start()
    assert runner.capture_frame().array[100, 100].tolist() == [200, 30, 40]


def test_a_wallpaper_that_is_no_picture_is_an_error(make_runner: MakeRunner, tmp_path: Path) -> None:
    broken = tmp_path / "broken.png"
    broken.write_text("no picture")
    runner = make_runner(runner_options={"wallpaper": str(broken)})
    with pytest.raises(SpecInvalid, match="no picture"):
        runner.start()


def test_the_barest_desktop_has_one_colour_and_takes_input(make_runner: MakeRunner) -> None:
    options = {"window_manager": "none", "panel": "none", "wallpaper": "#336699", "accessibility": False}
    runner = make_runner(runner_options=options)
    runner.start()
    frame = runner.capture_frame().array
    assert (frame == [0x33, 0x66, 0x99]).all()
    runner.inject_action({"mouse": {"move": [10, 20]}})
    assert runner.exec_capture("pgrep -c 'openbox|tint2|dbus-daemon'").strip() == "0"


def test_opengl_is_there_only_when_asked_for(make_runner: MakeRunner) -> None:
    for asked in (True, False):
        runner = make_runner(runner_options={"opengl": asked})
        runner.start()
        assert ("GLX" in runner.exec_capture("xdpyinfo -queryExtensions")) is asked
        runner.stop()


def test_further_paths_of_the_host_are_shown_when_listed(make_runner: MakeRunner, tmp_path: Path) -> None:
    (tmp_path / "vendor").mkdir(mode=0o755)
    (tmp_path / "vendor" / "tool").write_text("x")
    runner = make_runner(runner_options={"host_paths": [str(tmp_path / "vendor")]})
    runner.start()
    assert runner.exec_capture(f"cat {tmp_path}/vendor/tool; touch {tmp_path}/vendor/new || echo held").split() == [
        "xheld"
    ]
