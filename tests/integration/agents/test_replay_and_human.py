"""Agents without a model: what was done before, and a person."""

from __future__ import annotations

import json
import os
import pty
import queue
import re
import threading
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything._util.state_dir import Run
from gym_anything._util.waiting import wait_until
from gym_anything.agents.builtin.human.agent import HumanAgent
from gym_anything.agents.builtin.human.commands import DONE, HELP, read_command
from gym_anything.agents.builtin.human.terminal import terminal_of_ancestors
from gym_anything.agents.builtin.human.view import LiveView
from gym_anything.agents.builtin.replay import ReplayAgent
from gym_anything.errors import ActionError, AgentError, SettingInvalid
from tests.integration.agents.test_model_agents import played, say_json, steps
from tests.model_server import model_server

pytestmark = pytest.mark.real

SCREEN = (64, 48)


def test_what_a_model_did_is_done_again_without_it(tmp_path: Path) -> None:
    with model_server(
        say_json({"keyboard": {"text": "hel"}}), say_json({"keyboard": {"text": "lo"}}, done=True)
    ) as server:
        assert played(tmp_path / "first", "vision", server).outcome.status == "passed"
    (trajectory,) = (tmp_path / "first" / "run").rglob("traj.jsonl")
    record = played(tmp_path / "again", "replay", source=str(trajectory.parent))
    assert record.outcome.status == "passed"
    assert [s["actions"] for s in steps(tmp_path / "again")] == [s["actions"] for s in steps(tmp_path / "first")]


def test_a_solution_file_is_replayed_and_wrong_sources_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "steps.json"
    file.write_text('[{"keyboard": {"text": "hello"}}]')
    assert played(tmp_path / "a", "replay", source=str(file)).outcome.status == "passed"
    with pytest.raises(SettingInvalid, match="source=PATH"):
        ReplayAgent(agent_args={})
    with pytest.raises(SettingInvalid, match="no file"):
        ReplayAgent(agent_args={"source": str(tmp_path / "gone")})
    for text, words in (
        ("{", "no JSON"),
        ('{"event": "step", "actions": 5}', "no list"),
        ('{"event": "step", "actions": [{"mouse": {"left_click": [99, 0]}}]}', "cannot be done on this screen"),
    ):
        (tmp_path / "traj.jsonl").write_text(text + "\n")
        agent = ReplayAgent(agent_args={"source": str(tmp_path)})
        with pytest.raises(AgentError, match=words):
            agent.init("do it", SCREEN, str(tmp_path))


@pytest.mark.parametrize(
    ("line", "actions"),
    [
        ("click 5 6", [{"mouse": {"left_click": [5, 6]}}]),
        ("DOUBLE 5, 6", [{"mouse": {"double_click": [5, 6]}}]),
        ("drag 1 2 3 4", [{"mouse": {"left_click_drag": [[1, 2], [3, 4]]}}]),
        ("scroll -2", [{"mouse": {"scroll": -2}}]),
        ("scroll 3 10 20", [{"mouse": {"scroll": 3, "move": [10, 20]}}]),
        ("type  two  spaces\\n", [{"keyboard": {"text": " two  spaces\n"}}]),
        ("key ctrl+s", [{"keyboard": {"keys": ["ctrl+s"]}}]),
        ("wait 0.5", [{"action": "wait", "time": 0.5}]),
        ("look", [{"action": "screenshot"}]),
        ('{"keyboard": {"text": "x"}}', [{"keyboard": {"text": "x"}}]),
        ("done", DONE),
        ("", HELP),
    ],
)
def test_what_a_person_types(line: str, actions: Any) -> None:
    assert read_command(line, SCREEN) == actions


@pytest.mark.parametrize(
    "line", ["click", "click a b", "click 99 0", "fly", "key bogus", "wait long", "{", '{"mouse": 5}', "[5]"]
)
def test_what_a_person_types_wrong_is_told(line: str) -> None:
    with pytest.raises(ActionError):
        read_command(line, SCREEN)


class Screen:
    """A pseudo-terminal with somebody at it."""

    def __init__(self) -> None:
        self.master, self.slave = pty.openpty()
        self.path = os.ttyname(self.slave)
        self.seen = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while True:
            try:
                part = os.read(self.master, 4096)
            except OSError:
                return
            if not part:
                return
            self.seen += part.decode(errors="replace")

    def say(self, text: str) -> None:
        os.write(self.master, text.encode() + b"\n")

    def wait_for(self, words: str) -> None:
        wait_until(
            lambda: words in self.seen, deadline=Deadline.after(60), awaited=words, status=lambda: self.seen[-500:]
        )

    def close(self) -> None:
        os.close(self.slave)
        os.close(self.master)
        self._reader.join(5)


