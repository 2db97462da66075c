"""Starting the supervisor process, and turning a start request into a message."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from gym_anything._util.ascii_names import random_name
from gym_anything._util.labels import ENV_NAME, Label
from gym_anything._util.supervised_process import StopPlan
from gym_anything._util.supervision import wire
from gym_anything.errors import HostError, ProcessStartFailed

LOG = "supervisor.log"
PACKAGE = Path(__file__).resolve().parents[2]

# The packages' own __init__ files are stepped over: only what the supervisor needs is imported.
_BOOT = """
import sys
for name, path in zip(sys.argv[5::2], sys.argv[6::2]):
    sys.modules[name] = package = type(sys)(name)
    package.__path__ = [path]
from gym_anything._util.supervision.warden import main
main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:5])
"""

_STEPS = {
    "setup": "its process could not be set up",
    "descriptors": "a descriptor that it should inherit is not open",
    "cwd": "its working directory cannot be entered",
    "exec": "it cannot be executed",
    wire.SPAWN: "no process could be made for it",
}


def start_warden(label: Label, run_folder: Path) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """Start warden and supervisor; return our end of the connection and the warden, our child.

    Raises: HostError when there is no interpreter to run or no process to be had.
    """
    if not sys.executable:
        raise HostError("the supervisor needs a Python interpreter, but sys.executable is empty (an embedded Python?)")
    packages = {
        "gym_anything": PACKAGE,
        "gym_anything._util": PACKAGE / "_util",
        "gym_anything._util.supervision": PACKAGE / "_util" / "supervision",
    }
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with theirs, (run_folder / LOG).open("ab") as log_file:
            argv = [sys.executable, "-I", "-S", "-c", _BOOT, str(os.getpid()), str(theirs.fileno())]
            argv += [random_name("", 12), str(run_folder), *(str(part) for item in packages.items() for part in item)]
            warden = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log_file,
                cwd="/",
                env={**os.environ, **label.as_env()},
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
    except OSError as error:
        ours.close()
        raise HostError(f"the supervisor process cannot be started: {error}") from error
    except BaseException:
        ours.close()
        raise
    return ours, warden


def spawn_request(
    argv: Sequence[str | os.PathLike[str]],
    name: str,
    env: Mapping[str, str] | None,
    cwd: str | os.PathLike[str] | None,
    fds: Mapping[int, int],
    plan: StopPlan,
    label: Label,
    nice: int,
) -> tuple[wire.Message, list[int]]:
    """Build the message that starts a program, and the list of our descriptors that go with it.

    Raises: ProcessStartFailed when there is no such program; ValueError for what no program can be given.
    """
    environment = dict(os.environ if env is None else env)
    own = Label.parse(environment.get(ENV_NAME, ""))
    if own is None or own.run != label.run:  # none, or inherited from a world that we run in ourselves
        own = label
        environment[ENV_NAME] = str(label)
    words = [os.fspath(word) for word in argv]
    if not words or not words[0]:
        raise ValueError(f"{name}: an argument vector needs at least a program")
    if len(fds) > wire.MAX_FDS or any(target < 0 for target in fds):
        raise ValueError(f"{name}: at most {wire.MAX_FDS} descriptors can be passed, with numbers from 0")
    texts = [*words, *environment, *environment.values()]
    if any("\0" in text for text in texts) or any("=" in key for key in environment):
        raise ValueError(f"{name}: no NUL in arguments or environment, no '=' in a variable's name")
    program = words[0] if "/" in words[0] else _look_up(words[0], environment.get("PATH", os.defpath), name)
    message = (
        wire.SPAWN,
        os.fsencode(program),
        [os.fsencode(word) for word in words],
        {os.fsencode(key): os.fsencode(value) for key, value in environment.items()},
        os.fsencode(cwd if cwd is not None else _here()),
        list(fds),
        nice,
        int(plan.signal),
        float(plan.grace_s),
        own.world,
        name,
    )
    return message, list(fds.values())


def start_error(error: tuple[int, str], program: str, name: str) -> ProcessStartFailed:
    """Build the error for a program that could not be started. Args: error: errno and the step that failed."""
    number, step = error
    reason = _STEPS.get(step, step)
    return ProcessStartFailed(
        f"{name} ({program}) did not start: {reason}: {os.strerror(number)}",
        detail={"argv0": program, "errno": number, "step": step},
    )


def _look_up(program: str, path: str, name: str) -> str:
    found = shutil.which(program, path=path)
    if found is None:
        raise ProcessStartFailed(
            f"{name} did not start: no program {program!r} in PATH ({path})",
            detail={"argv0": program, "errno": errno.ENOENT, "step": "look-up"},
        )
    return str(Path(found).absolute())


def _here() -> str:
    try:
        return str(Path.cwd())
    except FileNotFoundError:  # our own working directory was deleted
        return "/"
