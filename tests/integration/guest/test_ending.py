from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from gym_anything._util.waiting import wait_until
from gym_anything.errors import WorldLost
from gym_anything.runtime.guest.readiness import await_guest_command
from tests.integration.guest.conftest import StartWorld
from tests.integration.guest.world import World, soon

pytestmark = pytest.mark.real


def _spawn_stubborn(world: World) -> None:
    with world.connect() as channel:
        gentle = f'trap "echo ended > {world.folder}/gentle; exit 0" TERM; touch {world.folder}/ready1; while :; do sleep 0.05; done'
        channel.spawn(["bash", "-c", gentle], deadline=soon())
        stubborn = f'trap "" TERM HUP INT; touch {world.folder}/ready2; while :; do sleep 0.05; done'
        channel.spawn(["bash", "-c", stubborn], deadline=soon())
        channel.exec(["sh", "-c", "setsid sleep 800 >/dev/null 2>&1 &"], deadline=soon())
        wait_until(
            lambda: len(list(world.folder.glob("ready?"))) == 2,
            deadline=soon(),
            awaited="both shells",
        )


def test_a_world_ends_by_term_then_kill(start_world: StartWorld) -> None:
    """L2: SIGTERM to init: everyone is asked, then made to go; nothing is left."""
    world = start_world(arguments=["--grace-ms", "700"])
    _spawn_stubborn(world)
    pids = world.pids()
    assert len(pids) >= 4
    started = time.monotonic()
    os.kill(world.init_pid(), signal.SIGTERM)
    assert world.process.wait(10) == 0
    assert 0.6 < time.monotonic() - started < 3
    assert (world.folder / "gentle").read_text() == "ended\n"
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]
    assert not world.socket.exists()


def test_a_world_without_stubborn_processes_ends_at_once(world: World) -> None:
    with world.connect() as channel:
        channel.spawn(["sleep", "900"], deadline=soon())
        started = time.monotonic()
        channel.shutdown(grace_s=30, deadline=soon())
        assert world.process.wait(10) == 0
        assert time.monotonic() - started < 2
        with pytest.raises(WorldLost):
            channel.exec(["true"], deadline=soon())


def test_a_stopped_process_does_not_delay_the_end(world: World) -> None:
    with world.connect() as channel:
        pid = channel.spawn(["sleep", "900"], deadline=soon())
        channel.kill(pid, signal.SIGSTOP, deadline=soon())
        started = time.monotonic()
        channel.shutdown(grace_s=30, deadline=soon())
        assert world.process.wait(10) == 0 and time.monotonic() - started < 2


def test_a_command_that_runs_while_the_world_ends_is_lost_or_ended(world: World) -> None:
    """L9: never taken for a result of its own."""
    with world.connect() as channel:
        job = channel.start(["sleep", "900"], deadline=soon())
        await_guest_command(channel, ["pgrep", "-x", "sleep"], deadline=soon(), awaited="the command")
        channel.shutdown(grace_s=0.5, deadline=soon())
        try:
            assert job.wait().signal == signal.SIGTERM
        except WorldLost:
            pass


def test_nobody_inside_can_end_the_world(world: World) -> None:
    with world.connect() as channel:
        for number in ("TERM", "INT", "HUP", "QUIT", "KILL", "STOP", "PWR"):
            channel.exec(["kill", f"-{number}", "1"], deadline=soon())
            channel.exec(["pkill", f"-{number}", "-f", "^ga-guest"], deadline=soon())
        assert channel.exec(["echo", "alive"], deadline=soon()).stdout == b"alive\n"


def test_the_child_after_the_dashes_runs_and_can_end_the_world(start_world: StartWorld) -> None:
    world = start_world(command=["sh", "-c", "echo service up; sleep 1000"])
    with world.connect() as channel:
        wait_until(lambda: "service up" in world.log.read_text(), deadline=soon(), awaited="the child")
        channel.exec(["pkill", "-x", "sleep"], deadline=soon())
        assert channel.exec(["true"], deadline=soon()).ok
    world = start_world(arguments=["--end-with-child"], command=["sh", "-c", "sleep 0.2"])
    assert world.process.wait(10) == 0


def test_new_commands_are_refused_while_the_world_ends(world: World) -> None:
    with world.connect() as channel:
        channel.spawn(["bash", "-c", 'trap "" TERM; while :; do sleep 0.05; done'], deadline=soon())
        wait_until(
            lambda: channel.exec(["pgrep", "-x", "sleep"], deadline=soon()).ok, deadline=soon(), awaited="the shell"
        )
        channel.shutdown(grace_s=1, deadline=soon())
        with pytest.raises(WorldLost, match="ending"):
            channel.exec(["true"], deadline=soon())
