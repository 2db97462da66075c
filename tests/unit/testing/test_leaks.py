"""The leak check finds each kind of thing left behind, and nothing where nothing was left."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from gym_anything.testing.leaks import LeakCheck, LeakFound

pytestmark = pytest.mark.real


def without_others(left: dict[str, list[str]]) -> set[str]:
    """Return the kinds of what is left, without what others on this host make and nobody has open at times."""
    return set(left) - {"shared memory"}


def left_by(act, undo) -> dict[str, list[str]]:
    """Return what the check says of ``act``, and undo it."""
    check = LeakCheck(grace_s=0.2)
    check.begin()
    thing = act()
    try:
        check.end()
    except LeakFound as leak:
        return leak.left
    finally:
        undo(thing)
    return {}


def test_nothing_left_is_no_leak():
    with LeakCheck():
        Path(tempfile.mkdtemp()).rmdir()
        threading.Thread(target=lambda: None).start()


def test_what_ends_within_the_grace_period_is_no_leak():
    done = threading.Event()
    timer = threading.Timer(0.3, done.set)
    with LeakCheck(grace_s=5):
        timer.start()
    assert done.is_set()


def test_a_process_left_is_found():
    left = left_by(
        lambda: subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(60)"]),
        lambda child: (child.kill(), child.wait()),
    )
    assert without_others(left) == {"processes"}
    assert "time.sleep(60)" in left["processes"][0]


def test_a_zombie_left_is_found():
    def act():
        child = subprocess.Popen([sys.executable, "-S", "-c", ""])
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        return child

    left = left_by(act, lambda child: child.wait())
    assert "zombie" in left["processes"][0]


def test_an_orphan_that_carries_our_label_is_found():
    from gym_anything._util.labels import Label, Owner

    env = {**os.environ, **Label("rtest", "wtest", Owner.current()).as_env()}

    def act() -> int:
        code = "import os,sys,time\npid=os.fork()\nif pid: print(pid); sys.exit()\nos.setsid(); os.close(1); time.sleep(60)"
        made = subprocess.run(
            [sys.executable, "-S", "-c", code], env=env, stdout=subprocess.PIPE, check=True, timeout=20
        )
        return int(made.stdout)

    left = left_by(act, lambda pid: os.kill(pid, 9))
    assert without_others(left) == {"processes"}


def test_a_descriptor_left_is_found():
    left = left_by(lambda: os.open("/dev/null", os.O_RDONLY), os.close)
    assert without_others(left) == {"fds"}
    assert "/dev/null" in left["fds"][0]


def test_a_thread_left_is_found():
    stop = threading.Event()

    def act():
        thread = threading.Thread(target=stop.wait, name="forgotten")
        thread.start()
        return thread

    left = left_by(act, lambda thread: (stop.set(), thread.join()))
    assert without_others(left) == {"threads"}
    assert "forgotten" in left["threads"][0]


def test_a_listening_port_left_is_found():
    def act():
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        return listener

    left = left_by(act, lambda listener: listener.close())
    assert without_others(left) == {"ports", "fds"}


def test_a_temporary_file_left_is_found():
    left = left_by(lambda: tempfile.mkstemp(prefix="forgotten-"), lambda made: os.close(made[0]))
    assert "forgotten-" in left["temporary files"][0]


def test_shared_memory_left_is_found():
    path = Path("/dev/shm") / f"ga-leak-test-{os.getpid()}"
    left = left_by(lambda: path.write_bytes(b"x"), lambda _: path.unlink())
    assert left == {"shared memory": [path.name]}


def test_a_further_probe_is_asked():
    containers = {"old"}
    check = LeakCheck(grace_s=0.1, extra={"containers": lambda: set(containers)})
    check.begin()
    containers.add("new")
    with pytest.raises(LeakFound, match="containers: new"):
        check.end()


def test_the_temporary_folder_is_given_back(monkeypatch):
    before = tempfile.gettempdir(), os.environ.get("TMPDIR")
    check = LeakCheck()
    check.begin()
    assert tempfile.gettempdir() != before[0]
    check.end()
    assert (tempfile.gettempdir(), os.environ.get("TMPDIR")) == before


def test_the_fixture_passes_a_clean_test(no_leaks):
    assert no_leaks.left() == {}
