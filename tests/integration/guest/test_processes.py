from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.errors import GuestCommandFailed
from gym_anything.runtime.guest.channel import GuestChannel
from gym_anything.runtime.guest.readiness import await_guest_command, await_guest_file
from tests.integration.guest.world import World, soon

pytestmark = pytest.mark.real


def test_a_detached_process_outlives_the_connection_and_writes_its_log(world: World) -> None:
    log = str(world.folder / "spawned.log")
    with world.connect() as channel:
        pid = channel.spawn(
            ["sh", "-c", "echo started; echo $NAME >&2; sleep 300"], env={"NAME": "x y"}, log_path=log, deadline=soon()
        )
    with world.connect() as channel:
        wait_until(
            lambda: channel.get_file(log, deadline=soon()) == b"started\nx y\n", deadline=soon(), awaited="the log"
        )
        assert channel.poll_spawned(pid, deadline=soon()) is None
        assert channel.kill(pid, signal.SIGTERM, deadline=soon())
        status = wait_until(
            lambda: channel.poll_spawned(pid, deadline=soon()), deadline=soon(), awaited="the process's end"
        )
        assert status == 128 + signal.SIGTERM
        assert not channel.kill(pid, signal.SIGTERM, deadline=soon())


def test_a_detached_process_that_cannot_start_says_why(channel: GuestChannel) -> None:
    with pytest.raises(GuestCommandFailed, match="cannot start '/no/such'"):
        channel.spawn(["/no/such"], deadline=soon())
    with pytest.raises(GuestCommandFailed, match="cannot open the log"):
        channel.spawn(["true"], log_path="/no/folder/log", deadline=soon())


def test_a_log_that_nobody_reads_does_not_hang_the_start(channel: GuestChannel, world: World) -> None:
    os.mkfifo(world.folder / "pipe")
    with pytest.raises(GuestCommandFailed, match="cannot open the log"):
        channel.spawn(["true"], log_path=str(world.folder / "pipe"), deadline=soon())


def test_commands_do_not_inherit_our_own_limits(channel: GuestChannel) -> None:
    ours = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    result = channel.exec(["sh", "-c", "ulimit -Sn; cat /proc/self/oom_score_adj"], deadline=soon())
    assert result.stdout.split() == [str(ours).encode(), Path("/proc/self/oom_score_adj").read_bytes().strip()]


def test_the_state_of_a_process_that_was_never_spawned_is_an_error(channel: GuestChannel) -> None:
    with pytest.raises(GuestCommandFailed, match="detached"):
        channel.poll_spawned(12345, deadline=soon())


def test_the_exit_status_of_a_detached_process_is_kept(channel: GuestChannel) -> None:
    pids = [channel.spawn(["sh", "-c", f"exit {n}"], deadline=soon()) for n in range(20)]
    for n, pid in enumerate(pids):
        wait_until(
            lambda pid=pid: channel.poll_spawned(pid, deadline=soon()) is not None, deadline=soon(), awaited="end"
        )
        assert channel.poll_spawned(pid, deadline=soon()) == n


def test_a_tree_is_killed_with_its_root(channel: GuestChannel) -> None:
    pid = channel.spawn(
        ["sh", "-c", "sleep 2001 & sh -c 'setsid sleep 2002 & sleep 2003' & sleep 2004"], deadline=soon()
    )
    await_guest_command(channel, ["pgrep", "-f", "^sleep 2003"], deadline=soon(), awaited="the tree")
    await_guest_command(channel, ["pgrep", "-f", "^sleep 2004"], deadline=soon(), awaited="the tree")
    assert channel.kill(pid, signal.SIGKILL, tree=True, deadline=soon())

    def left() -> bytes:
        return channel.exec(["pgrep", "-fa", "sleep 200[0-9]"], deadline=soon()).stdout

    # What is killed and no longer below the root may take a moment of processor time to die.
    wait_until(lambda: left() == b"", deadline=soon(), awaited="the end of the tree", status=lambda: left().decode())


def test_init_and_groups_cannot_be_signalled_by_number(channel: GuestChannel) -> None:
    for pid in (0, 1, 2**32 - 1):
        with pytest.raises(GuestCommandFailed, match="not a process"):
            channel.kill(pid, signal.SIGKILL, deadline=soon())
    assert channel.ping(deadline=soon()) < 5


