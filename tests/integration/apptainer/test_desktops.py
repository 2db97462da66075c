"""Apptainer desktops: seen and driven through shared memory and a socket, watched by VNC, collected after a kill."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from gym_anything._util import orphans, proc
from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.runtime.apptainer.orphans import orphaned_instances
from gym_anything.runtime.vnc.des import rfb_answer
from tests.integration.apptainer.conftest import MakeRunner

pytestmark = pytest.mark.real

SMALL = {"base": "debian-desktop", "observation": [{"type": "rgb_screen", "resolution": [800, 600]}]}


def test_text_typed_into_a_program_of_the_image_arrives_and_frames_show_what_was_drawn(
    make_runner: MakeRunner, apptainer_desktop: None
) -> None:
    runner = make_runner(**SMALL, runner_options={"wallpaper": "#204060", "panel": "none"})
    runner.start()
    before = runner.capture_frame()
    kept = before.array.copy()
    assert before.array.shape == (600, 800, 3) and tuple(before.array[100, 100]) == (0x20, 0x40, 0x60)
    assert runner.exec("xsetroot -solid '#ff0000'", user="ga") == 0
    after = runner.capture_frame()
    assert tuple(after.array[100, 100]) == (255, 0, 0) and (before.array == kept).all()
    typed = "Grüße, 世界 '; rm -rf \""
    reader = "xterm -e sh -c 'read line; printf %s \"$line\" > /tmp/line' >/dev/null 2>&1 & disown"
    assert runner.exec(reader, user="ga", use_pty=False) == 0
    runner.exec("until xdotool search --onlyvisible --class xterm; do sleep 0.02; done", user="ga", timeout=20)
    runner.settle()
    runner.inject_action({"mouse": {"left_click": [400, 300]}})
    runner.inject_action({"keyboard": {"text": f"{typed}\n"}})
    runner.exec("until [ -s /tmp/line ]; do sleep 0.02; done", timeout=20)
    assert runner.exec_capture("cat /tmp/line") == typed


def test_vnc_is_on_loopback_asks_for_the_password_and_shows_the_desktop(
    make_runner: MakeRunner, apptainer_desktop: None
) -> None:
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
import sys
from gym_anything._util.supervisor import Supervisor
from gym_anything.runtime.runners.apptainer.runner import ApptainerRunner
from gym_anything.specs.env_spec import EnvSpec
runner = ApptainerRunner(EnvSpec.from_dict({"id": "killed@1", "apptainer": {"sif": sys.argv[1]},
    "observation": [{"type": "numbers"}], "action": [{"type": "api_call"}]}))
runner.start()
warden = Supervisor.shared().warden_pid
print(runner.get_runtime_info().container_name, warden, flush=True)
sys.stdin.read()
"""


def instances(name: str) -> list[int]:
    """Return the processes that keep instances of this name."""
    return [
        pid
        for pid in proc.pids()
        if name in " ".join(proc.command_line(pid)) and "instance:" in proc.command_line(pid)[0]
    ]


@pytest.mark.parametrize("all_of_ours", [False, True])
def test_a_killed_run_s_instance_is_collected_and_nobody_else_s(
    make_shell: MakeRunner, minimal_image: Path, tmp_path: Path, all_of_ours: bool
) -> None:
    """L3: also when everything that would clean up at once is killed with it."""
    bystander = make_shell()
    env = {**os.environ, "GYM_ANYTHING_STATE_DIR": str(tmp_path / "s")}
    argv = [sys.executable, "-c", PROGRAM, str(minimal_image)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env) as program:
        assert program.stdout is not None
        name, warden = program.stdout.readline().split()
        assert instances(name)
        doomed = [program.pid]
        if all_of_ours:
            doomed += [int(warden), *proc.children(int(warden))]
        for pid in doomed:
            os.kill(pid, signal.SIGKILL)
        program.wait()

    def gone() -> bool:
        orphaned_instances(lambda label: label.owner.is_dead(), False)
        return not instances(name)

    wait_until(gone, deadline=Deadline.after(20), awaited=f"the end of {name}")
    orphans.collect(tmp_path / "s")
    assert not [path for path in (tmp_path / "s").glob("r*") if path.is_dir()]
    assert bystander.exec("true") == 0
