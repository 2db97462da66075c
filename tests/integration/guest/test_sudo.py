from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.runtime.guest.channel import GuestChannel
from gym_anything.runtime.guest.exec_result import ExecResult
from tests.integration.guest.conftest import StartWorld
from tests.integration.guest.world import World, soon

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("as_root")]


@pytest.fixture
def sudo(channel: GuestChannel):  # type: ignore[no-untyped-def]
    """Run a shell line as the desktop user."""

    def run(
        line: str, *, user: str = "ga", stdin: bytes = b"", pty: bool = False, env: dict[str, str] | None = None
    ) -> ExecResult:
        return channel.exec(["bash", "-c", line], user=user, stdin=stdin, pty=pty, env=env, deadline=soon())

    return run


def test_a_command_runs_as_root(sudo) -> None:  # type: ignore[no-untyped-def]
    result = sudo("sudo id -u; id -u")
    assert result.stdout == b"0\n1000\n" and result.stderr == b""


def test_exit_status_and_signals_come_back(sudo) -> None:  # type: ignore[no-untyped-def]
    assert sudo("sudo sh -c 'exit 42'").exit_code == 42
    assert sudo("sudo sh -c 'kill -TERM $$'").exit_code == 128 + signal.SIGTERM


def test_arguments_and_streams_pass_exactly(sudo) -> None:  # type: ignore[no-untyped-def]
    """T1: text is data."""
    result = sudo("""sudo printf '%s|' '' 'a b' '"; rm -rf' '$HOME' -- --help 'é\n日'""")
    assert result.stdout.decode() == '|a b|"; rm -rf|$HOME|--|--help|é\n日|'
    data = os.urandom(2_000_000)
    assert sudo("sudo cat | sudo cat", stdin=data).stdout == data
    assert sudo("sudo sh -c 'echo oops >&2; echo fine' 2>/dev/null").stdout == b"fine\n"


def test_the_folder_is_kept_and_can_be_chosen(sudo, world: World) -> None:  # type: ignore[no-untyped-def]
    assert sudo("cd /usr/lib && sudo pwd").stdout == b"/usr/lib\n"
    assert sudo("sudo -D /etc pwd").stdout == b"/etc\n"


def test_the_environment_is_reset_as_sudo_does(sudo, world: World) -> None:  # type: ignore[no-untyped-def]
    env = {"DISPLAY": ":1", "SECRET": "x", "LC_ALL": "C", "TERM": "xterm", "HOME": str(world.home)}
    lines = sudo("sudo env", env=env).stdout.decode().splitlines()
    found = dict(line.split("=", 1) for line in lines)
    assert found["DISPLAY"] == ":1" and found["LC_ALL"] == "C" and found["TERM"] == "xterm"
    assert "SECRET" not in found and "BASE" not in found
    assert (found["HOME"], found["USER"], found["LOGNAME"], found["SHELL"]) == ("/root", "root", "root", "/bin/bash")
    assert found["PATH"] == f"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:{world.folder / 'bin'}"
    assert (found["SUDO_USER"], found["SUDO_UID"], found["SUDO_GID"]) == ("ga", "1000", "1000")
    assert found["SUDO_COMMAND"] == "env"


def test_the_environment_can_be_kept_and_extended(sudo, world: World) -> None:  # type: ignore[no-untyped-def]
    env = {"KEPT": "1", "ALSO": "2", "HOME": str(world.home)}
    show = "sh -c 'echo $KEPT,$ALSO,$HOME,$NEW'"
    assert sudo(f"sudo -E {show}", env=env).stdout.decode() == f"1,2,{world.home},\n"
    assert sudo(f"sudo -EH {show}", env=env).stdout == b"1,2,/root,\n"
    assert sudo(f"sudo --preserve-env=ALSO {show}", env=env).stdout == b",2,/root,\n"
    assert sudo(f"sudo NEW=given KEPT=other {show}", env=env).stdout == b"other,,/root,given\n"


def test_another_user_or_group_can_be_chosen(sudo) -> None:  # type: ignore[no-untyped-def]
    assert sudo("sudo -u other sh -c 'id -un; id -gn; echo $HOME'").stdout == b"other\nother\n/nonexistent\n"
    assert sudo("sudo --user=ga id -un").stdout == b"ga\n"
    assert sudo("sudo -u '#1001' id -u").stdout == b"1001\n"
    assert sudo("sudo -g video sh -c 'id -un; id -gn'").stdout == b"ga\nvideo\n"
    assert sudo("sudo -u ga whoami", user="root").stdout == b"ga\n"


def test_a_command_that_sudo_runs_may_call_sudo_again(sudo) -> None:  # type: ignore[no-untyped-def]
    assert sudo("sudo sudo -u ga sudo id -un").stdout == b"root\n"


