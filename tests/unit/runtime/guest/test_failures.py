from __future__ import annotations

import errno

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything.errors import Aborted, DeadlineExceeded, GuestCommandFailed, GuestFileNotFound, WorldLost
from gym_anything.runtime.guest import wire
from gym_anything.runtime.guest.commands import chunks, describe, environment_texts
from gym_anything.runtime.guest.exchange import deadline_ms, failure_of
from gym_anything.runtime.guest.exec_result import ExecResult

pytestmark = pytest.mark.unit


def _failed(error: str, os_error: int = 0) -> wire.Message:
    fields = {"error": wire.ERRORS.get(error, 999), "os_error": os_error, "message": b"it broke"}
    return wire.Message("FAILED", fields)


@pytest.mark.parametrize(
    ("error", "os_error", "reading", "kind"),
    [
        ("ERROR_START", errno.ENOENT, False, GuestCommandFailed),
        ("ERROR_FILE", errno.ENOENT, True, GuestFileNotFound),
        ("ERROR_FILE", errno.ENOTDIR, True, GuestFileNotFound),
        ("ERROR_FILE", errno.ENOENT, False, GuestCommandFailed),
        ("ERROR_FILE", errno.EACCES, True, GuestCommandFailed),
        ("ERROR_DEADLINE", 0, False, DeadlineExceeded),
        ("ERROR_SHUTTING_DOWN", 0, False, WorldLost),
        ("ERROR_CANCELLED", 0, False, Aborted),
        ("ERROR_BUSY", 0, False, GuestCommandFailed),
        ("an error of a later version", 0, False, GuestCommandFailed),
    ],
)
def test_each_failure_has_its_class(error: str, os_error: int, reading: bool, kind: type[Exception]) -> None:
    found = failure_of(_failed(error, os_error), "read guest file '/x'", reading=reading)
    assert type(found) is kind
    assert str(found) == "read guest file '/x': it broke"
    assert found.detail["errno"] == (errno.errorcode[os_error] if os_error else None)


def test_a_missing_guest_file_is_also_pythons_own_error() -> None:
    assert isinstance(failure_of(_failed("ERROR_FILE", errno.ENOENT), "x", reading=True), FileNotFoundError)


def test_the_guest_is_told_a_deadline_of_at_least_a_millisecond() -> None:
    now = [100.0]
    assert deadline_ms(Deadline.never()) == 0
    assert deadline_ms(Deadline(100.0001, now=lambda: now[0])) == 1
    assert deadline_ms(Deadline(90.0, now=lambda: now[0])) == 1
    assert deadline_ms(Deadline(102.5, now=lambda: now[0])) == 2500


def test_a_command_is_described_without_its_arguments() -> None:
    """N1: arguments may hold secrets."""
    assert describe(["curl", "-H", "Authorization: secret"]) == "guest command 'curl'"
    assert describe([b"/bin/\xff"]) == "guest command '/bin/�'"


def test_environment_names_are_checked() -> None:
    assert environment_texts({"A": "b=c", "é": ""}) == [b"A=b=c", "é=".encode()]
    assert environment_texts(None) == []
    for name in ("", "A=B"):
        with pytest.raises(ValueError, match="environment variable"):
            environment_texts({name: "x"})


def test_chunks_cover_everything_once() -> None:
    for size in (0, 1, 65535, 65536, 65537, 200000):
        data = bytes(i % 251 for i in range(size))
        parts = list(chunks(data))
        assert b"".join(parts) == data and all(0 < len(part) <= 65536 for part in parts)


def test_only_an_undisturbed_zero_is_ok() -> None:
    assert ExecResult(0, b"", b"").ok
    assert not ExecResult(1, b"", b"").ok
    assert not ExecResult(0, b"", b"", timed_out=True).ok
    assert not ExecResult(0, b"", b"", cancelled=True).ok
