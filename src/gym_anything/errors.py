"""The vocabulary of failure.

Every failure that crosses a boundary of this package is one of the classes below. A class says *what kind* of
thing went wrong; the message says what, where and what to do; ``__cause__`` keeps the root cause.

Each class carries a stable kebab-case ``code`` (the only name that travels over a wire), ``retryable`` (is a fresh
try of the same call worth it?) and ``blame`` (who has to act: the world, the policy, the content, the judge, the
host or the caller).

A broken *episode* is a value (``Outcome`` in ``gym_anything.episode.outcome``); a programming mistake raises. Standard
bases (``ValueError``, ``TimeoutError``, ``LookupError``) are mixed in where users expect to catch them.

Over HTTP or a socket an error is the dict ``{code, message, blame, retryable, detail}``: ``to_wire`` and
``from_wire`` convert. A code that this version does not know survives the trip as ``UnknownRemoteError`` with all
its fields.

The tree::

    GymAnythingError
    ├─ SpecError                 SpecNotFound · SpecInvalid · UnsupportedFeature
    ├─ ActionError               an action that is malformed, off the screen or names an unknown key
    ├─ PluginError               UnknownPlugin · PluginConflict · PluginImportFailed · MissingExtra
    ├─ StateError                called in the wrong state · Aborted
    ├─ SettingInvalid            an environment variable or setting with a value that cannot be used
    ├─ HostError                 MissingDependency · NativeProgramMissing · DeadlineExceeded
    │                            ProcessStartFailed · ProcessStuck · SupervisorLost
    ├─ WorldError                WorldStartFailed · BootTimedOut · WorldLost · ObservationError · CaptureFailed
    │                            FrameStale · InputNotDelivered · InputDeliveryUnknown · ActionUnsupported
    │                            GuestCommandFailed · GuestFileNotFound · CheckpointMissing · CheckpointStale
    │                            CheckpointLocked · CheckpointUnsupported
    ├─ AgentError (AgentTimedOut)  VerifierError (VlmNotConfigured)  BenchmarkError
    ├─ ModelError                ModelUnavailable · ModelBudgetSpent
    ├─ PoolError                 AdmissionRefused · NoReplica · ReplicaFailed
    └─ RemoteError               Unauthorized · Unreachable · VersionSkew · SessionLost · BadWire · UnknownRemoteError
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

Blame = Literal["world", "policy", "content", "judge", "host", "caller"]
BLAMES: tuple[Blame, ...] = ("world", "policy", "content", "judge", "host", "caller")

_REGISTRY: dict[str, type[GymAnythingError]] = {}


class GymAnythingError(Exception):
    """Base of every error this package raises on purpose.

    Args:
        message: what went wrong, where, and what to do about it; one paragraph.
        detail: JSON-serialisable facts (file, key path, log tail, exit code …). Never a secret.
    """

    code: ClassVar[str] = "error"
    blame: Blame = "caller"
    retryable: bool = False

    def __init__(self, message: str = "", *, detail: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.detail: dict[str, Any] = dict(detail or {})

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = cls.__dict__.get("code")
        if own is None:
            return
        other = _REGISTRY.get(own)
        if other is not None and (other.__module__, other.__qualname__) != (cls.__module__, cls.__qualname__):
            raise TypeError(f"error code {own!r} of {cls.__qualname__} is already taken by {other.__qualname__}")
        _REGISTRY[own] = cls

    def __str__(self) -> str:
        return self.message or type(self).__name__

    def to_wire(self) -> dict[str, Any]:
        """Return ``{code, message, blame, retryable, detail}``: all that ever travels, never a class path."""
        return {
            "code": self.code,
            "message": str(self),
            "blame": self.blame,
            "retryable": self.retryable,
            "detail": self.detail,
        }


_REGISTRY[GymAnythingError.code] = GymAnythingError


# --- specs and actions -------------------------------------------------------------------------------------------


class SpecError(GymAnythingError, ValueError):
    """A spec cannot be used."""

    code = "spec-error"
    blame: Blame = "content"


class SpecNotFound(SpecError, LookupError):
    """No such environment, task, preset or file; the message lists what exists."""

    code = "spec-not-found"
    blame: Blame = "caller"


class SpecInvalid(SpecError):
    """A file does not parse or a value is wrong; ``detail`` has ``file``, ``key`` and ``fix``."""

    code = "spec-invalid"


class UnsupportedFeature(SpecError):
    """The chosen runner cannot do what the spec or call asks for; ``detail`` has ``feature``, ``reason``, ``fix``."""

    code = "unsupported-feature"
    blame: Blame = "caller"


class ActionError(GymAnythingError, ValueError):
    """An action is malformed, lies outside the screen or names an unknown key. Nothing of it was done."""

    code = "action-invalid"
    blame: Blame = "policy"


# --- plug-ins ----------------------------------------------------------------------------------------------------


class PluginError(GymAnythingError):
    """A runner, agent or benchmark could not be found or loaded."""

    code = "plugin-error"


class UnknownPlugin(PluginError, LookupError):
    """No plug-in of that name; the message lists the known ones and near matches."""

    code = "plugin-unknown"


class PluginConflict(PluginError):
    """Two registrations claim one name, or a reserved name was claimed."""

    code = "plugin-conflict"


class PluginImportFailed(PluginError):
    """The plug-in's module raised while it was imported."""

    code = "plugin-import-failed"