def test_a_person_plays_in_a_terminal(tmp_path: Path) -> None:
    terminal = Screen()
    records: list[Any] = []
    playing = threading.Thread(
        target=lambda: records.append(played(tmp_path, "human", mode="terminal", terminal=terminal.path))
    )
    playing.start()
    try:
        terminal.wait_for("Task: do it")
        terminal.wait_for("human_screen.png")
        terminal.say("click 99999 0")
        terminal.wait_for("outside")
        terminal.say("click 800 400")
        terminal.say("type hello")
        terminal.say("done")
        terminal.wait_for("verdict: passed")
        playing.join(60)
    finally:
        terminal.close()
    assert records[0].outcome.status == "passed"
    assert [s["actions"] for s in steps(tmp_path)][:2] == [
        [{"mouse": {"left_click": [800, 400]}}],
        [{"keyboard": {"text": "hello"}}],
    ]


def fetch(url: str, wish: Any = None) -> tuple[int, bytes]:
    data = None if wish is None else json.dumps(wish).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data), timeout=20) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def test_a_person_plays_in_the_live_view(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    records: list[Any] = []
    playing = threading.Thread(target=lambda: records.append(played(tmp_path, "human", mode="view")))
    playing.start()
    place = Run.current().path / "human_view.url"
    wait_until(place.is_file, deadline=Deadline.after(60), awaited="the page's address")
    url = wait_until(lambda: place.read_text().strip(), deadline=Deadline.after(10), awaited="the page's address")
    assert place.stat().st_mode & 0o777 == 0o600
    base, token = re.fullmatch(r"(http://127\.0\.0\.1:\d+)/\?token=(\S+)", url).groups()  # type: ignore[union-attr]

    def frame() -> int:
        return int(json.loads(fetch(f"{base}/state?token={token}")[1])["frame"])

    wait_until(lambda: frame() == 1, deadline=Deadline.after(30), awaited="the first frame")
    status, page = fetch(url)
    assert status == 200 and b"do it" in page and b"I am done" in page
    assert fetch(f"{base}/screen.png?token={token}")[1][:4] == b"\x89PNG"
    assert fetch(f"{base}/?token=wrong")[0] == fetch(f"{base}/state")[0] == 403
    act = f"{base}/act?token={token}"
    assert fetch(act, [{"mouse": {"left_click": [99999, 0]}}])[0] == 400
    assert fetch(act, [{"keyboard": {"text": "hello"}}])[0] == 200
    wait_until(lambda: frame() == 2, deadline=Deadline.after(30), awaited="the second frame")
    assert fetch(act, "done")[0] == 200
    playing.join(60)
    assert records[0].outcome.status == "passed"
    written = "".join(f.read_text(errors="replace") for f in (tmp_path / "run").rglob("*.json*"))
    assert token not in written and token not in "".join(capfd.readouterr())
    assert not place.exists()


def test_the_live_view_ends_and_takes_nothing_large() -> None:
    wishes: queue.SimpleQueue[Any] = queue.SimpleQueue()
    view = LiveView("<b>a & b</b>", SCREEN, wishes)
    try:
        assert b"&lt;b&gt;a &amp; b" in fetch(view.url)[1]
        act = view.url.replace("/?", "/act?")
        assert fetch(act, [{"keyboard": {"text": "x" * 70_000}}])[0] == 400
        assert fetch(view.url.replace("/?", "/etc/passwd?"))[0] == 404
        assert wishes.empty()
    finally:
        view.close()


def test_without_a_terminal_only_the_view_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gym_anything.agents.builtin.human.agent.terminal_of_ancestors", lambda: None)
    with pytest.raises(SettingInvalid, match="mode=view"):
        HumanAgent(agent_args={"mode": "terminal"})
    HumanAgent(agent_args={})
    with pytest.raises(SettingInvalid, match="both, terminal, view"):
        HumanAgent(agent_args={"mode": "telepathy"})


def test_the_terminal_of_an_ancestor_is_found_by_a_process_without_one() -> None:
    """A child in a session of its own still finds the terminal that its parent has."""
    read_end, write_end = os.pipe()
    pid, master = pty.fork()
    if pid == 0:  # has the new terminal; its child has none
        if os.fork() == 0:
            os.setsid()
            os.write(write_end, str(terminal_of_ancestors()).encode())
            os._exit(0)
        os.wait()
        os._exit(0)
    try:
        os.close(write_end)
        found = os.read(read_end, 200).decode()
        assert found == os.ptsname(master) if hasattr(os, "ptsname") else found.startswith("/dev/pts/")
    finally:
        os.waitpid(pid, 0)
        os.close(master)
        os.close(read_end)
