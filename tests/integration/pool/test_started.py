"""A pool in a process of its own: started, asked, drained, stopped, killed, from the command line."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from gym_anything._util import labels, orphans
from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.errors import StateError, Unauthorized, VersionSkew
from gym_anything.pool.started import wire
from gym_anything.pool.started.asking import Asking, ask
from gym_anything.pool.started.folder import NoSuchPool, PoolEntry, PoolFolder, find_pool, find_pools

pytestmark = pytest.mark.real

SOON = 30.0


def call(*words: str, code: int = 0) -> str:
    """Call the command line in a process; return what it printed."""
    argv = [sys.executable, "-m", "gym_anything.cli.main", *words]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done.stdout if code == 0 else done.stderr


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A state folder of its own; whatever a failed test left in it is killed."""
    root = tmp_path / "state"
    monkeypatch.setenv("GYM_ANYTHING_STATE_DIR", str(root))
    monkeypatch.delenv(labels.ENV_NAME, raising=False)
    yield root
    for entry in find_pools():
        os.kill(entry.pid, signal.SIGKILL)
        wait_until(entry.owner.is_dead, deadline=Deadline.after(SOON), awaited="the end of a pool")
    orphans.collect(root)


def start(*words: str) -> PoolEntry:
    call("pool", "start", "--simulated", "--step-s", "0.01", *words)
    return find_pool(None)


def folders(root: Path) -> list[str]:
    return sorted(path.name for path in root.iterdir() if path.is_dir())


