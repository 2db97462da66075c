from __future__ import annotations

import signal
import threading
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.errors import DeadlineExceeded, GuestCommandFailed, StateError
from gym_anything.runtime.guest.channel import GuestChannel
from tests.integration.guest.world import World, soon

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("nothing_left")]


def test_exit_status_and_both_streams_come_back(channel: GuestChannel) -> None:
    result = channel.exec(["sh", "-c", "echo out; echo err >&2; exit 3"], deadline=soon())
    assert (result.exit_code, result.stdout, result.stderr, result.signal) == (3, b"out\n", b"err\n", None)
    assert not result.ok and not result.truncated and not result.timed_out


def test_a_signal_is_reported_as_such(channel: GuestChannel) -> None:
    result = channel.exec(["sh", "-c", "kill -SEGV $$"], deadline=soon())
    assert (result.exit_code, result.signal) == (128 + signal.SIGSEGV, signal.SIGSEGV)


def test_arguments_arrive_exactly(channel: GuestChannel) -> None:
    """T1: text is data, never code or an option."""
    texts = [
        '"; rm -rf /',
        "-0.07",
        "--help",
        "",
        "'",
        '"',
        "%s%n",
        "&",
        "\\",
        "a\nb\n",
        "\t",
        "$HOME `id` $(id)",
        "*",
        "é日🙂",
        "|",
    ]
    result = channel.exec(["printf", "%s\\0", *texts], deadline=soon())
    assert result.stdout.split(b"\0")[:-1] == [text.encode() for text in texts]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.binary(max_size=40).map(lambda raw: raw.replace(b"\0", b"")), max_size=8))
def test_any_argument_bytes_arrive_exactly(channel: GuestChannel, arguments: list[bytes]) -> None:
    """T1: any bytes but NUL."""
    result = channel.exec(["sh", "-c", 'for a; do printf "%s\\0" "$a"; done', "sh", *arguments], deadline=soon())
    assert result.stdout.split(b"\0")[:-1] == arguments


def test_a_nul_byte_is_refused_before_anything_runs(channel: GuestChannel) -> None:
    with pytest.raises(ValueError, match="NUL"):
        channel.exec(["touch", "a\0b"], deadline=soon())


def test_the_environment_is_base_then_user_then_given(channel: GuestChannel) -> None:
    result = channel.exec(["env", "-0"], env={"USER": "given", "NEW": "a=b\nc"}, deadline=soon())
    env = dict(line.split("=", 1) for line in result.stdout.decode().split("\0") if line)
    assert env["BASE"] == "from the world"
    assert (env["HOME"], env["LOGNAME"], env["SHELL"]) == ("/root", "root", "/bin/bash")
    assert (env["USER"], env["NEW"]) == ("given", "a=b\nc")


@pytest.mark.usefixtures("as_root")
def test_a_command_runs_as_the_named_user_with_all_its_groups(world: World, channel: GuestChannel) -> None:
    result = channel.exec(["sh", "-c", "id -u; id -g; id -G; pwd; echo $HOME $USER"], user="ga", deadline=soon())
    uid, gid, groups, folder, rest = result.stdout.decode().splitlines()
    assert (uid, gid, set(groups.split())) == ("1000", "1000", {"1000", "900", "44"})
    assert folder == str(world.home) and rest == f"{world.home} ga"
    assert channel.exec(["id", "-u"], user="4321:77", deadline=soon()).stdout == b"4321\n"
    assert channel.exec(["sh", "-c", "id -g; pwd"], user="other", deadline=soon()).stdout == b"1001\n/\n"


@pytest.mark.usefixtures("as_root")
def test_a_user_gets_no_rights_back(channel: GuestChannel) -> None:
    script = "import os\ntry:\n os.setuid(0)\nexcept PermissionError: print('refused')"
    assert channel.exec(["python3", "-c", script], user="ga", deadline=soon()).stdout == b"refused\n"


@pytest.mark.parametrize(
    ("argv", "options", "words"),
    [
        (["/no/such/program"], {}, "No such file"),
        (["/etc/passwd"], {}, "Permission denied"),
        (["true"], {"user": "nobody-here"}, "no such user 'nobody-here'"),
        (["true"], {"cwd": "/no/such/folder"}, "cannot enter the folder '/no/such/folder'"),
    ],
)
def test_what_cannot_be_started_says_why(
    channel: GuestChannel, argv: list[str], options: dict[str, str], words: str
) -> None:
    with pytest.raises(GuestCommandFailed, match=words):
        channel.exec(argv, deadline=soon(), **options)  # type: ignore[arg-type]


