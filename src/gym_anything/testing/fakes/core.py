"""The fake world's core: its state, its clock and its life, without senses or hands."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from gym_anything._util.clock import ManualClock
from gym_anything._util.deadline import Deadline
from gym_anything.errors import Aborted, StateError, WorldLost, WorldStartFailed
from gym_anything.runtime.runners.base import BaseRunner
from gym_anything.testing.fakes.files import GuestFiles
from gym_anything.testing.fakes.options import FakeOptions, problems
from gym_anything.testing.fakes.screen import FakeScreen

if TYPE_CHECKING:
    from gym_anything.specs.env_spec import EnvSpec

DEFAULT_SIZE = (320, 200)
_SLICE_S = 0.02


class _Killable(Protocol):
    def kill(self) -> None: ...

    def wait(self, timeout: float | None = None) -> int: ...


class FakeCore(BaseRunner):
    """Start, stop, time and death of a fake world."""

    def __init__(self, spec: EnvSpec) -> None:
        super().__init__(spec)
        self.options = FakeOptions.read(spec.runner_options)
        self.state = "new"
        self.seed = 0
        self.files = GuestFiles()
        self.screen = FakeScreen(self.screen_size() or DEFAULT_SIZE, 0)
        self.clock = ManualClock()
        self.typed = ""
        self.held: set[str] = set()
        self.inputs_acknowledged = 0
        self.frames_made = 0
        self.fast = False
        self.snapshots: dict[str, tuple[tuple[str, ...], GuestFiles]] = {}
        self.background: list[_Killable] = []
        self._stop_asked = threading.Event()
        self._state_lock = threading.Lock()

    # --- facts ---------------------------------------------------------------------------------------------------

    @classmethod
    def doctor_status(cls) -> dict[str, Any]:
        """Always there: it needs nothing of the host."""
        return {"available": True, "reason": None, "deps": {"memory": {"ok": True, "detail": "in memory", "fix": ""}}}

    @classmethod
    def conformance_profile(cls) -> str:
        """A desktop with files and commands."""
        return "desktop"

    @classmethod
    def validate_options(cls, spec: EnvSpec) -> list[str]:
        """Name unknown options and wrong values."""
        found = problems(spec.runner_options)
        if spec.runner_options.get("misbehave"):
            found.append("misbehave is for the misbehaving siblings; this world behaves")
        return found

    @classmethod
    def volatile_option_paths(cls) -> tuple[str, ...]:
        """The episode's tag never enters a checkpoint key."""
        return ("episode_tag",)

    @classmethod
    def unenforced_fields(cls, spec: EnvSpec) -> list[tuple[str, str]]:
        """Mounts are copied in; there is no machine to limit and no network to close."""
        from gym_anything.runtime.runners.spec_promises import declared_promises

        promised = [name for name in declared_promises(spec) if name != "mounts"]
        return [(name, "a fake world has no machine behind it") for name in promised]

    # --- life ----------------------------------------------------------------------------------------------------

    def start(self, seed: int | None = None) -> None:
        """Come up after ``boot_s``, with the spec's mounts copied in."""
        self._begin(seed)
        self.boot()
        self._copy_mounts()
        self._become_ready()

    def boot(self) -> None:
        """Take the time a boot takes."""
        if self.options.boot_s:
            self._wait(Deadline.after(self.options.boot_s), "start")

    def stop(self) -> None:
        """Forget everything; ends a start that is still under way."""
        self._stop_asked.set()
        with self._state_lock:
            if self.state != "new":
                self.state = "stopped"
        for process in self.background:
            process.kill()
            process.wait(5)
        self.background.clear()
        self.files, self.typed, self.held = GuestFiles(), "", set()

    def lose(self, reason: str = "its process is gone") -> None:
        """Die, as a world dies whose process was killed from outside (for tests)."""
        self.state = f"lost: {reason}"

    def check_life(self, deep: bool = False) -> None:
        """A lost world is lost."""
        self.require_ready("check_life")

    def require_ready(self, doing: str) -> None:
        """Raise unless the world may be used now."""
        self.abort_signal.check(doing)
        if self.state.startswith("lost"):
            raise WorldLost(f"the fake world is {self.state}", detail={"doing": doing})
        if self.state != "ready":
            raise StateError(f"{doing}: the fake world is {self.state}, not started", detail={"state": self.state})

    def abort(self) -> None:
        """Every wait of this world looks at the signal, so the default is enough; said here to claim it."""
        super().abort()

    # --- time ----------------------------------------------------------------------------------------------------

    def supports_time_control(self) -> bool:
        """As the option says."""
        return self.options.time_control

    def acks_input_delivery(self) -> bool:
        """As the option says."""
        return self.options.acks_input

    def supports_fast_io(self) -> bool:
        """As the option says."""
        return self.options.fast_io

    def set_fast_io(self, enabled: bool) -> None:
        """Only noted: both ways are the same memory."""
        super().set_fast_io(enabled)
        self.fast = enabled

    def supports_live_recording(self) -> bool:
        """Frames are copies; any thread may take one."""
        return True

    def pass_time(self, seconds: float, deadline: Deadline, killed: threading.Event | None = None) -> None:
        """Let the world's time pass: at once with a clock of its own, else for real.

        Raises: TimeoutError past ``deadline``; Aborted when aborted, stopped or killed.
        """
        if self.options.time_control:
            self.clock.advance(seconds)
            return
        end = Deadline.after(seconds)
        while not end.expired():
            if deadline.expired():
                raise TimeoutError("the command's time-out passed")
            if killed is not None and killed.is_set():
                raise Aborted("the guest process was killed")
            self._wait(Deadline(min(end.at, deadline.at)).tightened(_SLICE_S), "sleep")

    def _wait(self, until: Deadline, doing: str) -> None:
        """Wait until a point in time, or raise as soon as the world is aborted or stopped."""
        while not until.expired():
            self.abort_signal.wait(until.tightened(_SLICE_S), doing)
            if self._stop_asked.is_set():
                raise Aborted(f"{doing}: the world was stopped meanwhile")

    # --- steps of a start ----------------------------------------------------------------------------------------

    def _begin(self, seed: int | None) -> None:
        """Check the spec and the state, and make everything new."""
        self.abort_signal.check("start")
        wrong = type(self).validate_options(self.spec)
        if wrong:
            raise WorldStartFailed("; ".join(wrong))
        with self._state_lock:
            if self.state not in ("new", "stopped"):
                raise StateError(f"start: the fake world is {self.state}; stop it first")
            self._stop_asked.clear()
            self.state = "starting"
        self.seed = seed or 0
        self.files, self.typed, self.held = GuestFiles(), "", set()
        self.screen = FakeScreen(self.screen_size() or DEFAULT_SIZE, self.seed)
        self.clock = ManualClock()

    def _copy_mounts(self) -> None:
        for folder in ("/home/ga", "/tmp", "/workspace", "/etc"):
            self.files.make_folder(folder)
        for mount in self.spec.mounts:
            source = Path(mount.source)
            if source.exists():
                self.files.copy_in(source, mount.target)

    def _become_ready(self) -> None:
        with self._state_lock:
            self.abort_signal.check("start")
            if self._stop_asked.is_set():
                raise Aborted("start: the world was stopped meanwhile")
            self.state = "ready"