class MissingExtra(PluginError):
    """A pip extra is not installed; ``detail['extra']`` names it."""

    code = "plugin-missing-extra"
    blame: Blame = "host"


# --- state, host -------------------------------------------------------------------------------------------------


class StateError(GymAnythingError):
    """Called in the wrong state (step before reset, use after close …)."""

    code = "wrong-state"


class Aborted(StateError):
    """A blocked call was ended by ``abort()`` from another thread."""

    code = "aborted"


class SettingInvalid(GymAnythingError, ValueError):
    """An environment variable or setting has a value that cannot be used, or none; ``detail['setting']``."""

    code = "setting-invalid"


class HostError(GymAnythingError):
    """The machine we run on lacks something or refused something."""

    code = "host-error"
    blame: Blame = "host"


class MissingDependency(HostError):
    """A program, library or kernel feature is missing; ``detail['fix']`` is a command line."""

    code = "missing-dependency"


class NativeProgramMissing(MissingDependency):
    """One of our C programs is not built; ``gym-anything doctor --fix`` builds it."""

    code = "native-program-missing"


class DeadlineExceeded(HostError, TimeoutError):
    """A deadline passed; the message says what was awaited, the last status and the log tail."""

    code = "deadline-exceeded"
    retryable = True


class ProcessStartFailed(HostError):
    """A program could not be started on this machine; ``detail`` has ``argv0``, ``errno`` and ``step``."""

    code = "process-start-failed"


class ProcessStuck(HostError):
    """A process is still there after SIGKILL (it hangs in the kernel); ``detail['pids']``."""

    code = "process-stuck"


class SupervisorLost(HostError):
    """The process that starts and ends all others has died, and with it everything it had started."""

    code = "supervisor-lost"
    retryable = True


# --- the world ---------------------------------------------------------------------------------------------------


class WorldError(GymAnythingError):
    """The world misbehaved; the agent is not to blame."""

    code = "world-error"
    blame: Blame = "world"


class WorldStartFailed(WorldError):
    """The world did not start; everything it had started was removed again."""

    code = "world-start-failed"
    retryable = True


class BootTimedOut(WorldStartFailed, TimeoutError):
    """The world started but was not ready in time; ``detail['log_tail']``."""

    code = "world-boot-timed-out"


class WorldLost(WorldError):
    """The world died (X server gone, init dead, VM exited). The episode is over."""

    code = "world-lost"


class ObservationError(WorldError):
    """An observation could not be made."""

    code = "observation-failed"
    retryable = True


class CaptureFailed(ObservationError):
    """The screen could not be captured, or the frame was empty or torn."""

    code = "capture-failed"


class FrameStale(ObservationError):
    """Only a frame older than the acknowledged input could be had."""

    code = "frame-stale"


class InputNotDelivered(WorldError):
    """The input was certainly not applied; sending it again is safe."""

    code = "input-not-delivered"
    retryable = True


class InputDeliveryUnknown(WorldError):
    """The input may or may not have been applied; it is never sent again by us."""

    code = "input-delivery-unknown"


class ActionUnsupported(WorldError):
    """This world cannot do this (well-formed) action. Nothing of it was done."""

    code = "action-unsupported"
    blame: Blame = "policy"


class GuestCommandFailed(WorldError):
    """A command in the guest failed, was killed or timed out; ``detail``: ``exit_code``, ``log_tail``."""

    code = "guest-command-failed"


class GuestFileNotFound(WorldError, FileNotFoundError):
    """A file asked for does not exist in the guest."""

    code = "guest-file-not-found"
    blame: Blame = "content"

    def __str__(self) -> str:  # FileNotFoundError would print errno fields
        return self.message


class CheckpointError(WorldError):
    """A checkpoint cannot be used."""

    code = "checkpoint-error"


class CheckpointMissing(CheckpointError, LookupError):
    """No checkpoint under this key."""

    code = "checkpoint-missing"


class CheckpointStale(CheckpointError):
    """Made by another topology, version or spec; ``detail`` names the difference."""

    code = "checkpoint-stale"


class CheckpointLocked(CheckpointError):
    """Another process is creating or using it."""

    code = "checkpoint-locked"
    retryable = True


class CheckpointUnsupported(CheckpointError):
    """This runner cannot make this kind of checkpoint."""

    code = "checkpoint-unsupported"
    blame: Blame = "caller"


