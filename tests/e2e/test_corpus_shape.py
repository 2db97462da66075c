"""Environments in the shape of public ones: set up by login-shell hooks, exported as JSON, judged; fresh and restored."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from gym_anything._util.digest import sha256_tree
from gym_anything.actions.solution import read_solution
from gym_anything.episode.factory import from_config
from gym_anything.runtime.checkpoints.levels import LEVELS
from gym_anything.testing.leaks import LeakCheck
from tests.conftest import RequireBackend
from tests.e2e.command_line import CommandLine
from tests.e2e.local_world import require_local_world
from tests.e2e.proofs import check_proof, prove_tasks

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(300)]

ROOT = Path(__file__).parents[2] / "examples" / "corpus_shape"
TASKS = {"stock_ledger_env": "book_delivery", "letter_desk_env": "finish_letter", "visitor_kiosk_env": "sign_in"}
FULL_REWARD = {"stock_ledger_env": 100.0, "letter_desk_env": 1.0, "visitor_kiosk_env": 1.0}


def keep_apart(patch: pytest.MonkeyPatch, place: Path) -> None:
    """Keep checkpoints in a folder of the test's own; the examples are used where they lie, unchanged."""
    patch.setenv("GYM_ANYTHING_LOCAL_CHECKPOINT_DIR", str(place / "checkpoints"))
    patch.setenv("GYM_ANYTHING_POST_TASK_SETTLE_SEC", "0")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, require_backend: RequireBackend) -> Path:
    require_local_world(require_backend)
    keep_apart(monkeypatch, tmp_path)
    return tmp_path


def open_env(name: str, place: Path) -> Any:
    overrides = {"recording": {"output_dir": str(place / "artifacts")}}
    return from_config(ROOT / "environments" / name, task_id=TASKS[name], overrides=overrides, fast_io=True)


def play(env: Any, name: str, solution: str | None = "oracle.json") -> tuple[str, float, float, str | None]:
    """Play one episode; returns status, score, reward, and the level it was restored from."""
    steps = read_solution(ROOT / "environments" / name / "tasks" / TASKS[name] / solution) if solution else []
    for actions in steps:
        assert not env.step(actions)[2]
    _, reward, _, info = env.step([], mark_done=True)
    outcome = info["outcome"]
    restored_from = json.loads((env.episode_dir / "summary.json").read_text(encoding="utf-8"))["restored_from"]
    return outcome["status"], outcome["score"], reward, restored_from


def play_at_every_level(name: str, place: Path) -> list[str]:
    """Play the oracle fresh and from every checkpoint, then do nothing; returns what did not come out as it must."""
    must_pass = ("passed", 100.0, FULL_REWARD[name])
    wrong = []
    with open_env(name, place) as env:
        env.reset(seed=3)
        came = [("fresh", play(env, name), (*must_pass, None))]
        # Each asked level is made by an episode that starts from the one below it.
        for level, restored_from in (*zip(LEVELS, (None, *LEVELS), strict=False), ("post_task", "post_task")):
            env.reset(seed=3, use_cache=True, cache_level=level)
            came.append((level, play(env, name), (*must_pass, restored_from)))
        env.reset(use_cache=True, cache_level="post_task")
        came.append(("nothing", (play(env, name, None)[0],), ("failed",)))
        wrong += [f"{what}: {result}, not {wanted}" for what, result, wanted in came if result != wanted]
        wrong += env.warnings
    return wrong


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory, require_backend: RequireBackend) -> Iterator[dict[str, Any]]:
    """Play all environments side by side; the result of each, and the folder that everything was written to."""
    require_local_world(require_backend)
    place = tmp_path_factory.mktemp("played")
    before = sha256_tree(ROOT)
    with pytest.MonkeyPatch.context() as patch, LeakCheck():
        keep_apart(patch, place)
        with ThreadPoolExecutor(len(TASKS)) as pool:
            results = dict(zip(TASKS, pool.map(lambda name: play_at_every_level(name, place), TASKS), strict=True))
    assert sha256_tree(ROOT) == before, "an episode wrote into the environment's own folder"
    yield {**results, "place": place}


@pytest.mark.parametrize("name", TASKS)
def test_verdicts_are_the_same_fresh_and_from_every_checkpoint(name: str, played: dict[str, Any]) -> None:
    """K7: a world from a checkpoint is set up as a fresh one is, also the first that goes on after one was made."""
    assert played[name] == []


def test_a_secret_of_the_host_is_in_no_artifact_checkpoint_or_log(played: dict[str, Any]) -> None:
    """N1: the letter's seal was made with it, in the worlds."""
    keys = json.loads((ROOT / "environments" / "letter_desk_env" / "office_keys.json").read_text(encoding="utf-8"))
    secret = str(keys["OFFICE_KEY"]).encode()
    written = [path for path in played["place"].rglob("*") if path.is_file() and not path.is_symlink()]
    assert {"traj.jsonl", "summary.json", "seal", "setup_desk.log"} <= {path.name for path in written}
    assert [path for path in written if secret in path.read_bytes()] == []


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


def test_the_examples_are_valid_and_a_benchmark(place: Path) -> None:
    cli = CommandLine(place)
    for name in TASKS:
        report = cli.json("validate", name, "--benchmark", str(ROOT))
        complaints = ("problems", "option_errors", "warnings", "missing", "unenforced")
        assert report["ok"] and not any(report[kind] for kind in complaints), report
    envs = cli.json("list", "envs", "--benchmark", str(ROOT))["envs"]
    assert [(row["env"], row["tasks"]) for row in envs] == [(name, 1) for name in sorted(TASKS)]


@pytest.fixture(scope="module")
def proofs(tmp_path_factory: pytest.TempPathFactory, require_backend: RequireBackend) -> dict[str, Any]:
    require_local_world(require_backend)
    return prove_tasks(tmp_path_factory.mktemp("proofs"), ROOT, TASKS.items(), "--use-cache")


@pytest.mark.soak
@pytest.mark.parametrize("task", TASKS.values())
def test_each_task_proves_itself_on_the_command_line(task: str, proofs: dict[str, Any]) -> None:
    check_proof(proofs[task])
