"""The results folder: unique, never overwritten, finished only with its ``info.json``."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym_anything.benchmark.attempt_claim import CLAIM_FILE
from gym_anything.benchmark.episode_record import EpisodeRecord
from gym_anything.benchmark.episode_request import EpisodeRequest, masked
from gym_anything.benchmark.results import ResultsFolder, finish_run, folder_name
from gym_anything.episode.outcome import Outcome
from gym_anything.errors import BadWire, BenchmarkError

pytestmark = pytest.mark.unit

REQUEST = EpisodeRequest(env_dir="/envs/notes", env="notes", task="a", agent="my:Agent", model="Qwen/Qwen3-VL")


def record(request: EpisodeRequest = REQUEST) -> EpisodeRecord:
    return EpisodeRecord(
        request.public(), Outcome.passed(80, "well done"), reason="max_steps", steps=3, warnings=("w",)
    )


def test_runs_lie_where_the_contract_says_and_count_up(tmp_path: Path) -> None:
    results = ResultsFolder(tmp_path / "all_runs", "exp 1")
    first, second = results.new_run_dir(REQUEST), results.new_run_dir(REQUEST)
    assert first == tmp_path / "all_runs" / "exp_1" / "Qwen--Qwen3-VL" / "notes" / "a" / "run_001"
    assert second.name == "run_002"


def test_runs_that_start_at_once_never_share_a_folder(tmp_path: Path) -> None:
    """V6: two runs started in one second do not collide."""
    results = ResultsFolder(tmp_path, "exp")
    found: list[Path] = []
    threads = [
        threading.Thread(target=lambda: found.extend(results.new_run_dir(REQUEST) for _ in range(10))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 80


def test_runs_that_are_played_at_once_never_share_an_attempt(tmp_path: Path) -> None:
    """V6, V7: two runs started in one second are two results."""
    results, asked = ResultsFolder(tmp_path, "exp"), replace(REQUEST, seed=7)
    with results.begun(asked) as (first, _), results.begun(asked) as (second, _):
        assert (first.attempt, second.attempt) == (0, 1)
        assert results.free_attempts(asked, 2) == [2, 3]
        with results.begun(replace(asked, seed=8)) as (other, _):
            assert other.attempt == 0
    assert results.free_attempts(asked, 1) == [0], "neither came to a result"
    with results.begun(asked) as (first, run_dir):
        finish_run(run_dir, record(first))
    with results.begun(first) as (second, _):
        assert second.attempt == 1, "a plan may be older than the result"
    assert sorted(path.name for path in run_dir.parent.rglob("*") if path.is_file()) == ["info.json"]


def test_many_threads_never_share_an_attempt(tmp_path: Path) -> None:
    results, together = ResultsFolder(tmp_path, "exp"), threading.Barrier(8, timeout=20)
    found: list[int] = []

    def play() -> None:
        with results.begun(REQUEST) as (request, _):
            found.append(request.attempt)
            together.wait()

    threads = [threading.Thread(target=play) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == list(range(8))


@pytest.mark.parametrize("left", ['{"seed": null, "attempt": 0}', "", "pid 1\n", "[]"])
def test_what_a_dead_run_has_claimed_is_free(tmp_path: Path, left: str) -> None:
    results = ResultsFolder(tmp_path, "exp")
    (results.new_run_dir(REQUEST) / CLAIM_FILE).write_text(left)
    assert results.free_attempts(REQUEST, 1) == [0]
    with results.begun(REQUEST) as (request, run_dir):
        assert (request.attempt, run_dir.name) == (0, "run_002")


def test_a_run_is_finished_by_its_info_file_and_never_twice(tmp_path: Path) -> None:
    """V6: finished results are never overwritten."""
    results = ResultsFolder(tmp_path, "exp")
    run_dir = results.new_run_dir(REQUEST)
    assert results.finished(REQUEST) == []
    finish_run(run_dir, record())
    (run,) = results.finished(REQUEST)
    assert (run.run_dir, run.record) == (run_dir, record())
    assert [r.run_dir for r in results.all_runs()] == [run_dir]
    with pytest.raises(BenchmarkError, match="never overwritten"):
        finish_run(run_dir, record())


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"outcome": {"status": "great"}, "request": {}}'])
def test_an_info_file_that_is_none_does_not_count(tmp_path: Path, content: str) -> None:
    results = ResultsFolder(tmp_path, "exp")
    (results.new_run_dir(REQUEST) / "info.json").write_text(content, "utf-8")
    assert results.finished(REQUEST) == []


def test_a_folder_that_cannot_be_made_is_a_typed_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BenchmarkError, match="run folder"):
        ResultsFolder(tmp_path / "file", "exp").new_run_dir(REQUEST)
    with (
        pytest.raises(BenchmarkError, match="run folder"),
        ResultsFolder(tmp_path / "file", "exp").begun(REQUEST),
    ):
        pass


def test_results_show_no_secret_argument() -> None:
    """N1: no secret in artifacts."""
    arguments = {
        "api_key": "sk-12345",
        "nested": {"hf_token": "hf_abc", "max_tokens": 5},
        "keyboard": "us",
        "tokens": "3",
    }
    request = EpisodeRequest(env_dir="", env="e", task="t", agent_args=arguments)
    text = json.dumps(record(request).to_dict())
    assert "sk-12345" not in text
    assert "hf_abc" not in text
    public = request.public()["agent_args"]
    assert (public["nested"]["max_tokens"], public["keyboard"], public["tokens"]) == (5, "us", "3")
    assert request.to_dict()["agent_args"] == arguments


def test_results_show_no_prompt_and_no_password_of_a_url() -> None:
    """N1: no prompt in artifacts; runs with different prompts are still told apart."""
    arguments = {
        "instructions": "be sly",
        "nested": {"system_prompt": ["be", "sly"], "prompt_style": "short"},
        "base_url": "https://me:p@ss@models.example:8000/v1",
        "urls": ["see http://you:word@a/ or http://b/@c"],
        "api_keys": [{"key": "sk-12345"}],
        "prompt": None,
    }
    request = EpisodeRequest(env_dir="", env="e", task="t", agent_args=arguments)
    public = request.public()["agent_args"]
    shown = json.dumps(record(request).to_dict())
    assert not any(word in shown for word in ("sly", "p@ss", "you:word", "sk-12345"))
    assert public["instructions"].startswith("sha256:")
    assert public["instructions"] != masked({"instructions": "be kind"})["instructions"]
    assert (public["base_url"], public["nested"]["prompt_style"]) == ("https://models.example:8000/v1", "short")
    assert public["urls"] == ["see http://a/ or http://b/@c"]
    assert masked(public) == public
    assert request.to_dict()["agent_args"] == arguments


def test_requests_and_records_survive_the_wire() -> None:
    assert EpisodeRequest.from_dict(json.loads(json.dumps(REQUEST.to_dict()))) == REQUEST
    assert EpisodeRecord.from_dict(json.loads(json.dumps(record().to_dict()))) == record()
    newer = {**record().to_dict(), "a_field_of_a_newer_version": 1}
    assert EpisodeRecord.from_dict(newer) == record()
    for wrong in ({}, {**REQUEST.to_dict(), "x": 1}):
        with pytest.raises(BadWire):
            EpisodeRequest.from_dict(wrong)


@given(st.text(max_size=200))
def test_any_name_becomes_one_safe_folder_name(name: str) -> None:
    """N12, N3: whatever a model or task is called, it is one folder below its parent."""
    folder = folder_name(name)
    assert folder
    assert Path(folder).name == folder
    assert folder not in (".", "..")
    assert len(folder.encode()) <= 255
