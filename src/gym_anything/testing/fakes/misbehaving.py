"""Misbehaving siblings of the fake world, each named for the one thing it does wrong; everything else is right.

They prove that the conformance suite can fail, and serve the tests of whatever has to live with bad worlds. What blocks
here ends by itself within seconds.
"""

from __future__ import annotations

import itertools
import os
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gym_anything._util.deadline import Deadline
from gym_anything.actions.model import Box
from gym_anything.errors import BootTimedOut, WorldLost
from gym_anything.observations.frame import Frame
from gym_anything.runtime.runners.base_guest import DEFAULT_EXEC_TIMEOUT_S
from gym_anything.runtime.runners.base_senses import SettleResult
from gym_anything.specs.env_spec import EnvSpec
from gym_anything.testing.fakes.files import GuestFiles
from gym_anything.testing.fakes.options import problems
from gym_anything.testing.fakes.screen import FakeScreen
from gym_anything.testing.fakes.world import FakeWorld

HANG_S = 2.0
READY_TIMEOUT_S = 0.3
ACTIONS_BEFORE_THE_CRASH = 2


class MisbehavingWorld(FakeWorld):
    """The common base: it takes the option ``misbehave``."""

    @classmethod
    def validate_options(cls, spec: EnvSpec) -> list[str]:
        """As the fake world, but ``misbehave`` is welcome."""
        return problems(spec.runner_options)


class SlowWorld(MisbehavingWorld):
    """Every input takes a fifth of a second, and ends when aborted: slow, but right."""

    def inject_action(self, action: dict[str, Any]) -> Any:
        self.require_ready("inject_action")
        self._wait(Deadline.after(0.2), "inject_action")
        return super().inject_action(action)


class NeverReadyWorld(MisbehavingWorld):
    """It starts, but is never ready; its own time-out ends the start."""

    def boot(self) -> None:
        self._wait(Deadline.after(self.options.boot_s or READY_TIMEOUT_S), "start")
        raise BootTimedOut("the desktop was not ready in time", detail={"log_tail": "xsession: still waiting"})


class CrashingWorld(MisbehavingWorld):
    """It dies at the third action."""

    _done = 0

    def inject_action(self, action: dict[str, Any]) -> Any:
        """Do two, then die."""
        self._done += 1
        if self._done > ACTIONS_BEFORE_THE_CRASH:
            self.lose("it crashed")
            raise WorldLost("the fake world crashed", detail={"log_tail": "segmentation fault"})
        return super().inject_action(action)

    def stop(self) -> None:
        """Stop, and be whole again at the next start."""
        super().stop()
        self._done = 0


class HungWorld(MisbehavingWorld):
    """Its input hangs, and abort does not help."""

    def inject_action(self, action: dict[str, Any]) -> Any:
        """Hang."""
        time.sleep(HANG_S)
        return super().inject_action(action)


class HungStartWorld(MisbehavingWorld):
    """Its start hangs, and abort does not help."""

    def boot(self) -> None:
        """Hang."""
        time.sleep(HANG_S)


class LeakingWorld(MisbehavingWorld):
    """It leaves one thing behind at every start: ``misbehave`` is ``thread``, ``fd`` or ``file``."""

    def boot(self) -> None:
        """Make the thing; nobody ever takes it away."""
        kind = self.options.misbehave
        if kind == "thread":
            threading.Thread(target=time.sleep, args=(60,), name="leaked", daemon=True).start()
        elif kind == "fd":
            os.open("/dev/null", os.O_RDONLY)
        elif kind == "file":
            Path(tempfile.mkdtemp(prefix="leaked-"))


class SwallowingWorld(MisbehavingWorld):
    """It takes every action for done, whatever it is, and does none."""

    def inject_action(self, action: dict[str, Any]) -> Any:
        self.require_ready("inject_action")


class StaleWorld(MisbehavingWorld):
    """Its frames are from before the input."""

    def capture_frame(self, after_input: int | None = None) -> Frame:
        """Return a frame that follows one input less."""
        frame = super().capture_frame(None)
        return Frame(frame.array, frame.seq, frame.captured_at, max(0, frame.after_input - 1))


