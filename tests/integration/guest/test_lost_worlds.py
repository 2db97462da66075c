from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.errors import (
    Aborted,
    BootTimedOut,
    DeadlineExceeded,
    GymAnythingError,
    StateError,
    Unreachable,
    WorldLost,
    WorldStartFailed,
)
from gym_anything.runtime.guest import exchange as exchange_module
from gym_anything.runtime.guest.channel import GuestChannel
from gym_anything.runtime.guest.readiness import await_guest
from tests.integration.guest.world import World, soon

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("nothing_left")]


def _blocked_calls(channel: GuestChannel, folder: Path) -> list[Callable[[], object]]:
    os.mkfifo(folder / "never")
    return [
        lambda: channel.exec(["sleep", "500"], deadline=soon(500)),
        lambda: channel.exec(["cat", str(folder / "never")], deadline=Deadline.never()),
        lambda: channel.exec(["sh", "-c", "exec sleep 500"], stdin=b"x" * 10_000_000, deadline=soon(500)),
        lambda: channel.exec(["sleep", "500"], pty=True, deadline=soon(500)),
    ]


def _outcomes(calls: list[Callable[[], object]], disturb: Callable[[], object]) -> tuple[list[object], float]:
    """Run all calls at once, disturb them, and return what each came to and how long the last took afterwards."""
    found: list[object] = [None] * len(calls)

    def run(index: int) -> None:
        try:
            found[index] = calls[index]()
        except GymAnythingError as error:
            found[index] = error

    threads = [threading.Thread(target=run, args=(index,)) for index in range(len(calls))]
    for thread in threads:
        thread.start()
    time.sleep(0.4)
    disturbed = time.monotonic()
    disturb()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()
    return found, time.monotonic() - disturbed


def test_a_world_that_dies_is_lost_for_every_blocked_and_later_call(world: World) -> None:
    """L9: a dead world is not taken for command output."""
    channel = world.connect()
    found, seconds = _outcomes(_blocked_calls(channel, world.folder), lambda: os.kill(world.init_pid(), signal.SIGKILL))
    assert all(isinstance(outcome, WorldLost) for outcome in found), found
    assert seconds < 1
    with pytest.raises(WorldLost):
        channel.exec(["true"], deadline=soon())
    assert channel.ended
    channel.close()


def test_abort_ends_every_blocked_call_within_a_second(world: World) -> None:
    channel = world.connect()
    found, seconds = _outcomes(_blocked_calls(channel, world.folder), channel.abort)
    assert all(isinstance(outcome, Aborted) for outcome in found), found
    assert seconds < 1
    with pytest.raises(Aborted):
        channel.ping(deadline=soon())
    channel.close()
    with world.connect() as again:
        wait_until(
            lambda: not again.exec(["pgrep", "-x", "sleep"], deadline=soon()).ok,
            deadline=soon(),
            awaited="the end of the aborted commands",
        )


def test_abort_ends_a_send_that_the_guest_does_not_take(world: World) -> None:
    channel = world.connect()
    os.kill(world.init_pid(), signal.SIGSTOP)
    calls = [lambda: channel.exec(["true", "x" * 100_000], deadline=soon(500)) for _ in range(8)]
    found, seconds = _outcomes(list(calls), channel.abort)
    os.kill(world.init_pid(), signal.SIGCONT)
    assert all(isinstance(outcome, Aborted) for outcome in found), found
    assert seconds < 1
    channel.close()


def test_a_frozen_guest_is_reported_soon_after_the_deadline(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange_module, "ANSWER_GRACE_S", 0.3)
    with world.connect() as channel:
        os.kill(world.init_pid(), signal.SIGSTOP)
        with pytest.raises(WorldLost, match="no report from the guest") as caught:
            channel.exec(["true"], deadline=Deadline.after(0.3))
        os.kill(world.init_pid(), signal.SIGCONT)
        assert isinstance(caught.value.__cause__, DeadlineExceeded)
        assert channel.exec(["true"], deadline=soon()).ok


def test_a_closed_channel_says_so_and_closing_twice_is_harmless(world: World) -> None:
    channel = world.connect()
    channel.close()
    channel.close()
    with pytest.raises(StateError, match="closed"):
        channel.exec(["true"], deadline=soon())


def test_closing_while_commands_run_ends_them(world: World) -> None:
    channel = world.connect()
    found, seconds = _outcomes(_blocked_calls(channel, world.folder), channel.close)
    assert all(isinstance(outcome, StateError) for outcome in found), found
    assert seconds < 1


def test_a_forked_process_cannot_disturb_the_channel(world: World) -> None:
    with world.connect() as channel:
        pid = os.fork()
        if pid == 0:
            try:
                channel.exec(["true"], deadline=soon(1))
            except StateError:
                os._exit(7)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
        assert channel.exec(["true"], deadline=soon()).ok


def test_nobody_there_is_unreachable_and_a_dead_start_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(Unreachable):
        GuestChannel.connect(tmp_path / "none", token=b"t" * 16, deadline=soon())
    with pytest.raises(WorldStartFailed, match="exit status 3"):
        await_guest(tmp_path / "none", token=b"t" * 16, deadline=soon(60), died=lambda: "exit status 3")
    with pytest.raises(BootTimedOut, match="the end of the log"):
        await_guest(
            tmp_path / "none", token=b"t" * 16, deadline=Deadline.after(0.1), log_tail=lambda: "the end of the log"
        )


def test_an_impostor_that_does_not_know_the_token_gets_nothing(tmp_path: Path) -> None:
    """N1: a listener that took our place learns nothing it can use, and is refused."""
    ours, theirs = socket.socketpair()
    heard = bytearray()

    def listen() -> None:
        heard.extend(theirs.recv(4096))
        challenge = b"\x01\x00" + b"\x20\x00\x00\x00" + b"n" * 32 + b"\x20\x00\x00\x00" + b"p" * 32
        theirs.sendall(len(challenge).to_bytes(4, "little") + b"\0\0\0\0" + b"\x02\x00" + b"\0\0" + challenge)
        heard.extend(theirs.recv(4096))

    thread = threading.Thread(target=listen)
    thread.start()
    with pytest.raises(PermissionError, match="does not know the token"):
        GuestChannel.connect(ours, token=b"secret-of-the-world", deadline=soon())
    thread.join()
    theirs.close()
    assert b"secret" not in heard and len(heard) == 12 + 42


def test_a_peer_that_says_nothing_ends_at_the_deadline(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    with pytest.raises(DeadlineExceeded):
        GuestChannel.connect(ours, token=b"t" * 16, deadline=Deadline.after(0.2))
    theirs.close()


def test_nonsense_from_the_guest_is_a_lost_world(world: World, start_world: object) -> None:
    """A guest that stops speaking the protocol cannot confuse us."""
    from gym_anything.runtime.guest.connection import Connection
    from gym_anything.runtime.guest.handshake import Welcome

    for nonsense in (b"\xff" * 40, b"\0" * 40, b"\5\0\0\0\1\0\0\0\x19\0\0\0\1abcd" * 3 + b"\xff" * 12):
        ours, theirs = socket.socketpair()
        channel = GuestChannel(Connection(ours, "nonsense"), Welcome("init", 1, "x"))
        theirs.sendall(nonsense)
        with pytest.raises(WorldLost):
            channel.exec(["true"], deadline=soon(5))
        channel.close()
        theirs.close()