def test_the_working_folder_is_as_asked(channel: GuestChannel) -> None:
    assert channel.exec(["pwd"], cwd="/usr/lib", deadline=soon()).stdout == b"/usr/lib\n"


def test_standard_input_is_at_its_end_when_not_given(channel: GuestChannel) -> None:
    """L8: stdin is /dev/null."""
    result = channel.exec(["sh", "-c", "cat; readlink /proc/self/fd/0"], deadline=soon())
    assert result.stdout == b"/dev/null\n"


def test_ten_megabytes_go_in_and_come_out_the_same(channel: GuestChannel) -> None:
    data = bytes(range(256)) * 40_000
    result = channel.exec(["cat"], stdin=data, max_output_bytes=len(data), deadline=soon())
    assert result.stdout == data and not result.truncated


def test_input_that_nobody_reads_does_not_hold_the_call(channel: GuestChannel) -> None:
    result = channel.exec(["sh", "-c", "exec <&-; echo done"], stdin=b"x" * 3_000_000, deadline=soon())
    assert result.ok and result.stdout == b"done\n"


def test_large_output_on_both_streams_with_a_deadline_does_not_deadlock(channel: GuestChannel) -> None:
    """L8: more than 64 KiB of output with a time-out does not deadlock."""
    script = "head -c 5000000 /dev/zero; head -c 5000000 /dev/zero >&2; head -c 1000000 /dev/zero"
    result = channel.exec(["sh", "-c", script], deadline=soon())
    assert (len(result.stdout), len(result.stderr), result.exit_code) == (6_000_000, 5_000_000, 0)


def test_output_beyond_the_bound_keeps_head_and_tail_and_says_so(channel: GuestChannel) -> None:
    result = channel.exec(["seq", "1", "1000000"], max_output_bytes=2000, deadline=soon())
    assert result.truncated and result.ok
    assert result.stdout.startswith(b"1\n2\n3\n") and result.stdout.endswith(b"999999\n1000000\n")
    lost = 6_888_896 - 2000
    assert f"\n[... {lost} bytes left out ...]\n".encode() in result.stdout
    assert len(result.stdout) == 2000 + len(f"\n[... {lost} bytes left out ...]\n")


def test_output_within_the_bound_is_whole(channel: GuestChannel) -> None:
    result = channel.exec(["seq", "1", "400"], max_output_bytes=1492, deadline=soon())
    assert result.stdout == b"".join(b"%d\n" % n for n in range(1, 401)) and not result.truncated


def test_an_endless_writer_is_bounded_and_ends_at_the_deadline(channel: GuestChannel) -> None:
    result = channel.exec(["yes"], max_output_bytes=10_000, deadline=Deadline.after(0.5))
    assert result.timed_out and result.truncated and len(result.stdout) < 11_000


def test_a_background_child_that_holds_the_pipe_does_not_hold_the_call(channel: GuestChannel) -> None:
    """L8: a background child that holds the pipe does not hang the call."""
    started = time.monotonic()
    result = channel.exec(["sh", "-c", "sleep 300 & echo started"], deadline=soon())
    assert result.stdout == b"started\n" and result.ok and time.monotonic() - started < 3
    assert channel.exec(["pgrep", "-x", "sleep"], deadline=soon()).ok  # it lives on, as init's child


def test_a_chatty_background_child_does_not_hold_the_call(channel: GuestChannel) -> None:
    """L8: nor does one that goes on writing."""
    started = time.monotonic()
    result = channel.exec(["sh", "-c", "yes & echo started"], deadline=soon())
    assert b"started\n" in result.stdout and time.monotonic() - started < 5
    channel.exec(["pkill", "-x", "yes"], deadline=soon())


def test_output_written_just_before_the_end_is_never_lost(channel: GuestChannel) -> None:
    for _ in range(50):
        result = channel.exec(["sh", "-c", "sleep 100 & head -c 60000 /dev/zero; kill $!"], deadline=soon())
        assert len(result.stdout) == 60000


