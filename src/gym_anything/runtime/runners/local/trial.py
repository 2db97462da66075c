"""Tries whether this host lets us build a sandbox, by building a very small one."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from gym_anything._util import logs
from gym_anything._util.deadline import Deadline
from gym_anything._util.python_program import python_argv
from gym_anything._util.state_dir import Run
from gym_anything._util.supervised_process import StopPlan
from gym_anything._util.supervisor import Supervisor
from gym_anything.errors import GymAnythingError
from gym_anything.runtime.native.locate import native_program
from gym_anything.runtime.runners.local.host_view import host_links
from gym_anything.runtime.runners.local.sandbox import identity
from gym_anything.runtime.runners.local.sandbox.plan import BindPlan, FilePlan, FolderPlan, IdsPlan, SandboxPlan

_MODULE = "gym_anything.runtime.runners.local.sandbox.launch"
_LIMIT_S = 5.0
_FOLDERS = ("/dev", "/etc", "/proc", "/run", "/sys", "/tmp", "/tmp/.X11-unix", "/tmp/.ICE-unix", "/usr")


def try_sandbox() -> dict[str, Any]:
    """Build a sandbox, run ``true`` in it, remove it; return a row of the doctor."""
    try:
        report = _build()
    except (GymAnythingError, OSError) as error:
        return {"ok": False, "detail": str(error), "fix": str(getattr(error, "detail", {}).get("fix", ""))}
    if "error" in report:
        return {"ok": False, "detail": str(report["error"]), "fix": str(report.get("fix", ""))}
    ids = {"root": "a private range of ids", "newuidmap": "the ids of /etc/subuid", "single": "one id only"}
    detail = f"built and left; {ids[str(report['ids'])]}"
    fix = "apt-get install uidmap, and a line for this user in /etc/subuid and /etc/subgid"
    return {"ok": True, "detail": detail, "fix": fix if report["ids"] == "single" else ""}


def _build() -> dict[str, Any]:
    place = Run.current().new_world("local-trial")
    ids = identity.choose_range()
    try:
        plan_path = place.path / "sandbox.json"
        plan_path.write_text(json.dumps(_plan(str(place.path), ids.plan())), encoding="utf-8")
        return _launch(plan_path, place.env)
    finally:
        ids.release()
        Supervisor.shared().stop_world(place.id)
        place.remove()


def _launch(plan_path: Path, env: dict[str, str]) -> dict[str, Any]:
    ready_r, ready_w = os.pipe2(os.O_CLOEXEC)
    token_r, token_w = os.pipe2(os.O_CLOEXEC)
    log_path = plan_path.with_name("launcher.log")
    log = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        process = Supervisor.shared().spawn(
            python_argv(_MODULE, [str(plan_path), "3", "4"]),
            name="trial of a sandbox",
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", **env},
            stderr=log,
            pass_fds={3: ready_w, 4: token_r},
            stop=StopPlan(signal=9, grace_s=0.0),
        )
    finally:
        for fd in (ready_w, token_r, token_w, log):
            os.close(fd)
    with os.fdopen(ready_r, "rb") as pipe:
        code = process.wait(Deadline.after(_LIMIT_S))
        line = pipe.readline()
    report = dict(json.loads(line or b"{}"))
    if "error" not in report and code != 0:
        report["error"] = f"the trial ended with {code}: {logs.tail(log_path)}"
    return report


def _plan(folder: str, ids: IdsPlan) -> SandboxPlan:
    links = {path: to for path, to in host_links().items() if not path.startswith("/etc/")}
    return SandboxPlan(
        world_dir=folder,
        generation=0,
        ids=ids,
        hostname="trial",
        layers=[],
        binds=[BindPlan(source="/usr", target="/usr", map_ids=True)],
        folders=[FolderPlan(path=path, uid=0, gid=0, mode=0o755) for path in _FOLDERS],
        files=[FilePlan(path=path, text="", link_to=to, mode=0o644, uid=0, gid=0) for path, to in links.items()],
        tmpfs_mib=1,
        shm_mib=1,
        cgroups=[],
        rlimits={},
        init_source="",
        guest_program="/usr/bin/true",
        guest_argv=[],
        waiter=str(native_program("ga-wait")),
        env={},
        session=None,
    )