def test_zombies_are_reaped(world: World, channel: GuestChannel) -> None:
    """L6: zombies are reaped: orphans of every kind leave nothing in the process table."""
    script = "for i in $(seq 200); do (setsid true &) & (true &) ; done; sleep 0.2"
    assert channel.exec(["bash", "-c", script], deadline=soon()).ok
    for _ in range(20):
        channel.spawn(["true"], deadline=soon())

    def zombies() -> bytes:
        return channel.exec(["sh", "-c", "ps -eo stat,args | grep '^Z'"], deadline=soon()).stdout

    wait_until(lambda: zombies() == b"", deadline=soon(), awaited="no zombies", status=lambda: zombies().decode())


def test_a_client_killed_hard_takes_its_commands_along_but_not_detached_ones(world: World) -> None:
    """L2, L8: kill -9 of the owner: what ran over its connection ends, all of it."""
    client = textwrap.dedent(
        """
        import sys
        from gym_anything._util.deadline import Deadline
        from gym_anything.runtime.guest.channel import GuestChannel
        channel = GuestChannel.connect(sys.argv[1], token=bytes.fromhex(sys.stdin.readline()), deadline=Deadline.after(10))
        channel.spawn(["sleep", "3001"], deadline=Deadline.after(10))
        channel.exec(["sh", "-c", "sleep 3002 & setsid sleep 3003 & sleep 3004"], deadline=Deadline.after(100))
        """
    )
    with world.connect() as channel:
        process = subprocess.Popen([sys.executable, "-c", client, str(world.socket)], stdin=subprocess.PIPE)
        assert process.stdin is not None
        process.stdin.write(world.token.hex().encode() + b"\n")
        process.stdin.flush()
        await_guest_command(channel, ["pgrep", "-f", "sleep 300[4]"], deadline=soon(), awaited="its command")
        process.kill()
        process.wait()
        process.stdin.close()

        def left() -> bytes:
            return channel.exec(["pgrep", "-fa", "sleep 300[0-9]"], deadline=soon()).stdout

        wait_until(
            lambda: [line.split()[-1] for line in left().splitlines()] == [b"3001"],
            deadline=soon(),
            awaited="the end of the client's commands only",
            status=lambda: left().decode(),
        )


def test_readiness_waits_for_files_and_commands_and_diagnoses(world: World, channel: GuestChannel) -> None:
    path = str(world.folder / "later")
    channel.spawn(["sh", "-c", f"sleep 0.3; touch {path}"], deadline=soon())
    await_guest_file(channel, path, deadline=soon())
    with pytest.raises(TimeoutError, match=r"the moon.*exit status 4: no moon"):
        argv = ["sh", "-c", "echo no moon >&2; exit 4"]
        await_guest_command(channel, argv, deadline=Deadline.after(0.2), awaited="the moon")


def test_nothing_is_left_of_a_thousand_commands(world: World, channel: GuestChannel) -> None:
    init = world.init_pid()
    for _ in range(20):
        channel.exec(["true"], deadline=soon())
    before = sorted(path.name for path in Path(f"/proc/{init}/fd").iterdir())
    memory = _rss_kib(init)
    for n in range(1000):
        channel.exec(["sh", "-c", "cat >/dev/null"], stdin=b"x" * (n * 10), deadline=soon())
    assert sorted(path.name for path in Path(f"/proc/{init}/fd").iterdir()) == before
    if channel.guest.build != "sanitize":  # whose allocator keeps what was freed
        assert _rss_kib(init) - memory < 512
    wait_until(lambda: len(world.pids()) == 1, deadline=soon(), awaited="an empty world")


def _rss_kib(pid: int) -> int:
    with Path(f"/proc/{pid}/status").open() as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def test_the_clock_and_a_ping_answer_while_commands_run(channel: GuestChannel) -> None:
    jobs = [
        channel.start(["sh", "-c", "yes | head -c 30000000"], max_output_bytes=1000, deadline=soon()) for _ in range(4)
    ]
    assert abs(channel.clock(deadline=soon()).to_guest(time.monotonic()) - time.time()) < 0.5
    assert channel.ping(deadline=soon()) < 1.0
    assert all(job.wait().ok for job in jobs)
