"""The runner contract: what a world owes an episode.

A *runner* gives one world to one episode after another. Subclass ``BaseRunner`` and write six methods: ``start``,
``stop``, ``run_reset``, ``run_task_init``, ``inject_action``, ``capture_observation``. Everything else has an honest
default: it either follows from what you wrote (a screenshot file from ``capture_frame``), or says "no" clearly
(``UnsupportedFeature``), never "done" when nothing was done.

States::

    NEW --start / start_from_checkpoint--> READY --stop--> STOPPED --start--> READY …
    any state --abort()--> ABORTED: every call but stop() raises Aborted, for good

Rules that hold for every method unless its own text differs:

* *Threads.* One caller thread at a time, not always the same one; a world must not be tied to the thread that
  started it. ``abort`` is the exception, and ``stop`` may come while ``start`` runs: abort first, then stop.
* *Blocking.* A call may block, but never without a bound, and every blocked call ends within a second of ``abort()``
  with ``Aborted``.
* *Interruption.* ``KeyboardInterrupt`` or any exception out of ``start`` leaves nothing behind once ``stop()`` has
  returned; the caller always calls ``stop()`` after ``start()`` was entered, however it ended.
* *Errors.* Only classes of ``gym_anything.errors`` cross this boundary on purpose. A world that died raises
  ``WorldLost``; never an empty result, never blame on the agent.
* *No silence.* What cannot be done raises. Input is reported done only when it was delivered.

The contract comes in six parts, one file each: facts about the class (``base_facts``), commands and files in the guest
(``base_guest``), the screen and other senses (``base_senses``), checkpoints (``base_checkpoints``), forks
(``base_forks``), signs of life (``base_health``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from gym_anything.runtime.runners.abort import AbortSignal
from gym_anything.runtime.runners.base_forks import ForkAccess
from gym_anything.runtime.runners.base_guest import GuestAccess
from gym_anything.runtime.runners.base_health import HealthAccess
from gym_anything.runtime.runners.base_senses import SenseAccess
from gym_anything.runtime.runners.runtime_info import RuntimeInfo

if TYPE_CHECKING:
    from gym_anything.specs.env_spec import EnvSpec


class BaseRunner(GuestAccess, SenseAccess, ForkAccess, HealthAccess, ABC):
    """One world. Built cheaply from a spec (no side effect), brought up by ``start``, gone after ``stop``."""

    def __init__(self, spec: EnvSpec) -> None:
        """Keep the spec. Must be cheap and start nothing: doctors and validators build runners, too."""
        self.spec = spec
        self.episode_context: dict[str, Any] = {}
        self.reporter: Any = None

    # --- the six required methods --------------------------------------------------------------------------------

    @abstractmethod
    def start(self, seed: int | None = None) -> None:
        """Bring the world up from nothing and return when it is ready for hooks and actions.

        Ready means usable: a desktop shows a non-empty screen with its window manager up, a shell answers.

        Called: NEW or STOPPED. Blocks: as long as a boot takes, bounded by the runner's own start time-out. After an
            exception the caller calls ``stop()``, which removes what was half started.
        Args:
            seed: what the world's own randomness follows, where it can; None means free.
        Raises: WorldStartFailed, BootTimedOut (with the log tail), MissingDependency (with the fix), Aborted.
        """

    @abstractmethod
    def stop(self) -> None:
        """Remove the world and everything it used: processes, ports, mounts, memory, temporary files.

        Called: in every state, also without ``start``, twice, and after ``abort``. The second call does nothing.
            Blocks: a few seconds at most (ask, then kill). Does not raise for a world that is already gone.
        """

    @abstractmethod
    def run_reset(self, script: str, seed: int | None = None) -> None:
        """Run the environment's ``reset_script`` in the world, as root, before every episode.

        Called: READY. Args: script: the spec's own text: a command line or a guest path, in the guest's shell.
        Raises: GuestCommandFailed when it exits non-zero.
        """

    @abstractmethod
    def run_task_init(self, script: str) -> None:
        """Run the task's ``init_script`` in the world, like ``run_reset`` but once per task."""

    @abstractmethod
    def inject_action(self, action: dict[str, Any]) -> Any:
        """Do one action, or refuse it.

        Called: READY. Blocks: until the world has taken the input (``acks_input_delivery()``), else until it was handed
            over.
        Args:
            action: one action dict of the contract (``{"mouse": {…}}``, ``{"keyboard": {…}}``), a passthrough of the
                runner's own vocabulary, or, for runners with ``supports_time_control()``, ``{"action": "wait", …}``.
                ``_role`` is present in multi-agent specs. It must not be changed.
        Returns: whatever shall appear as ``info["action_result"]["output"]``; None for nothing to say.
        Raises: ActionUnsupported for an action this world cannot do (nothing of it was done), ActionError for a
            malformed one, InputNotDelivered (nothing of it was done: safe to send again) or InputDeliveryUnknown (never
            sent again by core).
            Ignoring an action in silence is the one thing that is forbidden.
        """

    @abstractmethod
    def capture_observation(self) -> dict[str, Any]:
        """Return the world's own observations, for the modality types core does not know.

        Core takes ``rgb_screen``, ``audio_waveform`` and ``ui_tree`` itself by the methods of ``base_senses`` where the
        runner has them, and merges this dict under its own keys: nothing is dropped. A plain desktop returns ``{}``.

        Called: READY. Returns: a fresh dict per call; its values belong to the caller.
        """

    # --- taking part in an episode -------------------------------------------------------------------------------

    def on_episode_start(self, context: Mapping[str, Any]) -> None:
        """Learn about the coming episode, before ``start``. Must not start anything.

        A world that is brought up before its task is known (``warm_up``) is told twice: before ``start``, with
        ``task_id`` None and a folder for the time being, and again, with those of the episode, when its task is set up.
        What lies in the first folder by then is moved to the second.

        Args: context: ``{"episode_dir": str, "env_id": str, "task_id": str | None, "seed": int | None}``, and, for
            an episode with checkpoints, ``task_digest``: a digest of the task's content, for a ``post_task`` key.
        The default keeps a copy in ``self.episode_context``.
        """
        self.episode_context = dict(context)

    def seed_matters_at_start(self) -> bool:
        """Tell whether ``start`` makes another world of another seed; then a warm one is no good for an episode's own.

        True unless the class says otherwise: a desktop, whose start draws nothing from it, says False.
        """
        return True

    def new_sibling(self) -> Self:
        """Return another runner as this one was made: the same class and spec, nothing started. For forks."""
        return type(self)(self.spec)

    def supports_time_control(self) -> bool:
        """Tell whether this world has its own clock and wants ``wait`` actions itself (``inject_action``).

        With False core waits wall-clock time instead.
        """
        return False

    def acks_input_delivery(self) -> bool:
        """Tell whether ``inject_action`` returns only after the world has processed the input.

        With True (and fast I/O) core leaves out all its pacing waits.
        """
        return False

    def supports_fast_io(self) -> bool:
        """Tell whether ``set_fast_io(True)`` works: frames in memory and a direct input path."""
        return False

    def set_fast_io(self, enabled: bool) -> None:
        """Choose the fast or the file-backed path. Called: before ``start``.

        Raises: UnsupportedFeature for True where ``supports_fast_io()`` is False.
        """
        if enabled and not self.supports_fast_io():
            raise self.unsupported("fast_io", "this runner has no fast input and frame path")

    def supports_live_recording(self) -> bool:
        """Tell whether frames may be captured by a second thread while the episode steps."""
        return False

    def release_held_inputs(self) -> None:
        """Release every key and button that actions left pressed. Called: READY, at the end of an episode.

        The default does nothing, which is right for a world that holds nothing; one that accepts ``keys_down`` or
        ``mouse.buttons`` overrides it.
        """

    def get_runtime_info(self) -> RuntimeInfo:
        """Return where the world can be found (names, ports, credentials). Called: in every state."""
        return RuntimeInfo(runner_name=self.runner_name(), platform_family=self.get_platform_family())

    def set_reporter(self, reporter: Any) -> None:
        """Take the object that is told about progress: a callable ``reporter(event, **facts)``, or None.

        Reports are for people; nothing may depend on one being there or on what it does. In an episode the event
        ``note`` (``text=``: something was done in another way than asked) becomes a warning in ``info``.
        """
        self.reporter = reporter

    def report(self, event: str, **facts: Any) -> None:
        """Tell the reporter, if there is a callable one (``report("booting", attempt=1)``)."""
        reporter = getattr(self, "reporter", None)
        if callable(reporter):
            reporter(event, **facts)

    # --- ending from outside -------------------------------------------------------------------------------------

    def abort(self) -> None:
        """End every blocked call of this runner within a second, from any thread.

        They raise ``Aborted``; after that only ``stop()`` is allowed, for good. Returns at once, never raises, does not
        stop the world itself (``stop`` does), and may be called in every state, repeatedly.

        The default raises ``self.abort_signal``, which the default implementations of this contract obey. A runner that
        blocks anywhere else (a socket, a process, a vendor's SDK) overrides this, calls ``super().abort()`` and
        unblocks itself: closes the socket, kills the process. ``can_abort()`` tells callers which of the two it is.
        """
        self.abort_signal.set()

    @property
    def abort_signal(self) -> AbortSignal:
        """The flag ``abort`` raises. Made on first use, so a subclass need not call ``super().__init__``."""
        return self.__dict__.setdefault("_abort_signal", AbortSignal())  # type: ignore[no-any-return]

    def can_abort(self) -> bool:
        """Tell whether the class has its own ``abort``; where not, core gives up on a stuck call from outside."""
        return type(self).abort is not BaseRunner.abort