class BlackWorld(MisbehavingWorld):
    """Its screen is empty and half the size."""

    def capture_frame(self, after_input: int | None = None) -> Frame:
        """Return a small black frame."""
        frame = super().capture_frame(after_input)
        array = frame.array[::2, ::2].copy()
        array[:] = 0
        return Frame(array, frame.seq, frame.captured_at, frame.after_input)


class StuckCounterWorld(MisbehavingWorld):
    """All its frames have the same number."""

    def capture_frame(self, after_input: int | None = None) -> Frame:
        """Return a frame that is always the first."""
        frame = super().capture_frame(after_input)
        return Frame(frame.array, 1, frame.captured_at, frame.after_input)


class UndeadWorld(MisbehavingWorld):
    """It shows its last frame after it was stopped."""

    _last: Frame | None = None

    def capture_frame(self, after_input: int | None = None) -> Frame:
        """Keep the last frame for later."""
        if self.state == "stopped" and self._last is not None:
            return self._last
        self._last = super().capture_frame(after_input)
        return self._last


class LyingExitWorld(MisbehavingWorld):
    """All its commands and hooks succeed, whatever they return."""

    def exec(
        self,
        cmd: str,
        env: dict[str, str] | None = None,
        user: str | None = None,
        use_pty: bool = True,
        timeout: float = DEFAULT_EXEC_TIMEOUT_S,
    ) -> int:
        """Run it and say 0."""
        super().exec(cmd, env, user, use_pty, timeout)
        return 0

    def run_hook(self, cmd: str, *, stage: str, timeout: float | None = None, use_pty: bool = True) -> int:
        """Run it and say 0."""
        super().run_hook(cmd, stage=stage, timeout=timeout, use_pty=use_pty)
        return 0


class EmptyHandedWorld(MisbehavingWorld):
    """A file that is missing in the guest is copied out as an empty one."""

    def copy_from(self, container_src: str, host_dst: Any) -> None:
        """Make an empty file where there is none."""
        if self.files.exists(container_src):
            super().copy_from(container_src, host_dst)
        else:
            Path(host_dst).write_bytes(b"")


class StopOnceWorld(MisbehavingWorld):
    """Its second stop raises."""

    def stop(self) -> None:
        """Refuse to stop what is stopped."""
        if self.state == "stopped":
            raise RuntimeError("already stopped")
        super().stop()


class ForgetfulWorld(MisbehavingWorld):
    """What it restores is empty."""

    def start_from_checkpoint(self, seed: int | None = None) -> bool:
        """Restore, then lose the files."""
        super().start_from_checkpoint(seed)
        self.files = GuestFiles()
        return True


class MoodyWorld(MisbehavingWorld):
    """It looks different each time, whatever the seed."""

    _moods = itertools.count()

    def boot(self) -> None:
        """Come up in another colour."""
        self.screen = FakeScreen((self.screen.width, self.screen.height), 1000 + next(self._moods))


class TypoBlindWorld(MisbehavingWorld):
    """It checks its options and finds nothing wrong, ever."""

    @classmethod
    def validate_options(cls, spec: EnvSpec) -> list[str]:
        return []


class HeedlessWorld(MisbehavingWorld):
    """It takes the boxes that a settle should leave out, and heeds none."""

    def settle(self, quiet_ms: float = 100, max_ms: float = 2000, ignore: Sequence[Box] = ()) -> SettleResult:
        return super().settle(quiet_ms, max_ms)


class BoastfulWorld(MisbehavingWorld):
    """Its compatibility row claims what its instances deny."""

    @classmethod
    def compatibility(cls) -> dict[str, Any]:
        """Claim a clock of its own."""
        return {"time_control": True}


class EagerWorld(MisbehavingWorld):
    """Building it starts something already."""

    def __init__(self, spec: EnvSpec) -> None:
        super().__init__(spec)
        self._early = os.open("/dev/null", os.O_RDONLY)

    def stop(self) -> None:
        """Close what was opened too early."""
        super().stop()
        if self._early >= 0:
            os.close(self._early)
            self._early = -1
