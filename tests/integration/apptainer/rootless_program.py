"""What an ordinary user does in ``test_rootless``; prints one JSON object."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from gym_anything._util import orphans
from gym_anything._util.deadline import Deadline
from gym_anything._util.state_dir import Run, state_root
from gym_anything.runtime.apptainer.built_image import Image, ensure_image
from gym_anything.runtime.apptainer.cache import image_root
from gym_anything.runtime.apptainer.orphans import orphaned_instances
from gym_anything.runtime.images.store import ImageStore
from gym_anything.runtime.runners.apptainer.runner import ApptainerRunner
from gym_anything.specs.env_spec import EnvSpec


def made() -> ApptainerRunner:
    """Return a runner of the smallest image, which this user builds when it is not there."""
    (stored,) = ImageStore().all()
    path = image_root() / "minimal"
    ensure_image(Image(path, stored=stored), Deadline.after(100), lambda event, **facts: None, lambda: False)
    fields = {"observation": [{"type": "numbers"}], "action": [{"type": "api_call"}]}
    spec = {"id": "rootless@1", **fields, "apptainer": {"sif": str(path)}, "resources": {"net": True, "mem_gb": 1}}
    return ApptainerRunner(EnvSpec.from_dict(spec))


def world() -> dict[str, object]:
    found: dict[str, object] = {"doctor": ApptainerRunner.doctor_status()["reason"]}
    runner = made()
    notes: list[str] = []
    runner.set_reporter(lambda event, **facts: notes.append(facts.get("text", "")))
    found["unenforced"] = [name for name, _ in runner.unenforced_fields(runner.spec)]

    def said(command: str) -> str:
        return runner.exec_capture(command).strip()

    try:
        runner.start()
        found["ids"] = said("id -u; stat -c %u /home/ga; su ga -c 'sudo -n id -u'; stat -c %G /etc/shadow").split()
        found["on_the_host"] = Path("/proc", str(_init_of(runner))).stat().st_uid
        found["takes_memory"] = (runner.memory_mib() or 0) > 0
        found["rights"] = int(said("grep CapEff /proc/self/status").split()[1], 16)
        found["mounts"] = runner.exec("mount -t tmpfs none /mnt")
        found["sees"] = said(f"ls -d {Path.home()} {state_root()} 2>/dev/null; ls /home")
        found["route"] = "00000000" in said("awk 'NR > 1 {print $2}' /proc/net/route").split()
        runner.exec("rm -rf /srv /etc/issue; mkdir /srv; echo kept > /srv/file; chown 65534:65534 /srv; chmod 700 /srv")
        runner.set_checkpoint_key("pre_start")
        runner.create_checkpoint()
        found["restored"] = said("cat /srv/file; stat -c %u /srv; ls /etc/issue 2>/dev/null")
    finally:
        runner.stop()
    found["notes"] = notes
    found["deleted"] = runner.delete_checkpoint()
    found["left"] = [str(path) for path in Run.current().path.glob("w*")]
    return found


def die() -> dict[str, object]:
    runner = made()
    runner.start()
    runner.exec("mkdir /opt/x && chmod 700 /opt/x && chown 1234:1234 /opt/x")
    os.kill(os.getpid(), signal.SIGKILL)
    return {}


def collect() -> dict[str, object]:
    found = orphans.collect(state_root(), collectors=[orphaned_instances])
    failed = [f"{orphan.what}: {orphan.error}" for orphan in found if orphan.error]
    mine = Run.current().path.name
    left = [str(path) for path in state_root().iterdir() if path.name != mine]
    processes = [orphan.what for orphan in orphans.find_orphans(state_root(), collectors=[orphaned_instances])]
    return {"left": left, "failed": failed, "processes": processes}


def _init_of(runner: ApptainerRunner) -> int:
    assert runner._world is not None
    return runner._world.host_pid(1)


if __name__ == "__main__":
    print(json.dumps({"world": world, "die": die, "collect": collect}[sys.argv[1]]()))