def test_a_pool_outlives_who_started_it_and_tells_of_itself(state: Path) -> None:
    entry = start("-n", "3", "--metrics-port", "0")
    status = json.loads(call("pool", "status", "--json"))["pools"][0]
    assert status["phase"] == "ready" and status["counts"] == {"idle": 3} and status["pid"] == entry.pid
    assert [one["reason"] for one in status["replicas"]] == ["created"] * 3
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(entry.facts["metrics_url"], timeout=10)
    token = Path(entry.facts["metrics_token_file"])
    assert token.stat().st_mode & 0o77 == 0
    request = urllib.request.Request(
        entry.facts["metrics_url"], headers={"Authorization": f"Bearer {token.read_text()}"}
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        assert b'gym_anything_replicas{state="idle"} 3.0' in answer.read()
    lines = [json.loads(line) for line in call("pool", "transitions", "--json").splitlines()]
    assert len(lines) == 9 and lines[-1]["after"] == "idle" and lines[0]["reason"] == "the pool wants it"
    assert "3 idle" in call("pool", "status")
    logged = [json.loads(line) for line in Path(entry.facts["log"]).read_text().splitlines()]
    assert {line["replica"] for line in logged} == {1, 2, 3}
    assert "is taken" not in call("pool", "stop") and find_pools() == []
    assert entry.owner.is_dead() and folders(state) == ["logs"], "nothing but its log is left"


def test_a_name_is_one_pools_and_wrong_use_says_so(state: Path) -> None:
    start("--name", "mine")
    assert "runs already" in call("pool", "start", "--simulated", "--name", "mine", code=2)
    with pytest.raises(StateError, match="runs already"):
        PoolFolder.claim("mine", {})
    assert "cannot be named" in call("pool", "start", "--simulated", "--name", "../x", code=2)
    assert "--simulated" in call("pool", "start", code=2)
    assert "there are: mine" in call("pool", "stop", "other", code=2)
    with pytest.raises(NoSuchPool, match="mine"):
        find_pool("other")
    call("pool", "stop", "--all")
    assert "no pool runs here" in call("pool", "stop", code=2)


def test_what_is_borrowed_is_drained_and_ends_with_its_connection(state: Path) -> None:
    entry = start("-n", "2")
    with Asking(entry) as asking:
        lease = asking.ask("acquire", within_s=SOON)["lease"]
        assert asking.ask("perform", lease=lease, operation="step", argument=7, within_s=SOON)["step"] == 7
        assert asking.ask("perform", lease=lease, operation="evaluate", within_s=SOON)["applied"] == [7]
        with Asking(entry) as stranger, pytest.raises(StateError, match="not of this connection"):
            stranger.ask("perform", lease=lease, operation="step", argument=8)
        call("pool", "drain", "--no-wait")
        assert ask(entry, "status")["phase"] == "draining"
        with pytest.raises(StateError, match="drains"):
            asking.ask("acquire", within_s=SOON)
        assert asking.ask("perform", lease=lease, operation="step", argument=9, within_s=SOON)["step"] == 9
    wait_until(entry.owner.is_dead, deadline=Deadline.after(SOON), awaited="the end of the drained pool")
    assert folders(state) == ["logs"]


def test_a_killed_pool_is_found_no_more_and_collected(state: Path) -> None:
    entry = start()
    os.kill(entry.pid, signal.SIGKILL)
    wait_until(entry.owner.is_dead, deadline=Deadline.after(SOON), awaited="the end of the pool")
    assert find_pools() == [] and len(folders(state)) == 2
    orphans.collect(state)
    assert folders(state) == ["logs"]
    start()
    call("pool", "stop", "--now")
    assert folders(state) == ["logs"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_pool_in_the_foreground_ends_by_a_signal(state: Path, number: signal.Signals) -> None:
    argv = [sys.executable, "-m", "gym_anything.cli.main", "pool", "start", "--simulated", "--foreground"]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    said: list[str] = []
    for line in process.stdout:
        said.append(line)
        if "is ready" in line:
            process.send_signal(number)
            break
    said.append(process.communicate(timeout=SOON)[0])
    assert process.returncode == 0 and "has ended" in said[-1], said
    assert folders(state) == ["logs"]


def greeted(entry: PoolEntry, hello: Any) -> Any:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(SOON)
        sock.connect(str(entry.socket))
        sock.sendall(wire.encode(hello))
        return wire.receive(sock)["error"]["code"]


def test_only_who_knows_the_token_is_listened_to(state: Path) -> None:
    entry = start()
    assert entry.path.stat().st_mode & 0o77 == entry.socket.stat().st_mode & 0o77 == 0
    for hello in ({"token": "wrong", "version": wire.VERSION}, {}, [], None, {"token": 1}):
        assert greeted(entry, hello) == Unauthorized.code
    assert greeted(entry, {"token": entry.token, "version": 99}) == VersionSkew.code
    assert greeted(entry, "x" * 5000) == "bad-wire"
    with Asking(entry) as asking:
        with pytest.raises(ValueError, match="nobody can ask"):
            asking.ask("everything")
        with pytest.raises(ValueError, match="perform"):
            lease = asking.ask("acquire", within_s=SOON)["lease"]
            asking.ask("perform", lease=lease, within_s=SOON)
    assert ask(entry, "status")["phase"] == "ready", "the pool bears all of that"
    call("pool", "stop")


def test_a_start_that_fails_says_why_and_leaves_nothing(state: Path) -> None:
    taken: Sequence[Any]
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        sock.listen()
        taken = sock.getsockname()
        said = call("pool", "start", "--simulated", "--metrics-port", str(taken[1]), code=1)
    assert f"port {taken[1]}" in said and find_pools() == [] and folders(state) == ["logs"]


def test_top_shows_pools_and_their_replicas(state: Path) -> None:
    entry = start("-n", "2", "--name", "shown")
    found = json.loads(call("top", "--json"))
    (pool,) = found["pools"]
    assert (pool["name"], pool["pid"], len(pool["replicas"])) == ("shown", entry.pid, 2)
    assert all(one["cores"] is not None for one in found["worlds"])
    text = call("top")
    assert "shown" in text and "created" in text
    call("pool", "stop")
    assert "No pool runs here" in call("top", "--once")
