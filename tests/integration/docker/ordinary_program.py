"""What a user of the group ``docker`` does in ``test_ordinary_user``; prints one JSON object."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys

from gym_anything._util import orphans
from gym_anything._util.state_dir import Run, state_root
from gym_anything.runtime.runners.docker.facts import orphans_in_engine
from gym_anything.runtime.runners.docker.runner import DockerRunner
from gym_anything.specs.env_spec import EnvSpec

LEAVE = "mkdir -m 700 /run/gym-anything/deep /run/gym-anything/desktop/deep; touch /run/gym-anything/deep/file"
"""What only root can take away again."""


def made() -> DockerRunner:
    screen = {"type": "rgb_screen", "resolution": [640, 480]}
    spec = {"id": "ordinary@1", "observation": [screen], "action": [{"type": "mouse"}], "image": sys.argv[2]}
    return DockerRunner(EnvSpec.from_dict({**spec, "vnc": {"enable": True}}))


def world() -> dict[str, object]:
    found: dict[str, object] = {"doctor": DockerRunner.doctor_status()["reason"], "uid": os.geteuid()}
    runner = made()
    try:
        runner.start()
        found["ids"] = runner.exec_capture("id -u; su ga -c 'id -u; sudo -n id -u'").split()
        found["frame"] = list(runner.capture_frame().array.shape)
        runner.inject_action({"mouse": {"left_click": [300, 200]}})
        runner.set_checkpoint_key("pre_start")
        runner.exec("echo kept > /root/file")
        runner.create_checkpoint()
        found["restored"] = runner.exec_capture("cat /root/file").strip()
        port = runner.get_runtime_info().vnc_port
        with socket.create_connection(("127.0.0.1", port or 0), timeout=5) as people:
            found["vnc"] = people.recv(3).decode()
        runner.exec(LEAVE)
    finally:
        runner.stop()
    found["deleted"] = runner.delete_checkpoint()
    found["left"] = [str(path) for path in Run.current().path.glob("w*")]
    return found


def die() -> dict[str, object]:
    made().start()
    os.kill(os.getpid(), signal.SIGKILL)
    return {}


def collect() -> dict[str, object]:
    found = orphans.collect(state_root(), collectors=[orphans_in_engine])
    mine = Run.current().path.name
    return {
        "left": [str(path) for path in state_root().iterdir() if path.name.startswith("r") and path.name != mine],
        "failed": [f"{orphan.what}: {orphan.error}" for orphan in found if orphan.error],
        "containers": [orphan.what for orphan in found if orphan.kind == "container" and orphan.removed],
    }


if __name__ == "__main__":
    print(json.dumps({"world": world, "die": die, "collect": collect}[sys.argv[1]]()))
