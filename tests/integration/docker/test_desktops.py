"""Docker desktops: seen and driven through shared memory and a socket, watched by VNC, collected after a kill."""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from gym_anything._util import orphans
from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.runtime.runners.docker.facts import orphans_in_engine
from gym_anything.runtime.runners.docker.vendor import Engine
from gym_anything.runtime.vnc.des import rfb_answer
from tests.docker_engine import TestEngine
from tests.integration.docker.conftest import MakeRunner

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("docker_desktop")]

SMALL = {"base": "debian-desktop", "observation": [{"type": "rgb_screen", "resolution": [800, 600]}]}


def test_text_typed_into_a_program_of_the_image_arrives(make_runner: MakeRunner) -> None:
    runner = make_runner(**SMALL)
    runner.start()
    program = 'touch /tmp/up; read -r line; printf %s "$line" > /tmp/line.new; mv /tmp/line.new /tmp/line'
    runner.exec_async(f"exec xterm -e bash -c {shlex.quote(program)}")
    runner.exec("until [ -e /tmp/up ]; do sleep 0.02; done", timeout=60)
    runner.settle()
    runner.inject_action({"mouse": {"left_click": [400, 300]}})
    runner.inject_action({"keyboard": {"text": "Grüße, 世界 '; rm -rf \"\n"}})
    runner.exec("until [ -e /tmp/line ]; do sleep 0.02; done", timeout=60)
    assert runner.exec_capture("cat /tmp/line") == "Grüße, 世界 '; rm -rf \""


def test_frames_show_what_was_drawn_and_their_arrays_stay_as_they_are(make_runner: MakeRunner) -> None:
    runner = make_runner(**SMALL, runner_options={"wallpaper": "#204060", "panel": "none"})
    runner.start()
    before = runner.capture_frame()
    kept = before.array.copy()
    assert before.array.shape == (600, 800, 3) and tuple(before.array[100, 100]) == (0x20, 0x40, 0x60)
    assert runner.exec("xsetroot -solid '#ff0000'", user="ga") == 0
    after = runner.capture_frame()
    assert tuple(after.array[100, 100]) == (255, 0, 0) and after.seq > before.seq
    assert (before.array == kept).all()


def test_an_image_that_starts_its_own_x_server_is_only_attached_to(make_runner: MakeRunner) -> None:
    start = "Xvnc :1 -geometry 640x480 -depth 24 -SecurityTypes None -ac & until xsetroot -solid '#00ff00'; do sleep 0.05; done; xterm"
    runner = make_runner(**SMALL, entrypoint=start, skip_display_audio_bootstrap=True)
    runner.start()
    assert runner.capture_frame().array.shape == (480, 640, 3)
    assert runner.exec("pgrep openbox") != 0


def test_vnc_is_on_loopback_asks_for_the_password_and_shows_the_desktop(make_runner: MakeRunner) -> None:
    """N2"""
    runner = make_runner(**SMALL, vnc={"enable": True, "password": "sesame"})
    runner.start()
    info = runner.get_runtime_info()
    assert info.vnc_port is not None and info.vnc_password == "sesame"
    with socket.create_connection(("127.0.0.1", info.vnc_port), timeout=10) as person:
        assert person.recv(12) == b"RFB 003.008\n"
        person.sendall(b"RFB 003.008\n")
        assert person.recv(2) == b"\x01\x02"
        person.sendall(b"\x02")
        person.sendall(rfb_answer("sesame", person.recv(16)))
        assert person.recv(4) == b"\0\0\0\0"
        person.sendall(b"\x01")
        assert person.recv(4) == (800).to_bytes(2, "big") + (600).to_bytes(2, "big")
    listening = Path("/proc/net/tcp").read_text()
    assert f"0100007F:{info.vnc_port:04X} " in listening and f"00000000:{info.vnc_port:04X} " not in listening


PROGRAM = """
import os, sys, time
from gym_anything.runtime.runners.docker.runner import DockerRunner
from gym_anything.specs.env_spec import EnvSpec
runner = DockerRunner(EnvSpec.from_dict({"id": "killed@1", "image": sys.argv[1],
    "observation": [{"type": "numbers"}], "action": [{"type": "api_call"}]}))
runner.start()
print(runner.get_runtime_info().container_name, flush=True)
sys.stdin.read()
"""


def test_a_killed_run_s_container_is_collected_and_nobody_else_s(
    docker_engine: TestEngine, engine: Engine, minimal_image: str, make_shell: MakeRunner, tmp_path: Path
) -> None:
    """L3"""
    alive = make_shell().get_runtime_info().container_name
    foreign = engine.create({"Image": minimal_image, "Labels": {"of": "others"}}, "others-container")
    state = tmp_path / "state"
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, minimal_image], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "GYM_ANYTHING_STATE_DIR": str(state)},
    )  # fmt: skip
    try:
        assert process.stdout is not None
        left = process.stdout.readline().strip()
        process.send_signal(signal.SIGKILL)
        process.wait(10)
        wait_until(
            lambda: left in {o.what.split()[-1] for o in orphans.collect(state, True, collectors=[orphans_in_engine])},
            deadline=Deadline.after(10), awaited="the container of a dead run",
        )  # fmt: skip
        assert engine.container(left) is not None  # a dry run removes nothing
        found = orphans.collect(state, collectors=[orphans_in_engine])
        assert [o.what for o in found if o.kind == "container"] == [f"docker container {left}"]
        assert all(o.removed for o in found), found
        assert engine.container(left) is None
        assert alive is not None and engine.container(alive) is not None
        assert engine.container(foreign) is not None
    finally:
        process.kill()
        engine.remove(foreign)
        assert process.stdin is not None and process.stdout is not None
        process.stdin.close()
        process.stdout.close()