def test_login_and_plain_shells(sudo, world: World) -> None:  # type: ignore[no-untyped-def]
    assert sudo("cd /tmp; sudo -i pwd").stdout == b"/root\n"
    assert sudo("sudo -iu ga pwd").stdout.decode() == f"{world.home}\n"
    assert sudo("sudo -s echo 'a  b' '$HOME' ';' '*'", env={"SHELL": "/bin/sh"}).stdout == b"a  b /root ; *\n"
    assert sudo("echo 'shopt -q login_shell && echo login; id -u' | sudo -i").stdout == b"login\n0\n"
    assert sudo("echo 'id -u' | sudo -s").stdout == b"0\n"


def test_flags_without_a_password_to_ask_for_change_nothing(sudo) -> None:  # type: ignore[no-untyped-def]
    assert sudo("echo password123 | sudo -S id -u").stdout == b"0\n"
    assert sudo("sudo -n -k -A -p 'Pass: ' -- id -u").stdout == b"0\n"
    assert sudo("sudo -v && sudo -k && sudo -K && echo fine").stdout == b"fine\n"
    assert b"(ALL : ALL) NOPASSWD: ALL" in sudo("sudo -l").stdout
    assert sudo("sudo -nEHu root id -u").stdout == b"0\n"
    assert sudo("sudo --non-interactive --set-home --user root -- id -u").stdout == b"0\n"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("sudo --frobnicate ls", "option '--frobnicate' is not known"),
        ("sudo -Q ls", "option '-Q' is not known"),
        ("sudo -nQ ls", "option '-Q' is not known"),
        ("sudo -u", "needs a value"),
        ("sudo", "usage: sudo"),
        ("sudo A=b", "usage: sudo"),
        ("sudo -i -s", "may not specify both"),
        ("sudo -u nobody-here ls", "unknown user nobody-here"),
        ("sudo -g nogroup-here ls", "unknown group nogroup-here"),
        ("sudo no-such-command x", "sudo: no-such-command: command not found"),
        ("sudo -D /no/such ls", "cannot enter the folder '/no/such'"),
        ("GA_SUDO_SOCKET=/no/such sudo ls", "cannot reach the root service"),
    ],
)
def test_mistakes_are_told_clearly(sudo, line: str, words: str) -> None:  # type: ignore[no-untyped-def]
    result = sudo(line)
    assert result.exit_code == 1 and result.stdout == b"" and words in result.stderr.decode()


def test_a_user_without_leave_is_refused(sudo, world: World) -> None:  # type: ignore[no-untyped-def]
    result = sudo("sudo id", user="other")
    assert result.exit_code == 1 and b"may not run commands as another user" in result.stderr
    assert result.stdout == b""


def test_the_root_service_takes_nothing_but_commands(world: World, channel: GuestChannel) -> None:
    """The socket that all users can reach does not serve the host's protocol."""
    script = f"""
import socket, struct
for code in (1, 16, 21, 41, 42, 60):
    s = socket.socket(socket.AF_UNIX); s.connect({str(world.folder / "root.sock")!r})
    s.sendall(struct.pack("<IIHH", 0, 1, code, 0)); s.settimeout(10)
    print(b"malformed" in s.recv(4096))
    s.close()
s = socket.socket(socket.AF_UNIX); s.connect({str(world.folder / "root.sock")!r})
payload = struct.pack("<IQQHH", 0, 0, 0, 0, 0) + struct.pack("<I", 0) * 2 + struct.pack("<II", 1, 2) + b"id" + struct.pack("<I", 0)
s.sendall(struct.pack("<IIHH", len(payload), 1, 20, 0) + payload); s.settimeout(10)
print(b"malformed" in s.recv(4096))
"""
    result = channel.exec(["python3", "-c", script], user="ga", deadline=soon())
    assert result.stdout.split() == [b"True"] * 7, result.stderr


def test_a_terminal_is_passed_on(sudo) -> None:  # type: ignore[no-untyped-def]
    result = sudo("stty rows 41 cols 133; sudo sh -c 'tty; stty size; echo to-tty > /dev/tty'", pty=True)
    lines = result.stdout.decode().split("\r\n")
    assert lines[0].startswith("/dev/pts/") and lines[1:3] == ["41 133", "to-tty"]


def test_what_is_typed_reaches_the_command(channel: GuestChannel) -> None:
    typed = b"hello\n"
    result = channel.exec(["sudo", "head", "-n1"], user="ga", pty=True, stdin=typed, deadline=soon())
    # The command's own line and the echo of its terminal; ours echoes too unless sudo came first.
    assert result.ok and result.stdout in (b"hello\r\n" * 2, b"hello\r\n" * 3)


def test_a_command_that_closes_its_terminal_before_it_ends_is_not_hung_up_on(channel: GuestChannel) -> None:
    script = "exec <&- >&- 2>&-; sleep 0.2; exit 7"
    result = channel.exec(["sudo", "bash", "-c", script], user="ga", pty=True, deadline=soon())
    assert result.exit_code == 7


