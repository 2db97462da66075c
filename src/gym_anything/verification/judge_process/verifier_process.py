"""The verifier's own process: import it as content expects, call it, send back what it decided."""

from __future__ import annotations

import importlib
import importlib.util
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from gym_anything.verification.judge_process.messages import PeerGone, receive_message, send_message
from gym_anything.verification.judge_process.owner_calls import OwnerCalls, build_env_info
from gym_anything.verification.judge_process.returned import InvalidReturn, plain_number, plain_verdict

_TRACEBACK_BYTES = 16_000


class ProgramMissing(Exception):
    """The task names a file, module or function that is not there."""


def run(talk: socket.socket, output_fd: int) -> int:
    """Receive one job, do it, send ``{"verdict": …}`` or ``{"error": …}``; returns the exit code."""
    try:
        job = receive_message(talk)
        _prepare_process(job, output_fd)
        answer = _judge(job, talk)
        sys.stdout.flush()
        send_message(talk, answer)
    except PeerGone:
        return 1
    return 0


def _prepare_process(job: dict[str, Any], output_fd: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(output_fd, 1)
    os.dup2(output_fd, 2)
    for fd in (null, output_fd):
        if fd > 2:
            os.close(fd)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", errors="replace", buffering=1, closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="replace", buffering=1, closefd=False)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(job["environment"])
    try:
        os.chdir(job["cwd"])
    except OSError:
        os.chdir("/")  # the owner's folder was removed; absolute paths still work
    sys.dont_write_bytecode = True  # a verdict leaves no trace in the content's folders
    sys.argv = ["verifier"]
    sys.path[:] = job["import_path"]
    importlib.invalidate_caches()


def _judge(job: dict[str, Any], talk: socket.socket) -> dict[str, Any]:
    calls = OwnerCalls(talk)
    try:
        function = _load(job["program"])
        returned = function(job["traj"], build_env_info(job["env_info"], calls), job["task_info"])
        return {"number": plain_number(returned)} if job["wants"] == "number" else {"verdict": plain_verdict(returned)}
    except ProgramMissing as error:
        return {"error": {"kind": "missing", "message": str(error)}}
    except InvalidReturn as error:
        return {"error": {"kind": "invalid", "message": str(error)}}
    except PeerGone:
        raise
    except BaseException as error:  # noqa: BLE001 - boundary: anybody's verifier, sys.exit() included
        text = "".join(traceback.format_exception(error))[-_TRACEBACK_BYTES:]
        print(text, file=sys.stderr)
        message = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        return {"error": {"kind": "raised", "message": message[:4000], "traceback": text}}


def _load(program: dict[str, str]) -> Callable[..., Any]:
    where = program["file"] or program["module"]
    module = _module_of_file(Path(program["file"])) if program["file"] else _module_by_name(program["module"])
    function: Any = module
    for part in program["function"].split("."):
        function = getattr(function, part, None)
    if not callable(function):
        names = sorted(n for n, v in vars(module).items() if callable(v) and not n.startswith("_"))
        raise ProgramMissing(f"{where} has no function {program['function']!r}; it has {', '.join(names) or 'none'}")
    return function  # type: ignore[no-any-return]


def _module_of_file(path: Path) -> ModuleType:
    # Known by its own stem, as ``import verifier`` of a sibling expects, unless that would hide a module in use.
    name = path.stem if path.stem.isidentifier() and path.stem not in sys.modules else f"_program_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ProgramMissing(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _module_by_name(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(error.name + ".")):
            raise ProgramMissing(f"no module named {name!r} can be imported") from error
        raise
