"""Waiting until a guest, or something in it, is ready."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.errors import BootTimedOut, DeadlineExceeded, Unreachable, WorldStartFailed
from gym_anything.runtime.guest.channel import Address, GuestChannel

_ATTEMPT_S = 5.0
_COMMAND_S = 30.0
"""A command that is cut off has to be ended and reported, which an emulated guest on a busy host is slow to do: one
that merely starts slowly is let be."""
_LAST_ATTEMPT_S = 0.5


def _attempt(deadline: Deadline, limit_s: float = _ATTEMPT_S) -> Deadline:
    """Bound one question; the last one, asked when the deadline has passed, gets a moment too."""
    return Deadline.after(min(limit_s, max(_LAST_ATTEMPT_S, deadline.remaining())))


def await_guest(
    address: Address,
    *,
    token: bytes,
    deadline: Deadline,
    died: Callable[[], str | None] = lambda: None,
    log_tail: Callable[[], str] = lambda: "",
    aborted: Callable[[], bool] = lambda: False,
) -> GuestChannel:
    """Connect to a guest that is still starting.

    Args:
        address: as for ``GuestChannel.connect``, not a socket (a failed attempt would use it up).
        died: asked between attempts; a text (why the world is gone) ends the wait at once.
        log_tail: the end of the world's log, for the diagnosis.
        aborted: asked between attempts; True ends the wait with ``Aborted``.
    Raises: WorldStartFailed when it died; BootTimedOut; Unauthorized, VersionSkew at once; Aborted.
    """
    last = ""

    def attempt() -> GuestChannel | None:
        nonlocal last
        reason = died()
        if reason is not None:
            raise WorldStartFailed(
                f"the world ended before its guest answered: {reason}", detail={"log_tail": log_tail()}
            )
        try:
            return GuestChannel.connect(address, token=token, deadline=_attempt(deadline))
        except (Unreachable, DeadlineExceeded) as error:
            last = str(error)
            return None

    try:
        channel = wait_until(
            attempt,
            deadline=deadline,
            awaited=f"the guest at {address}",
            status=lambda: last,
            log_tail=log_tail,
            aborted=aborted,
        )
    except DeadlineExceeded as error:
        raise BootTimedOut(str(error), detail=error.detail) from error
    assert channel is not None
    return channel


def await_guest_file(channel: GuestChannel, path: str, *, deadline: Deadline) -> None:
    """Wait until a file of any kind (a socket, say) exists in the guest. Raises DeadlineExceeded."""
    wait_until(
        lambda: channel.exists(path, deadline=_attempt(deadline)),
        deadline=deadline,
        awaited=f"guest file {path}",
    )


def await_guest_command(
    channel: GuestChannel,
    argv: Sequence[str],
    *,
    deadline: Deadline,
    awaited: str,
    user: str = "root",
    env: Mapping[str, str] | None = None,
) -> None:
    """Run a cheap question in the guest again and again until it answers with exit status 0.

    Raises: DeadlineExceeded with the last output.
    """
    last = ""

    def ask() -> bool:
        nonlocal last
        result = channel.exec(argv, user=user, env=env, deadline=_attempt(deadline, _COMMAND_S))
        last = f"exit status {result.exit_code}: {(result.stderr or result.stdout)[-500:].decode(errors='replace')}"
        return result.ok

    wait_until(ask, deadline=deadline, awaited=awaited, status=lambda: last)
