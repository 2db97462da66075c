from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gym_anything._util import proc
from gym_anything._util.deadline import Deadline
from gym_anything._util.state_dir import Run
from gym_anything._util.supervisor import Supervisor
from gym_anything._util.waiting import wait_until


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A state folder of this test's own."""
    monkeypatch.setenv("GYM_ANYTHING_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setattr(Run, "_current", None)
    yield tmp_path / "state"
    if Run._current is not None:
        Run._current.close()


@pytest.fixture
def supervisor(state: Path) -> Iterator[Supervisor]:
    supervisor = Supervisor()
    yield supervisor
    supervisor.close()


@pytest.fixture
def marked() -> Callable[[], list[int]]:
    """Return a function that lists the live processes whose command line has this test's own number in it."""
    return lambda: [pid for pid in proc.pids() if f"{MARK}" in proc.command_line(pid) and proc.start_ticks(pid)]


MARK = 900_000 + os.getpid()
"""Seconds that only the sleepers of this test run sleep."""


class Owner:
    """An owner in a process of its own, running some lines of Python after a common preamble."""

    def __init__(self, state: Path, body: str) -> None:
        code = (
            f"import os, sys, time\nfrom gym_anything._util.deadline import Deadline\nMARK = {MARK}\n{_PREAMBLE}{body}"
        )
        self.process = subprocess.Popen(
            [sys.executable, "-c", code],
            env={**os.environ, "GYM_ANYTHING_STATE_DIR": str(state)},
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        self.out = self.process.stdout

    def line(self) -> str:
        return self.out.readline().strip()

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self.out.close()


_PREAMBLE = """
from gym_anything._util.supervisor import Supervisor, StopPlan
from gym_anything._util.state_dir import Run
supervisor = Supervisor.shared()
# A tree that resists: one child in the group, one in a session of its own, one that has lost its parent as well.
TREE = ["bash", "-c", f"trap '' TERM; setsid sleep {MARK} & (setsid sleep {MARK} &) ; sleep {MARK}; sleep {MARK}"]
"""


@pytest.fixture
def owner(state: Path) -> Iterator[Callable[[str], Owner]]:
    """Return a function that starts an owner process; all are killed in the end."""
    owners: list[Owner] = []

    def start(body: str) -> Owner:
        owners.append(Owner(state, body))
        return owners[-1]

    yield start
    for one in owners:
        one.end()


def until(condition: Callable[[], object], awaited: str, seconds: float = 15) -> None:
    """Wait for a condition, with a bound for a busy machine."""
    wait_until(condition, deadline=Deadline.after(seconds), awaited=awaited)
