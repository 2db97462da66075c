"""What an ordinary user does in ``test_rootless``; prints one JSON object."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from gym_anything._util import orphans
from gym_anything._util.state_dir import Run, state_root
from gym_anything.runtime.runners.local.runner import LocalRunner
from tests.integration.local.conftest import spec_of
from tests.integration.local.escapes import ESCAPES


def world() -> dict[str, object]:
    notes: list[str] = []
    runner = LocalRunner(spec_of())
    runner.set_reporter(lambda event, **facts: notes.append(facts.get("text", "")))
    try:
        runner.start()
        assert runner._world is not None
        found: dict[str, object] = {"ids": runner._world.facts["ids"]}
        found["root"] = runner.exec_capture("id -u").strip()
        found["desktop"] = runner.exec_capture("stat -c %u /home/ga").strip()
        found["sudo"] = runner.exec_capture("su ga -c 'sudo id -u'").strip()
        outputs = {escape.name: escape.failed(runner.exec_capture(escape.command)) for escape in ESCAPES}
        found["held"] = sum(outputs.values())
        found["out"] = [name for name, held in outputs.items() if not held]
        runner.exec(
            "mkdir -p /opt/deep && echo kept > /opt/deep/file && chown 65534:65534 /opt/deep && chmod 700 /opt/deep"
        )
        runner.set_checkpoint_key("pre_start")
        runner.create_checkpoint()
        found["restored"] = runner.exec_capture("cat /opt/deep/file").strip()
    finally:
        runner.stop()
    assert runner.delete_checkpoint()
    found["notes"] = notes
    found["left"] = [str(path) for path in Run.current().path.glob("w*")]
    return found


def die() -> dict[str, object]:
    runner = LocalRunner(spec_of())
    runner.start()
    runner.exec("mkdir /opt/x && chmod 700 /opt/x && chown 1234:1234 /opt/x")
    os.kill(os.getpid(), signal.SIGKILL)
    return {}


def collect() -> dict[str, object]:
    failed = [f"{orphan.what}: {orphan.error}" for orphan in orphans.collect(state_root()) if orphan.error]
    mine = Run.current().path.name
    return {"left": [str(path) for path in state_root().iterdir() if path.name != mine], "failed": failed}


print(json.dumps({"world": world, "die": die, "collect": collect}[sys.argv[1]]()))
