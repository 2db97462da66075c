"""``cache list``, ``purge`` and ``gc``, on real left-overs of a real ``kill -9``."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gym_anything._util import labels, proc
from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.cli.main import run_command_line
from gym_anything.doctor import caches
from gym_anything.errors import SpecNotFound
from gym_anything.runtime.checkpoints.store import CheckpointStore
from gym_anything.runtime.runners.registry import register_runner, unregister_runner
from gym_anything.testing.fakes.world import FakeWorld

pytestmark = pytest.mark.real


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("GYM_ANYTHING_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.delenv("GYM_ANYTHING_LOCAL_CHECKPOINT_DIR", raising=False)


class Keeper(FakeWorld):
    rows: list[dict[str, Any]] = []

    @classmethod
    def cache_components(cls) -> list[dict[str, Any]]:
        return cls.rows


@pytest.fixture
def keeper(tmp_path: Path) -> Iterator[type[Keeper]]:
    files, store = tmp_path / "kept" / "files", tmp_path / "kept" / "store"
    (files / "image").mkdir(parents=True)
    (files / "image" / "disk").write_bytes(b"x" * 100_000)
    Keeper.rows = [
        {"name": "keeper-images", "category": "images", "paths": [str(files)], "desc": "images"},
        {"name": "keeper-checkpoints", "category": "checkpoints", "paths": [str(store)], "desc": "checkpoints"},
    ]
    register_runner("keeper", Keeper)
    yield Keeper
    unregister_runner("keeper")


def call(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, Any]:
    code = run_command_line(["cache", *argv, "--json"])
    out = capsys.readouterr().out
    return code, json.loads(out) if out else None


def test_list_has_cores_and_every_runners_caches_with_their_sizes(
    keeper: type[Keeper], capsys: pytest.CaptureFixture[str]
) -> None:
    code, document = call(capsys, "list")
    rows = {row["name"]: row for row in document["components"]}
    assert code == 0 and {"native", "keeper-images", "keeper-checkpoints"} <= set(rows)
    assert rows["keeper-images"]["owner"] == "keeper"
    assert 100_000 <= rows["keeper-images"]["size_bytes"] < 200_000
    assert [entry["key"] for entry in rows["keeper-images"]["entries"]] == ["image"]
    assert run_command_line(["cache", "list", "--entries"]) == 0
    assert "keeper-images" in capsys.readouterr().out


def test_a_runner_that_describes_nonsense_spoils_no_listing_and_endangers_nothing(
    keeper: type[Keeper], capsys: pytest.CaptureFixture[str]
) -> None:
    """N3: a path that holds the home folder or the working directory is no cache."""
    for nonsense in ({"paths": []}, {"name": "a", "paths": ["/"]}, {"name": "b", "paths": [str(Path.home())]}, 7):
        keeper.rows = [nonsense]  # type: ignore[list-item]
        code, document = call(capsys, "list")
        assert code == 0
        assert {row["name"] for row in document["components"]} >= {"native"}
        assert any("keeper" in problem for problem in document["problems"])
        call(capsys, "purge", "--all", "--dry-run")
    assert Path.home().exists()


def test_prepared_images_are_a_cache_of_their_own(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Who purges what can be built again keeps what was downloaded, and each image can go by itself."""
    monkeypatch.setenv("GYM_ANYTHING_IMAGE_DIR", str(tmp_path / "images"))
    for name in ("debian-desktop-1", "prepared/windows-2", "prepared/android-3"):
        (tmp_path / "images" / name).mkdir(parents=True)
        (tmp_path / "images" / name / "disk").write_bytes(b"x" * 10_000)
    (tmp_path / "images" / "prepared" / ".pin.lock").touch()
    _, document = call(capsys, "list")
    keys = {row["name"]: sorted(entry["key"] for entry in row["entries"]) for row in document["components"]}
    assert keys["images"] == ["debian-desktop-1"]
    assert keys["prepared-images"] == ["android-3", "windows-2"]
    assert call(capsys, "purge", "images")[0] == 0
    assert (tmp_path / "images" / "prepared" / "windows-2" / "disk").exists()
    _, document = call(capsys, "purge", "prepared-images")
    assert sorted(row["key"] for row in document["removed"]) == ["android-3", "windows-2"]
    assert [path.name for path in (tmp_path / "images" / "prepared").iterdir()] == [".pin.lock"]


def test_purge_asks_for_names_and_knows_them(keeper: type[Keeper], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["cache", "purge"]) == 2
    assert run_command_line(["cache", "purge", "keeper", "--all"]) == 2
    with pytest.raises(SpecNotFound, match="keeper-images"):
        caches.choose(caches.components()[0], ["keeper-image"])
    assert run_command_line(["cache", "purge", "nope", "--yes"]) != 0
    assert "keeper-images" in capsys.readouterr().err