def test_a_deadline_kills_everything_that_was_started(channel: GuestChannel) -> None:
    """L8: a time-out kills the process in the guest too, however it hides."""
    script = """
    sleep 1001 &
    setsid sleep 1002 &
    (setsid env -i sh -c 'sleep 1003 & exec setsid sleep 1004' &)
    python3 -c 'import os,time
    ' ; sh -c 'trap "" TERM HUP INT; sleep 1005' &
    sleep 1006
    """
    result = channel.exec(["bash", "-c", script], deadline=Deadline.after(1.0))
    assert result.timed_out and result.exit_code == 137 and not result.kill_incomplete
    left = channel.exec(["pgrep", "-fa", "sleep 100[0-9]"], deadline=soon())
    assert left.stdout == b"", left.stdout.decode()


def test_a_fork_bomb_is_ended_by_the_deadline(channel: GuestChannel) -> None:
    script = "ulimit -u 2000 2>/dev/null; b() { b & sleep 0.02; b; }; for i in 1 2 3 4; do (while :; do sleep 0.01 & done) & done; sleep 60"
    result = channel.exec(["bash", "-c", script], deadline=Deadline.after(1.0))
    assert result.timed_out and not result.kill_incomplete
    left = channel.exec(["sh", "-c", "ps ax | grep -c '[s]leep 0.01'"], deadline=soon())
    assert left.stdout == b"0\n"


def test_a_deadline_holds_when_our_own_part_was_stopped(channel: GuestChannel) -> None:
    script = "pkill -STOP ga-keeper; sleep 7001"
    result = channel.exec(["sh", "-c", script], deadline=Deadline.after(0.5))
    assert result.timed_out and not result.kill_incomplete
    assert channel.exec(["pgrep", "-f", "sleep 700[1]"], deadline=soon()).stdout == b""


def test_a_passed_deadline_starts_nothing(channel: GuestChannel, tmp_path: Path) -> None:
    with pytest.raises(DeadlineExceeded):
        channel.exec(["touch", str(tmp_path / "made")], deadline=Deadline.after(-1))
    assert not (tmp_path / "made").exists()


def test_output_is_passed_on_as_it_comes(channel: GuestChannel) -> None:
    seen: list[tuple[str, bytes, float]] = []
    started = time.monotonic()
    channel.exec(
        ["sh", "-c", "echo first; sleep 0.5; echo second >&2"],
        deadline=soon(),
        on_output=lambda stream, chunk: seen.append((stream, chunk, time.monotonic() - started)),
    )
    assert [(stream, chunk) for stream, chunk, _ in seen] == [("stdout", b"first\n"), ("stderr", b"second\n")]
    assert seen[0][2] < 0.4 < seen[1][2]


def test_an_error_of_the_callback_ends_the_command(channel: GuestChannel) -> None:
    def refuse(stream: str, chunk: bytes) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        channel.exec(["sh", "-c", "echo x; sleep 1234"], deadline=soon(), on_output=refuse)
    wait_until(
        lambda: not channel.exec(["pgrep", "-f", "sleep 123[4]"], deadline=soon()).ok,
        deadline=soon(),
        awaited="the end of the command",
    )


def test_a_slow_reader_slows_the_command_and_loses_nothing(channel: GuestChannel) -> None:
    total = 0

    def take(stream: str, chunk: bytes) -> None:
        nonlocal total
        total += len(chunk)
        if total % 7 == 0:
            time.sleep(0.001)

    size = 20_000_000
    result = channel.exec(
        ["head", "-c", str(size), "/dev/zero"], max_output_bytes=size, on_output=take, deadline=soon(60)
    )
    assert total == size and len(result.stdout) == size


def test_a_terminal_has_its_size_and_one_stream(channel: GuestChannel) -> None:
    job = channel.start(["sh", "-c", "tty; stty size; echo e >&2"], pty=True, window=(33, 111), deadline=soon())
    result = job.wait()
    lines = result.stdout.decode().split("\r\n")
    assert lines[0].startswith("/dev/pts/") and lines[1:] == ["33 111", "e", ""] and result.stderr == b""


def test_a_terminal_is_the_controlling_one_and_its_input_ends(channel: GuestChannel) -> None:
    result = channel.exec(["sh", "-c", "cat > /dev/tty; echo ended"], pty=True, stdin=b"typed\n", deadline=soon())
    assert result.ok and b"typed\r\n" in result.stdout and result.stdout.endswith(b"ended\r\n")
    assert channel.exec(["cat"], pty=True, deadline=soon()).ok


