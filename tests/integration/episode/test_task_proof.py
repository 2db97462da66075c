"""Proofs of tasks: verdicts that do not repeat, judges that touch what they judge, whole benchmarks played."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gym_anything.cli.main import run_command_line
from gym_anything.cli.verify_task import prove_one
from gym_anything.episode.proof_checks import changed, listing_command, read_listing
from gym_anything.testing.fakes.world import FakeWorld
from tests.integration.episode.test_verdicts import TYPED, write_env

pytestmark = pytest.mark.real

COPIES = (
    TYPED
    + """
def touching(traj, env_info, task_info):
    with open(os.path.join(tempfile.mkdtemp(), "x"), "w") as file:
        file.write("judged")
    env_info["copy_to_env"](file.name, "/home/ga/judged.txt")
    return verify(traj, env_info, task_info)

def noting(traj, env_info, task_info):
    with open(os.path.join(os.path.dirname(__file__), "seen.txt"), "a") as file:
        file.write("x")
    return verify(traj, env_info, task_info)

def wavering(traj, env_info, task_info):
    path = os.environ["COUNTER"]
    seen = len(open(path).read()) if os.path.exists(path) else 0
    with open(path, "a") as file:
        file.write("x")
    return {**verify(traj, env_info, task_info), "score": seen, "passed": False}
"""
)


class WorldWithAShell(FakeWorld):
    """A fake world whose shell lists files of this host: those below ``WORLD_HOME``."""

    def exec_capture(self, cmd: str, **_: Any) -> str:
        line = cmd.replace(listing_command(), listing_command([os.environ["WORLD_HOME"]]))
        return subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True, timeout=20).stdout


def proved(folder: Path, function: str = "verify", **files: Any) -> Any:
    root = write_env(folder, COPIES, success={"mode": "program", "spec": {"program": f"verifier.py::{function}"}})
    for name, steps in files.items():
        (root / "tasks" / "type_hello" / f"{name}.json").write_text(json.dumps(steps))
    return prove_one(root, "type_hello")


HELLO = [{"keyboard": {"text": "hello"}}]
ALMOST = [{"keyboard": {"text": "hallo"}}]


def found(proof: Any, level: str) -> list[tuple[str, str]]:
    return [(f.attempt, f.check) for f in proof.findings if f.level == level]


def test_a_sound_task_has_nothing_but_notes(tmp_path: Path) -> None:
    proof = proved(tmp_path, oracle=HELLO, near_miss_1=ALMOST)
    assert proof.ok and proof.has_solution and not found(proof, "error") and not found(proof, "warning")
    assert [row.status for row in proof.rows] == ["failed", "passed", "failed"]


def test_what_nothing_shows_is_a_warning(tmp_path: Path) -> None:
    proof = proved(tmp_path)
    assert proof.ok and not proof.has_solution and found(proof, "warning") == [("", "solution"), ("", "near miss")]


def test_a_near_miss_that_passes_and_a_solution_that_does_not_are_errors(tmp_path: Path) -> None:
    proof = proved(tmp_path, oracle=ALMOST, near_miss_1=HELLO)
    assert not proof.ok and found(proof, "error") == [("oracle.json", "verdict"), ("near_miss_1.json", "verdict")]


def test_a_judge_that_writes_into_the_world_is_found(tmp_path: Path) -> None:
    proof = proved(tmp_path, "touching", oracle=HELLO)
    assert not proof.ok and ("oracle.json", "touched") in found(proof, "error")
    assert any("/home/ga/judged.txt" in f.message for f in proof.findings)


def test_a_judge_that_writes_beside_the_task_is_found(tmp_path: Path) -> None:
    proof = proved(tmp_path, "noting")
    assert found(proof, "error") == [("do nothing", "touched")]
    assert any("seen.txt" in f.message for f in proof.findings)


def test_a_verdict_that_does_not_repeat_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COUNTER", str(tmp_path / "count"))
    proof = proved(tmp_path, "wavering")
    assert found(proof, "error") == [("do nothing", "repeated")]
    assert any("score 0.0, then 1.0" in f.message for f in proof.findings)


def test_an_episode_that_ends_by_itself_is_noted(tmp_path: Path) -> None:
    root = write_env(tmp_path, init={"max_steps": 1})
    (root / "tasks" / "type_hello" / "oracle.json").write_text(json.dumps(HELLO))
    assert ("oracle.json", "repeated") in found(prove_one(root, "type_hello"), "note")


def listed(folder: Path) -> dict[str, str]:
    """The command itself, on this host's own shell; only its folders are others."""
    line = listing_command([str(folder / "home"), str(folder / "etc"), str(folder / "absent")])
    said = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True, timeout=20).stdout
    found = read_listing("a greeting of the shell's\n" + said)
    assert found is not None
    return found