def test_purge_removes_what_was_named_and_nothing_in_a_dry_run(
    keeper: type[Keeper], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, document = call(capsys, "purge", "keeper-images", "--dry-run")
    assert code == 0 and [row["key"] for row in document["removed"]] == ["image"]
    assert (tmp_path / "kept" / "files" / "image" / "disk").exists()
    _, document = call(capsys, "purge", "keeper-images", "--older-than", "1")
    assert document["removed"] == []
    code, document = call(capsys, "purge", "keeper-images")
    assert code == 0 and document["removed_bytes"] >= 100_000
    assert list((tmp_path / "kept" / "files").iterdir()) == []


def test_purge_removes_checkpoints_children_first_and_spares_the_files_of_a_running_world(
    keeper: type[Keeper], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """K4."""
    store = CheckpointStore(tmp_path / "kept" / "store")

    def fill(folder: Path) -> None:
        (folder / "data").write_text("x")

    store.publish("parent", {"parents": []}, fill)
    child = store.publish("child", {"parents": ["parent"]}, fill)
    lease = store.lease(child)
    _, document = call(capsys, "purge", "keeper")
    assert {row["key"] for row in document["removed"]} == {"image", "child", "parent"}
    assert store.all() == []
    assert len(list((tmp_path / "kept" / "store").rglob("data"))) == 2
    lease.release()
    call(capsys, "gc")
    assert list((tmp_path / "kept" / "store").rglob("data")) == []


KILLED = """
import os, socket, sys
from gym_anything._util.supervisor import Supervisor
from gym_anything._util.state_dir import Run
world = Run.current().new_world("test")
supervisor = Supervisor.shared()
sock = socket.socket(socket.AF_UNIX)
sock.bind(str(world.socket_path("s" * 40)))
supervisor.spawn(["sleep", sys.argv[1]], name="t", env={**os.environ, **world.env})
supervisor.spawn(["bash", "-c", f"setsid sleep {sys.argv[1]} & sleep {sys.argv[1]}"], name="u")
print(supervisor.warden_pid, flush=True)
sys.stdin.read()
"""


def test_gc_removes_what_kill_9_of_everything_left_and_only_that(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """L3: the owner, the supervisor and its warden are all killed at once; a look-alike stays."""
    number = str(700_000 + os.getpid())
    deep = tmp_path / ("state" + "x" * 60)
    monkeypatch.setenv("GYM_ANYTHING_STATE_DIR", str(deep))
    alike = subprocess.Popen(["sleep", number], env={labels.ENV_NAME: "rmine/wmine/1-2-x-4"})
    live = subprocess.Popen(
        [sys.executable, "-c", KILLED, number], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    owner = subprocess.Popen(
        [sys.executable, "-c", KILLED, number], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert owner.stdout and live.stdout
        live.stdout.readline()
        warden = int(owner.stdout.readline())
        killed = [owner.pid, warden, *proc.children(warden)]

        def sleepers() -> set[int]:
            return {pid for pid in proc.pids() if proc.command_line(pid) == ["sleep", number]}

        wait_until(
            lambda: len(sleepers()) == 7,
            deadline=Deadline.after(20),
            awaited="all sleepers",
            status=lambda: str(
                [" ".join(proc.command_line(pid)) for pid in proc.pids() if number in proc.command_line(pid)]
            ),
        )
        links = set(Path("/tmp").glob("ga*"))
        for pid in killed:
            os.kill(pid, signal.SIGSTOP)  # so that none can act on another's death
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        owner.wait()
        code, document = call(capsys, "gc", "--dry-run")
        assert code == 0 and not any(row["removed"] for row in document["orphans"])
        kinds = [row["kind"] for row in document["orphans"]]
        assert {"process", "folder", "link"} == set(kinds)
        assert kinds.count("process") >= 2
        code, document = call(capsys, "gc")
        assert code == 0 and document["ok"] and all(row["removed"] for row in document["orphans"])
        assert len(sleepers()) == 4  # the look-alike, and the three of the owner that lives
        assert alike.poll() is None and live.poll() is None
        assert len(list(deep.iterdir())) == 1
        assert call(capsys, "gc")[1]["orphans"] == []
        assert len(set(Path("/tmp").glob("ga*")) & links) <= len(links) - 1
    finally:
        for process in (alike, live, owner):
            process.kill()
            process.wait()
        for process in (live, owner):
            assert process.stdin and process.stdout
            process.stdin.close()
            process.stdout.close()


def test_gc_says_so_when_nothing_was_left(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["cache", "gc"]) == 0
    assert "Nothing was left" in capsys.readouterr().out
