"""Environments in the shape of public ones: set up by login-shell hooks, exported as JSON, judged; fresh and restored."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gym_anything._util.digest import sha256_tree
from gym_anything.episode.factory import from_config
from gym_anything.episode.task_proof import read_steps
from gym_anything.runtime.checkpoints.levels import LEVELS
from tests.conftest import RequireBackend
from tests.e2e.local_world import require_local_world

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(300)]

ROOT = Path(__file__).parents[2] / "examples" / "corpus_shape"
TASKS = {"stock_ledger_env": "book_delivery", "letter_desk_env": "finish_letter", "visitor_kiosk_env": "sign_in"}
FULL_REWARD = {"stock_ledger_env": 100.0, "letter_desk_env": 1.0, "visitor_kiosk_env": 1.0}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, require_backend: RequireBackend) -> Path:
    """Keep checkpoints and artifacts in the test's own folder; the examples are used where they lie, unchanged."""
    require_local_world(require_backend)
    monkeypatch.setenv("GYM_ANYTHING_LOCAL_CHECKPOINT_DIR", str(tmp_path / "checkpoints"))
    monkeypatch.setenv("GYM_ANYTHING_POST_TASK_SETTLE_SEC", "0")
    return tmp_path


def open_env(name: str, place: Path) -> Any:
    overrides = {"recording": {"output_dir": str(place / "artifacts")}}
    return from_config(ROOT / "environments" / name, task_id=TASKS[name], overrides=overrides, fast_io=True)


def play(env: Any, name: str, solution: str | None = "oracle.json") -> tuple[str, float, float, str | None]:
    """Play one episode; returns status, score, reward, and the level it was restored from."""
    steps = read_steps(ROOT / "environments" / name / "tasks" / TASKS[name] / solution) if solution else []
    for actions in steps:
        assert not env.step(actions)[2]
    _, reward, _, info = env.step([], mark_done=True)
    outcome = info["outcome"]
    restored_from = json.loads((env.episode_dir / "summary.json").read_text(encoding="utf-8"))["restored_from"]
    return outcome["status"], outcome["score"], reward, restored_from


def secret() -> bytes:
    keys = json.loads((ROOT / "environments" / "letter_desk_env" / "office_keys.json").read_text(encoding="utf-8"))
    return str(keys["OFFICE_KEY"]).encode()


@pytest.mark.parametrize("name", TASKS)
def test_verdicts_are_the_same_fresh_and_from_every_checkpoint(name: str, place: Path, no_leaks: Any) -> None:
    """K7, N1: a world from a checkpoint is set up as a fresh one is, also the first that goes on after one was made.

    The letter's seal was made with a secret of the host's, which is in no artifact, checkpoint or log.
    """
    before = sha256_tree(ROOT)
    passed = ("passed", 100.0, FULL_REWARD[name])
    with open_env(name, place) as env:
        env.reset(seed=3)
        assert play(env, name) == (*passed, None)
        assert env.warnings == []
        # Each asked level is made by an episode that starts from the one below it.
        for level, restored_from in (*zip(LEVELS, (None, *LEVELS), strict=False), ("post_task", "post_task")):
            env.reset(seed=3, use_cache=True, cache_level=level)
            assert play(env, name) == (*passed, restored_from), level
        env.reset(use_cache=True, cache_level="post_task")
        assert play(env, name, None)[0] == "failed", "doing nothing does not pass, whatever earlier episodes did"
        assert env.warnings == []
    assert sha256_tree(ROOT) == before, "an episode wrote into the environment's own folder"
    written = [path for path in place.rglob("*") if path.is_file() and not path.is_symlink()]
    assert {"traj.jsonl", "summary.json"} <= {path.name for path in written}
    assert [path for path in written if secret() in path.read_bytes()] == []


def test_hooks_ran_in_login_shells_with_their_logs_in_the_home(place: Path) -> None:
    with open_env("stock_ledger_env", place) as env:
        env.reset()
        look = env.runner.exec_capture
        logs = [f"/home/ga/{name}.log" for name in ("env_setup_pre_start", "env_setup_post_start", "task_pre_task")]
        assert [look(f"tail -n 1 {log}") for log in logs] == ["=== done ===\n", "=== done ===\n", "=== ready ===\n"]
        assert "1280 800" in look(f"cat {logs[1]}"), "su - ga -c reached the display"
        owners = look("stat -c '%U %a' /var/lib/ledger/ledger.sqlite /home/clerk")
        assert owners == "clerk 644\nclerk 700\n"
        assert look("su - clerk -c 'id -u; sudo -n true || echo may not'").split("\n")[:2] == ["1500", "may not"]
        assert look("su - ga -c 'env | grep LEDGER; sudo -u clerk whoami; sudo sudo whoami'") == (
            "LEDGER_PROMPT=stock> \nclerk\nroot\n"
        )
        assert play(env, "stock_ledger_env", "near_miss_1.json") == ("failed", 45.0, 45.0, None), "partial credit"
        log = look("cat /home/ga/task_post_task.log")
        assert '"ledger_open": true' in log and log.endswith("=== exported ===\n")


def test_the_kiosk_is_reset_by_script_and_hook_with_the_seed(place: Path) -> None:
    with open_env("visitor_kiosk_env", place) as env:
        for seed in (11, 12):
            env.reset(seed=seed, use_cache=True, cache_level="post_task")
            assert (
                env.runner.exec_capture("cat /home/ga/kiosk/day /home/ga/kiosk/book.csv") == f"{seed}\nname;company\n"
            )
            assert play(env, "visitor_kiosk_env")[0] == "passed"
        assert env.runner.exec_capture("cat /tmp/sign_in_setup.log") == "pre_task ran\n", "once, before the checkpoint"


def gym_anything(place: Path, *arguments: str) -> Any:
    argv = [sys.executable, "-m", "gym_anything.cli.main", *arguments, "--json"]
    done = subprocess.run(argv, cwd=place, capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 0, (done.stdout, done.stderr)
    return json.loads(done.stdout)


def test_the_examples_are_valid_and_a_benchmark(place: Path) -> None:
    for name in TASKS:
        report = gym_anything(place, "validate", name, "--benchmark", str(ROOT))
        complaints = ("problems", "option_errors", "warnings", "missing", "unenforced")
        assert report["ok"] and not any(report[kind] for kind in complaints), report
    envs = gym_anything(place, "list", "envs", "--benchmark", str(ROOT))["envs"]
    assert [(row["env"], row["tasks"]) for row in envs] == [(name, 1) for name in sorted(TASKS)]


@pytest.mark.parametrize("name", TASKS)
def test_each_task_proves_itself_on_the_command_line(name: str, place: Path) -> None:
    """V3: doing nothing and near misses fail, the oracle passes."""
    report = gym_anything(place, "verify", "task", name, TASKS[name], "--benchmark", str(ROOT), "--use-cache")
    rows = {row["attempt"]: row["status"] for row in report["attempts"]}
    assert rows.pop("oracle.json") == "passed"
    assert set(rows.values()) == {"failed"} and len(rows) == 3