def test_every_touch_shows_in_the_listing_but_not_of_restless_files(tmp_path: Path) -> None:
    for name in (
        "home/a b.txt",
        "home/ä.txt",
        "home/moved.txt",
        "home/gone.txt",
        "home/.cache/x",
        "home/a.log",
        "etc/c",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    before = listed(tmp_path)
    assert not [path for path in before if ".cache" in path or ".log" in path]
    assert changed(before, listed(tmp_path)) == set()
    home = tmp_path / "home"
    (home / ".cache" / "x").write_text("restless")
    (home / "a.log").write_text("restless")
    assert changed(before, listed(tmp_path)) == set()
    stat = (home / "a b.txt").stat()
    (home / "a b.txt").write_text("x")
    os.utime(home / "a b.txt", ns=(stat.st_atime_ns, stat.st_mtime_ns))
    (home / "ä.txt").chmod(0o600)
    (home / "moved.txt").rename(home / "there.txt")
    (home / "gone.txt").unlink()
    (home / "folder").mkdir()
    (home / "link").symlink_to("there.txt")
    (tmp_path / "etc").chmod(0o700)
    after = listed(tmp_path)
    names = {"a b.txt", "ä.txt", "moved.txt", "there.txt", "gone.txt", "folder", "link"}
    assert changed(before, after) == {*(str(home / name) for name in names), str(tmp_path / "etc")}


@pytest.mark.parametrize("said", ["", "sh: find: not found", "AAAA", "H4sIAAAAAAAAAw=="])
def test_what_is_no_listing_is_not_taken_for_an_empty_world(said: str) -> None:
    assert read_listing(said) is None


WRITES = """
import os
HOME = os.environ["WORLD_HOME"]
def verify(traj, env_info, task_info):
    note = os.path.join(HOME, "note.txt")
    {does}
    return {{"passed": False}}
"""
EACH_TIME = {
    "writes": "open(note, 'w').write('x')",
    "rights": "os.chmod(note, os.stat(note).st_mode ^ 0o100)",
    "moves": "os.rename(note, note + '.x'); os.rename(note + '.x', note)",
}
ONCE = {
    "writes if there is nothing": "os.path.exists(note + '.x') or open(note + '.x', 'w').close()",
    "deletes": "os.path.exists(note) and os.unlink(note)",
    "names a new file each time": "open(note + str(len(os.listdir(HOME))), 'w').close()",
}


@pytest.mark.parametrize("does", [*EACH_TIME, *ONCE, "nothing"])
def test_every_touch_of_the_worlds_files_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, does: str) -> None:
    """The verifier does to a folder of this host what others do to their world; the fake world's shell is the host's."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "note.txt").touch()
    monkeypatch.setenv("WORLD_HOME", str(home))
    verifier = WRITES.format(does={**EACH_TIME, **ONCE, "nothing": "pass"}[does])
    proof = prove_one(write_env(tmp_path / "made", verifier), "type_hello", runner=f"{__name__}:WorldWithAShell")
    touched = [(f.level, f.message) for f in proof.findings if f.check == "touched"]
    if does == "nothing":
        assert touched == []
        return
    ((level, message),) = touched
    assert level == ("error" if does in EACH_TIME else "warning") and str(home) in message
    assert proof.ok == (does in ONCE)


def benchmark_of(folder: Path) -> Path:
    env = write_env(folder / "made")
    environments = folder / "worlds" / "environments"
    environments.mkdir(parents=True)
    env.rename(environments / "desk")
    task = environments / "desk" / "tasks" / "type_hello"
    (task / "oracle.json").write_text(json.dumps(HELLO))
    other = environments / "desk" / "tasks" / "always"
    other.mkdir()
    (other / "task.json").write_text((task / "task.json").read_text())
    (other / "verifier.py").write_text("def verify(t, e, i): return {'passed': True}")
    return folder / "worlds"


def test_a_whole_benchmark_is_played(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = benchmark_of(tmp_path)
    assert run_command_line(["verify", "corpus", str(root), "--prove", "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert [(p["env"], p["task"], p["ok"]) for p in report["proofs"]] == [
        ("desk", "always", False), ("desk", "type_hello", True),
    ]  # fmt: skip
    assert not report["ok"] and "error" in [f["level"] for f in report["proofs"][0]["findings"]]
    assert run_command_line(["verify", "corpus", str(root), "--prove", "--task", "type_hello"]) == 0
    said = capsys.readouterr().out
    assert "type_hello" in said and "F P" in said and "always" not in said and "near_miss" in said
    assert "desk/type_hello: note: oracle.json: the world's files were not looked at" in " ".join(said.split())
    assert "2 notes" in " ".join(said.split())
    assert run_command_line(["verify", "corpus", str(root), "--task", "type_hello"]) == 2
    assert run_command_line(["verify", "corpus", str(root), "--prove", "--env", "nowhere"]) == 2
    assert run_command_line(["verify", "corpus", str(root)]) == 0
