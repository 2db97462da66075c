"""Calling a model: bounded in time, tried again where that is worth it, every failure one of ours.

Both official SDKs raise the same family of errors; it is told by their attributes here, so that neither SDK is imported
for it. Their own retries are switched off: they know nothing of our deadlines.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from gym_anything._util.deadline import Deadline
from gym_anything._util.retry import Backoff, retry
from gym_anything._util.secrets import Redactor
from gym_anything.errors import Aborted, ModelError, ModelUnavailable
from gym_anything.models.endpoint import Endpoint

T = TypeVar("T")

_WORTH_ANOTHER_TRY = frozenset({408, 409, 425, 429})
_LONGEST_MESSAGE = 600
_LONGEST_RETRY_AFTER_S = 120.0
_BASE_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 20.0


@dataclass(frozen=True, slots=True)
class CallLimits:
    """What ends a call from outside.

    Attributes:
        deadline: no try goes on after it, retries included.
        on_cancel: given a function, calls it when the call is to end, from any thread; returns how to forget it.
    """

    deadline: Deadline
    on_cancel: Callable[[Callable[[], None]], Callable[[], None]] | None = None


def call_model(endpoint: Endpoint, call: Callable[[float], T], limits: CallLimits) -> tuple[T, float]:
    """Call an endpoint until it answers, and return the answer and the seconds it took, retries included.

    Args:
        call: does one try within the seconds it is given; what it raises is explained here.
    Raises: ModelUnavailable (worth a fresh try later), ModelError (refused), Aborted. No message holds the key.
    """
    began = time.monotonic()

    def one_try(deadline: Deadline) -> T:
        seconds = min(endpoint.timeout_s, deadline.remaining())
        awaited = f"an answer of {endpoint.model}"
        try:
            return bounded(lambda: call(seconds), seconds, limits, awaited=awaited)
        except Exception as error:  # the boundary to the SDKs: what they raise is explained
            if "APITimeoutError" in {base.__name__ for base in type(error).__mro__}:
                raise _too_late(awaited, seconds) from None
            if not _is_of_an_sdk(error):
                raise
            raise explained(error, endpoint) from None  # its own text may hold the key

    backoff = Backoff(endpoint.attempts, _BASE_PAUSE_S, _LONGEST_PAUSE_S)
    answer = retry(one_try, deadline=limits.deadline, backoff=backoff)
    return answer, time.monotonic() - began


def bounded(call: Callable[[], T], seconds: float, limits: CallLimits, *, awaited: str) -> T:
    """Run a call in a thread of its own and leave it behind when its time is up or it is cancelled.

    A socket's time-out starts anew with each byte; this one does not. What is left behind ends by its own time-out.
    Raises: ModelUnavailable after ``seconds``, Aborted, what the call raises.
    """
    box: list[tuple[Any, BaseException | None]] = []
    changed = threading.Event()
    cancelled = threading.Event()

    def run() -> None:
        try:
            box.append((call(), None))
        except BaseException as error:  # noqa: BLE001 - the boundary of the thread: raised again below
            box.append((None, error))
        changed.set()

    def cancel() -> None:
        cancelled.set()
        changed.set()

    forget = limits.on_cancel(cancel) if limits.on_cancel is not None else lambda: None
    try:
        if not cancelled.is_set():
            threading.Thread(target=run, name="model-call", daemon=True).start()
            changed.wait(max(0.0, seconds))
    finally:
        forget()
    if box:
        answer, error = box[0]
        if error is not None:
            try:
                raise error
            finally:
                del error
        return answer  # type: ignore[no-any-return]
    if cancelled.is_set():
        raise Aborted(f"waiting for {awaited} was ended by abort()")
    raise _too_late(awaited, seconds)


def _too_late(awaited: str, seconds: float) -> ModelUnavailable:
    """Return the one error of a call whose time is up, whether the SDK's clock or ours saw it first."""
    return ModelUnavailable(f"{awaited} did not come within {seconds:.1f} s", detail={"seconds": round(seconds, 3)})


def explained(error: Exception, endpoint: Endpoint) -> ModelError:
    """Return our error for what an SDK raised, without the key."""
    status = getattr(error, "status_code", None)
    where = endpoint.base_url or f"the {endpoint.protocol} endpoint"
    text = Redactor(endpoint.secrets).text(str(error))[:_LONGEST_MESSAGE]
    detail: dict[str, Any] = {"model": endpoint.model, "endpoint": where, "error": type(error).__name__}
    if isinstance(status, int):
        detail["status"] = status
        message = f"model {endpoint.model!r} at {where} answered with HTTP {status}: {text}"
        if status in _WORTH_ANOTHER_TRY or status >= 500:
            wait_s = _retry_after(error)
            return ModelUnavailable(message, detail=detail | ({"retry_after_s": wait_s} if wait_s else {}))
        return ModelError(message + _fix(status), detail=detail)
    cause = error.__cause__
    because = Redactor(endpoint.secrets).text(f" ({type(cause).__name__}: {cause})")[:200] if cause else ""
    message = f"model {endpoint.model!r} at {where}: {type(error).__name__}: {text}{because}"
    if _is_of_the_connection(error):
        return ModelUnavailable(message, detail=detail)
    return ModelError(message, detail=detail)


def plain_answer(answer: Any, endpoint: Endpoint) -> dict[str, Any]:
    """Return an SDK's answer as plain data. Raises: ModelError for what is none (a page of some proxy, say)."""
    if not hasattr(answer, "model_dump"):
        where = endpoint.base_url or f"the {endpoint.protocol} endpoint"
        raise ModelError(
            f"{where} answered with {type(answer).__name__} {str(answer)[:80]!r}, which is not its protocol; "
            "check the base URL",
            detail={"model": endpoint.model, "endpoint": where},
        )
    plain = answer.model_dump(mode="json", exclude_none=True, warnings=False)
    assert isinstance(plain, dict)
    return plain


def _is_of_an_sdk(error: Exception) -> bool:
    names = {base.__name__ for base in type(error).__mro__}
    return bool(names & {"OpenAIError", "AnthropicError"}) or _is_of_the_connection(error)


def _is_of_the_connection(error: Exception) -> bool:
    names = {base.__name__ for base in type(error).__mro__}
    return bool(names & {"APIConnectionError", "APITimeoutError", "TransportError"}) or isinstance(error, OSError)


def _fix(status: int) -> str:
    fixes = {
        401: "; give a key that is valid there",
        403: "; the key may not use this model",
        404: "; check the base URL and the model's name",
        413: "; send fewer or smaller screenshots",
    }
    return fixes.get(status, "")


def _retry_after(error: Exception) -> float | None:
    headers = getattr(getattr(error, "response", None), "headers", None)
    text = headers.get("retry-after", "") if headers is not None else ""
    try:
        seconds = float(text)
    except ValueError:
        return None  # a date, or nothing: our own pauses do
    return min(seconds, _LONGEST_RETRY_AFTER_S) if seconds > 0 else None