# --- policy, judge, content --------------------------------------------------------------------------------------


class AgentError(GymAnythingError):
    """The agent raised, hung or answered nonsense."""

    code = "agent-error"
    blame: Blame = "policy"


class AgentTimedOut(AgentError, TimeoutError):
    """A call of the agent did not return in time; it was left behind."""

    code = "agent-timed-out"


class VerifierError(GymAnythingError):
    """The verifier could not be loaded, raised, hung or returned nonsense."""

    code = "verifier-error"
    blame: Blame = "judge"


class VlmNotConfigured(VerifierError):
    """A verifier asked for a vision model and none is configured; its verdict cannot be trusted as a fail."""

    code = "vlm-not-configured"
    blame: Blame = "host"


class BenchmarkError(GymAnythingError):
    """A benchmark folder, split or result cannot be used."""

    code = "benchmark-error"
    blame: Blame = "content"


class ModelError(GymAnythingError):
    """A vision model that an agent or a judge asked refused the call or answered what makes no sense."""

    code = "model-error"
    blame: Blame = "host"


class ModelUnavailable(ModelError):
    """A vision model was not reached, was too busy or took too long; it may be there later."""

    code = "model-unavailable"
    retryable = True


class ModelBudgetSpent(ModelError):
    """The calls, tokens or money that were allowed for a vision model are spent."""

    code = "model-budget-spent"
    blame: Blame = "caller"


# --- scale -------------------------------------------------------------------------------------------------------


class PoolError(GymAnythingError):
    """The pool cannot serve."""

    code = "pool-error"
    blame: Blame = "host"


class AdmissionRefused(PoolError):
    """No room now; ``detail['retry_after_s']``."""

    code = "admission-refused"
    retryable = True


class NoReplica(PoolError):
    """No replica of this kind exists or can be made."""

    code = "no-replica"


class ReplicaFailed(PoolError):
    """A replica failed for good, or its task was ended; ``detail['story']`` has its transitions.

    ``blame``: the world, when that was lost; the policy, for a task over its time limit; the caller, for a lease whose
    owner showed no sign of life. The last two are not ``retryable``.
    """

    code = "replica-failed"
    retryable = True


class RemoteError(GymAnythingError):
    """The other side of a wire failed."""

    code = "remote-error"
    blame: Blame = "host"


class Unauthorized(RemoteError, PermissionError):
    """The token is missing or wrong."""

    code = "unauthorized"
    blame: Blame = "caller"

    def __str__(self) -> str:  # PermissionError would print errno fields
        return self.message


class Unreachable(RemoteError, ConnectionError):
    """No connection, or it was cut before the request was taken."""

    code = "unreachable"
    retryable = True

    def __str__(self) -> str:  # ConnectionError would print errno fields
        return self.message


class VersionSkew(RemoteError):
    """The two sides speak different versions or hold different content."""

    code = "version-skew"


class SessionLost(RemoteError):
    """The other side no longer knows this session."""

    code = "session-lost"


class BadWire(RemoteError, ValueError):
    """A message that does not follow the protocol."""

    code = "bad-wire"


class UnknownRemoteError(RemoteError):
    """An error whose code this version does not know; code, blame and retryable are as received."""

    code = "unknown-remote-error"

    def to_wire(self) -> dict[str, Any]:
        return {**super().to_wire(), "code": self.detail.get("__code__", self.code), "detail": self._plain_detail()}

    def _plain_detail(self) -> dict[str, Any]:
        return {k: v for k, v in self.detail.items() if k != "__code__"}


def registered_codes() -> dict[str, type[GymAnythingError]]:
    """Return every known ``code`` and its class (a copy)."""
    return dict(_REGISTRY)


def from_wire(payload: Mapping[str, Any]) -> GymAnythingError:
    """Rebuild an error from its wire form.

    Args:
        payload: ``{code, message, blame, retryable, detail}``; missing fields take the class's own.
    Returns: an instance of the registered class, or ``UnknownRemoteError`` that keeps the foreign code.
    Raises: BadWire when ``payload`` is not such a dict.
    """
    code = payload.get("code") if isinstance(payload, Mapping) else None
    if not isinstance(code, str):
        raise BadWire(f"an error on the wire needs a string 'code', got {payload!r:.200}")
    detail = payload.get("detail")
    detail = dict(detail) if isinstance(detail, Mapping) else {}
    message = str(payload.get("message") or "")
    cls = _REGISTRY.get(code)
    if cls is None:
        error: GymAnythingError = UnknownRemoteError(message, detail={**detail, "__code__": code})
    else:
        error = cls(message, detail=detail)
    blame = payload.get("blame")
    if blame in BLAMES:
        error.blame = blame
    if isinstance(payload.get("retryable"), bool):
        error.retryable = bool(payload["retryable"])
    return error
