"""The launcher of an explicit world without a sandbox: the same desktop and guest service, right on this host.

``main([PLAN, READY_FD, TOKEN_FD])`` under ``python -I -S``, like ``launch``, and it turns into the same waiter.
"""

from __future__ import annotations

import json
import os

from gym_anything.runtime.runners.local.sandbox import inside, launch, session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gym_anything.runtime.runners.local.sandbox.plan import DirectPlan


def main(argv: list[str]) -> int:
    """Start the guest service and the session, report, wait for the guest service."""
    plan_path, ready_fd, token_fd = argv[0], int(argv[1]), int(argv[2])
    for fd in (ready_fd, token_fd):
        os.set_inheritable(fd, False)
    with open(plan_path) as file:
        plan: DirectPlan = json.load(file)
    try:
        for procs in plan["cgroups"]:
            with open(procs, "w") as group:
                group.write("0")
        os.chdir(plan["world_dir"])
        fds = launch.open_descriptors(ready_fd, token_fd)
        pid = _start_guest(plan, fds)
        launch.report(ready_fd, {"pid": pid, "base_uid": os.geteuid(), "id_count": 0, "ids": "none"})
        session.run(plan["session"], fds.logs, (fds.desktop, fds.desktop_token), ready_fd)
    except OSError as error:
        launch.report(ready_fd, {"error": str(error), "fix": ""})
        return 1
    os.close(ready_fd)
    os.execv(plan["waiter"], [plan["waiter"], str(pid)])


def _start_guest(plan: DirectPlan, fds: inside.WorldFds) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        numbers = {"@guest": fds.guest, "@token": fds.guest_token}
        argv = [plan["guest_program"], *(str(numbers.get(word, word)) for word in plan["guest_argv"])]
        for fd in numbers.values():
            os.set_inheritable(fd, True)
        null = os.open("/dev/null", os.O_RDONLY)
        for source, target in ((null, 0), (fds.logs["guest"], 1), (fds.logs["guest"], 2)):
            os.dup2(source, target)
        os.execve(argv[0], argv, plan["env"])
    finally:
        os._exit(127)
