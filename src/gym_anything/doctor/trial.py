"""Trying something in a process of its own, because it could hang, or change the process that tries it."""

from __future__ import annotations

import json
import os
import select
import sys
from pathlib import Path
from typing import Any

from gym_anything._util.deadline import Deadline, expired_error
from gym_anything._util.supervisor import StopPlan, Supervisor
from gym_anything.errors import HostError

TRIALS = Path(__file__).with_name("trials")
_MAX_BYTES = 1 << 20


def run_trial(name: str, deadline: Deadline, *args: str) -> dict[str, Any]:
    """Run ``trials/<name>.py`` in a bare interpreter and return the JSON object that it prints.

    Whatever it started is gone when this returns.

    Raises: DeadlineExceeded; HostError when it dies or prints something else.
    """
    argv = [sys.executable, "-I", "-S", str(TRIALS / f"{name}.py"), *args]
    readable, writable = os.pipe()
    try:
        try:
            process = Supervisor.shared().spawn(
                argv, name=f"doctor's {name}", stdout=writable, stderr=writable, stop=StopPlan(grace_s=0)
            )
        finally:
            os.close(writable)
        try:
            output = _read_all(readable, deadline, name)
            code = process.wait(deadline)
        finally:
            process.stop()
    finally:
        os.close(readable)
    try:
        answer = json.loads(output)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise HostError(f"the trial {name} ended with {code} and said: {output.decode(errors='replace')[-500:]!r}")
    return answer


def _read_all(fd: int, deadline: Deadline, name: str) -> bytes:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    parts: list[bytes] = []
    while sum(map(len, parts)) < _MAX_BYTES:
        if not poll.poll(deadline.remaining() * 1000):
            raise expired_error(f"the trial {name}", last_status=b"".join(parts).decode(errors="replace")[-200:])
        part = os.read(fd, 1 << 16)
        if not part:
            break
        parts.append(part)
    return b"".join(parts)