def test_a_key_in_the_terminal_interrupts_the_command(channel: GuestChannel) -> None:
    script = """
import os, pty, sys
pid, master = pty.fork()
if pid == 0:
    os.execvp("sudo", ["sudo", "bash", "-c", "trap 'echo interrupted; exit 5' INT; echo ready; while :; do read x; done"])
seen = b""
while b"ready" not in seen:
    seen += os.read(master, 4096)
os.write(master, b"\\x03")
while b"interrupted" not in seen:
    seen += os.read(master, 4096)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    result = channel.exec(["python3", "-c", script], user="ga", deadline=soon())
    assert result.stdout == b"5\n", result.stderr


def test_a_pipeline_in_a_terminal_mixes_pipes_and_terminal(sudo) -> None:  # type: ignore[no-untyped-def]
    result = sudo("echo data | sudo sh -c 'cat; test -t 1 && echo tty-out; test -t 0 || echo pipe-in'", pty=True)
    assert result.stdout == b"data\r\ntty-out\r\npipe-in\r\n"


def test_the_terminal_is_restored(sudo) -> None:  # type: ignore[no-untyped-def]
    result = sudo(
        'before=$(stty -g); sudo true; sudo sh -c \'stty raw -echo\'; test "$before" = "$(stty -g)" && echo same',
        pty=True,
    )
    assert result.stdout == b"same\r\n"


def test_signals_are_forwarded(channel: GuestChannel) -> None:
    ready = threading.Event()
    script = "sudo bash -c 'trap \"echo got-usr1; exit 9\" USR1; echo ready; while :; do sleep 0.05; done'"
    job = channel.start(
        ["bash", "-c", f"exec {script}"], user="ga", deadline=soon(), on_output=lambda _s, _c: ready.set()
    )

    def poke() -> None:
        ready.wait(10)
        job.signal(signal.SIGUSR1)

    thread = threading.Thread(target=poke)
    thread.start()
    result = job.wait()
    thread.join()
    assert result.exit_code == 9 and b"got-usr1" in result.stdout


def _left(channel: GuestChannel, pattern: str) -> bytes:
    return channel.exec(["pgrep", "-fa", pattern], deadline=soon()).stdout


def test_a_deadline_reaches_what_sudo_started(channel: GuestChannel) -> None:
    """L8: also when the command went through sudo into another part of the process tree."""
    script = "sudo sh -c 'sleep 4001 & setsid sleep 4002 & sleep 4003'"
    result = channel.exec(["bash", "-c", script], user="ga", deadline=Deadline.after(0.6))
    assert result.timed_out
    wait_until(
        lambda: _left(channel, "sleep 400[0-9]") == b"",
        deadline=soon(),
        awaited="the end of sudo's commands",
        status=lambda: _left(channel, "sleep 400[0-9]").decode(),
    )


def test_a_background_service_outlives_its_sudo(channel: GuestChannel, sudo) -> None:  # type: ignore[no-untyped-def]
    started = time.monotonic()
    assert sudo("sudo sh -c 'sleep 5001 & echo started'").stdout == b"started\n"
    assert sudo("sudo -b sleep 5002 >/dev/null 2>&1; echo back").stdout == b"back\n"
    assert time.monotonic() - started < 5
    wait_until(
        lambda: {line.split()[-1] for line in _left(channel, "^sleep 500[12]").splitlines()} == {b"5001", b"5002"},
        deadline=soon(),
        awaited="both services",
    )


def test_a_large_environment_and_many_at_once(channel: GuestChannel, sudo) -> None:  # type: ignore[no-untyped-def]
    big = {f"LC_{n}": "x" * 1000 for n in range(200)}
    assert sudo("sudo sh -c 'echo ${#LC_199}'", env=big).stdout == b"1000\n"
    result = sudo('for i in $(seq 30); do sudo sh -c "sleep 0.1; echo $i" & done; wait')
    assert sorted(map(int, result.stdout.split())) == list(range(1, 31))


def test_many_sudos_do_not_lock_the_host_out(world: World, channel: GuestChannel, sudo) -> None:  # type: ignore[no-untyped-def]
    job = channel.start(
        ["bash", "-c", "for i in $(seq 150); do sudo sleep 100 & done; wait"], user="ga", deadline=soon(60)
    )
    count = ["pgrep", "-c", "-x", "sleep"]
    wait_until(
        lambda: channel.exec(count, deadline=soon()).stdout == b"150\n", deadline=soon(50), awaited="150 commands"
    )
    with world.connect() as another:
        assert another.exec(["true"], deadline=soon()).ok
    assert sudo("sudo echo fine").stdout == b"fine\n"
    threading.Timer(0.1, job.cancel).start()
    assert job.wait().cancelled
    wait_until(
        lambda: channel.exec(count, deadline=soon()).stdout == b"0\n", deadline=soon(30), awaited="the end of them"
    )


def test_without_a_sudo_uid_only_root_may(start_world: StartWorld, program: object) -> None:
    world = start_world()
    with world.connect() as channel:
        assert channel.exec(["sudo", "id", "-u"], user="0", deadline=soon()).stdout == b"0\n"
        assert not channel.exec(["sudo", "id", "-u"], user="4242", deadline=soon()).ok