def test_a_window_can_change_while_the_command_runs(channel: GuestChannel) -> None:
    resized = threading.Event()

    def on_output(stream: str, chunk: bytes) -> None:
        if b"ready" in chunk and not resized.is_set():
            resized.set()
            job.resize(50, 120)

    script = 'trap "stty size; exit 0" WINCH; echo ready; while :; do sleep 0.05; done'
    job = channel.start(["bash", "-c", script], pty=True, on_output=on_output, deadline=soon())
    assert b"50 120" in job.wait().stdout


def test_a_running_command_can_be_signalled_and_cancelled(channel: GuestChannel) -> None:
    started = threading.Event()
    script = 'trap "echo usr1" USR1; echo up; while :; do sleep 0.02; done'
    job = channel.start(["bash", "-c", script], deadline=soon(), on_output=lambda _s, _c: started.set())

    def poke() -> None:
        started.wait(10)
        job.signal(signal.SIGUSR1)
        time.sleep(0.3)
        job.cancel()

    poker = threading.Thread(target=poke)
    poker.start()
    result = job.wait()
    poker.join()
    assert result.cancelled and not result.timed_out and result.stdout == b"up\nusr1\n"


def test_many_commands_run_at_once_over_one_connection(channel: GuestChannel) -> None:
    results: dict[int, bytes] = {}

    def run(number: int) -> None:
        results[number] = channel.exec(["sh", "-c", f"sleep 0.2; echo {number}"], deadline=soon()).stdout

    threads = [threading.Thread(target=run, args=(number,)) for number in range(40)]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {number: b"%d\n" % number for number in range(40)}
    assert time.monotonic() - started < 6


def test_more_commands_than_allowed_are_refused_not_lost(channel: GuestChannel) -> None:
    jobs = [channel.start(["sleep", "5"], deadline=soon()) for _ in range(256)]
    with pytest.raises(GuestCommandFailed, match="too many"):
        channel.exec(["true"], deadline=soon())
    for job in jobs:
        job.cancel()
    assert all(job.wait().cancelled for job in jobs)
    assert channel.exec(["true"], deadline=soon()).ok


def test_a_command_line_that_is_too_long_is_an_error(channel: GuestChannel) -> None:
    with pytest.raises(GuestCommandFailed, match="too long"):
        channel.exec(["true", "x" * 200_000], deadline=soon())
    with pytest.raises(GuestCommandFailed, match="too long"):
        channel.exec(["true", *["x" * 100_000] * 25], deadline=soon())
    assert channel.exec(["true", *["x" * 100_000] * 10], deadline=soon()).ok


def test_a_clean_world_has_no_descriptors_to_spare(channel: GuestChannel) -> None:
    """What a command inherits is its three streams and nothing else."""
    result = channel.exec(["ls", "/proc/self/fd"], deadline=soon())
    assert result.stdout.split() == [b"0", b"1", b"2", b"3"]  # 3 is ls's own


def test_a_conversation_with_a_terminal(channel: GuestChannel) -> None:
    heard: list[bytes] = []

    def answer(stream: str, chunk: bytes) -> None:
        heard.append(chunk)
        text = b"".join(heard)
        if text.endswith(b"name? "):
            job.write(b"Ada\n")
        elif b"hello Ada" in text and b"again? " in text and not text.endswith(b"\r\n"):
            job.end_input()

    script = 'printf "name? "; read n; echo "hello $n"; printf "again? "; read m || echo "no more"'
    job = channel.start(["sh", "-c", script], pty=True, interactive=True, on_output=answer, deadline=soon())
    result = job.wait()
    assert result.ok and result.stdout == b"name? Ada\r\nhello Ada\r\nagain? no more\r\n"


def test_input_from_another_thread_arrives_in_order(channel: GuestChannel) -> None:
    job = channel.start(["cat"], interactive=True, deadline=soon())

    def write() -> None:
        for number in range(500):
            job.write(b"%d\n" % number)
        job.end_input()

    writer = threading.Thread(target=write)
    writer.start()
    assert job.wait().stdout == b"".join(b"%d\n" % number for number in range(500))
    writer.join()
    with pytest.raises(StateError, match="interactive"):
        channel.start(["true"], deadline=soon()).write(b"x")
