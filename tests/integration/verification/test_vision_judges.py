"""Judges that ask a vision model, through whole episodes in a fake world, against a model server on loopback."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gym_anything.benchmark.account import judge_usage
from gym_anything.episode.factory import from_config
from gym_anything.models import calls
from tests.integration.episode.test_verdicts import write_env
from tests.model_server import KEY, ModelServer, error, model_server, pictures_in, texts_in

pytestmark = pytest.mark.real

CHECKLIST = {
    "task_completion": [
        {"id": "typed", "description": "typed hello", "points": 70, "visual_evidence": "hello on the screen"},
        {"id": "saved", "description": "saved it", "points": 30},
    ],
    "integrity": [{"id": "by_hand", "description": "used the keyboard"}],
    "privileged_info_for_vlm": "the magic word is rosebud",
}
SECRET_WORDS = ("rosebud", KEY, "You judge how far", "hello on the screen")
ASKS = """
def verify(traj, env_info, task_info):
    frames = env_info["sample_trajectory_frames"](traj, n=2)
    answer = env_info["query_vlm"](prompt="Is it typed?", images=frames, max_tokens=20)
    again = env_info["query_vlm"](prompt="Sure?", image=env_info["get_final_screenshot"](traj))
    print(answer, env_info, __import__("os").environ.get("VLM_API_KEY"))
    return {"passed": answer["parsed"].get("answer") is True, "score": 50, "feedback": answer["error"] or answer["response"]}
"""


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "_BASE_PAUSE_S", 0.001)
    monkeypatch.setattr(calls, "_LONGEST_PAUSE_S", 0.002)


def said(typed: str = "pass", saved: str = "pass", by_hand: str = "pass") -> str:
    answer = {
        "task_completion": [{"id": "typed", "verdict": typed}, {"id": "saved", "verdict": saved}],
        "integrity": [{"id": "by_hand", "verdict": by_hand, "evidence": "keys"}],
        "overall_reasoning": "It typed.",
    }
    return "Here you are:\n```json\n" + json.dumps(answer) + "\n```"


def configure(monkeypatch: pytest.MonkeyPatch, server: ModelServer, backend: str = "local", **more: str) -> None:
    monkeypatch.setenv("VLM_BACKEND", backend)
    monkeypatch.setenv("VLM_MODEL", "m-1")
    monkeypatch.setenv("VLM_API_KEY", KEY)
    monkeypatch.setenv("VLM_BASE_URL", server.url if backend == "anthropic" else server.base_url)
    for name, value in more.items():
        monkeypatch.setenv(name, value)


def checklist_env(folder: Path, spec: dict[str, Any] | None = None) -> Path:
    root = write_env(folder, success={"mode": "vlm_checklist", "spec": spec or {}})
    (root / "tasks" / "type_hello" / "vlm_checklist.json").write_text(json.dumps(CHECKLIST))
    return root


def played(root: Path) -> dict[str, Any]:
    with from_config(root) as env:
        env.reset()
        env.step({"keyboard": {"text": "hello"}}, settle_after_actions=False)
        return dict(env.step([], mark_done=True)[3])


def written(folder: Path) -> str:
    """Return all that an episode has written, pictures too, as text."""
    files = [f for f in (folder / "artifacts").rglob("*") if f.is_file()]
    assert any(f.name == "summary.json" for f in files)
    return "\n".join(f.read_bytes().decode("utf-8", "replace") for f in files)


@pytest.mark.parametrize("backend", ["local", "openai", "anthropic"])
def test_a_checklist_is_judged_item_by_item(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str) -> None:
    with model_server(said(saved="partial")) as server:
        configure(monkeypatch, server, backend, VLM_PRICE_INPUT="10", VLM_PRICE_OUTPUT="100")
        info = played(checklist_env(tmp_path))
        (request,) = server.asked
    report = info["verifier"]
    assert (report["passed"], report["score"], report["mode"]) == (True, 85.0, "vlm_checklist")
    assert report["subscores"] == {"typed": 70.0, "saved": 15.0} and report["integrity_rate"] == 1.0
    assert report["completion_threshold"] == 80.0 and "saved partial" in report["feedback"]
    assert report["vlm"]["calls"] == 1 and report["vlm"]["cost_usd"] == pytest.approx(0.002)
    assert len(pictures_in(request.body)) == len(report["frames"]) >= 2 and report["frames"][-1] == "final.png"
    assert all(word in texts_in(request.body) for word in ("do it", "rosebud", "hello on the screen", "by_hand"))
    text = written(tmp_path)
    assert not [word for word in SECRET_WORDS if word in text]


def test_cheating_and_thresholds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with model_server(said(by_hand="fail"), said(saved="fail"), said(saved="fail")) as server:
        configure(monkeypatch, server)
        report = played(checklist_env(tmp_path / "a"))["verifier"]
        assert (report["passed"], report["score"], report["completion_score"]) == (False, 0.0, 100.0)
        report = played(checklist_env(tmp_path / "b"))["verifier"]
        assert (report["passed"], report["score"]) == (False, 70.0)
        report = played(checklist_env(tmp_path / "c", {"completion_threshold": 70}))["verifier"]
        assert (report["passed"], report["score"]) == (True, 70.0)


def test_a_malformed_answer_is_asked_for_again_and_then_breaks_the_judge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """V2: never a fail."""
    with model_server("I would say it is fine.", said()) as server:
        configure(monkeypatch, server)
        assert played(checklist_env(tmp_path / "a"))["verifier"]["vlm"]["calls"] == 2
        assert "no JSON object" in texts_in(server.asked[1].body["messages"][-1])
    with model_server(said(typed="perhaps")) as server:
        configure(monkeypatch, server)
        outcome = played(checklist_env(tmp_path / "b"))["outcome"]
        assert (outcome["status"], outcome["blame"]) == ("broken", "judge") and "'perhaps'" in outcome["story"]
        assert len(server.asked) == 3


def several_env(folder: Path, verifier: str = ASKS, **more: Any) -> Path:
    """A task that a program and then a checklist judge; both ask the model."""
    parts = [
        {"name": "asks", "mode": "program", "spec": {"program": "verifier.py::verify"}},
        {"name": "looks", "mode": "vlm_checklist"},
    ]
    root = write_env(folder, verifier, success={"mode": "multi", "spec": {"verifiers": parts, **more}})
    (root / "tasks" / "type_hello" / "vlm_checklist.json").write_text(json.dumps(CHECKLIST))
    return root


PRICES = {"VLM_PRICE_INPUT": "10", "VLM_PRICE_OUTPUT": "100"}
A_CALL_USD = 0.002


def test_all_judges_of_a_verdict_have_one_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with model_server("Yes.", "Yes.", said()) as server:
        configure(monkeypatch, server, **PRICES)
        report = played(several_env(tmp_path, combine="weighted", pass_score=50))["verifier"]
    assert report["passed"] and report["vlm"]["model"] == "m-1" and report["vlm"]["calls"] == 3
    assert report["vlm"]["cost_usd"] == pytest.approx(3 * A_CALL_USD)
    assert [part["vlm"]["calls"] for part in report["parts"]] == [2, 1]
    used = judge_usage(report)
    assert used is not None and used["calls"] == 3 and used["cost_usd"] == pytest.approx(3 * A_CALL_USD)


@pytest.mark.parametrize("bound", [{"VLM_MAX_CALLS": "2"}, {"VLM_MAX_COST_USD": str(2 * A_CALL_USD)}])
def test_all_judges_of_a_verdict_have_one_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: dict[str, str]
) -> None:
    with model_server("Yes.", "Yes.", said()) as server:
        configure(monkeypatch, server, **PRICES, **bound)
        info = played(several_env(tmp_path))
        assert len(server.asked) == 2
    assert info["outcome"]["status"] == "broken" and "budget of" in info["outcome"]["story"]
    assert info["verifier"]["vlm"]["calls"] == 2


def test_what_a_broken_judge_has_spent_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with model_server(said(typed="perhaps")) as server:
        configure(monkeypatch, server, **PRICES)
        info = played(checklist_env(tmp_path / "nonsense"))
        assert info["outcome"]["status"] == "broken" and info["verifier"]["vlm"]["calls"] == 3
        assert info["verifier"]["vlm"]["cost_usd"] == pytest.approx(3 * A_CALL_USD)
        crashes = ASKS.replace("    print(", "    raise ValueError('after the bill')\n    print(")
        info = played(write_env(tmp_path / "crash", crashes))
        assert "after the bill" in info["outcome"]["story"] and info["verifier"]["vlm"]["calls"] == 2
        info = played(several_env(tmp_path / "several", combine="any"))
        assert info["outcome"]["status"] == "broken" and info["verifier"]["vlm"]["calls"] == 5
    with model_server("No.", error(500, "down")) as server:
        configure(monkeypatch, server, VLM_MAX_RETRIES="1")
        info = played(write_env(tmp_path / "down", ASKS))
        assert info["outcome"]["blame"] == "host" and info["verifier"]["vlm"]["calls"] == 1


@pytest.mark.parametrize(
    ("answer", "words", "blame"),
    [(error(500, "down"), "500", "host"), (error(401, "who?"), "401", "host"), ("hang", "did not come", "host")],
)
def test_a_model_that_is_not_there_breaks_the_judge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: Any, words: str, blame: str
) -> None:
    with model_server(answer) as server:
        configure(monkeypatch, server, VLM_TIMEOUT="0.2", VLM_MAX_RETRIES="2")
        outcome = played(checklist_env(tmp_path / "checklist"))["outcome"]
        assert (outcome["status"], outcome["blame"]) == ("broken", blame) and words in outcome["story"]
        outcome = played(write_env(tmp_path / "program", ASKS))["outcome"]
        assert (outcome["status"], outcome["blame"]) == ("broken", blame) and words in outcome["story"]


@pytest.mark.parametrize("backend", ["local", "anthropic"])
def test_a_verifier_asks_about_screenshots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str) -> None:
    with model_server("Yes, it says hello.") as server:
        configure(monkeypatch, server, backend)
        report = played(write_env(tmp_path, ASKS))["verifier"]
        first, second = server.asked
    assert report["passed"] and report["score"] == 50 and report["feedback"] == "Yes, it says hello."
    assert report["vlm"]["calls"] == 2 and report["vlm"]["output_tokens"] == 20 and report["vlm"]["cost_usd"] is None
    assert len(pictures_in(first.body)) == 2 and first.body["max_tokens"] == 20 and len(pictures_in(second.body)) == 1
    assert KEY not in written(tmp_path), "though the verifier printed it"


def test_a_verdict_has_a_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with model_server("Yes.") as server:
        configure(monkeypatch, server, VLM_MAX_CALLS="1")
        outcome = played(write_env(tmp_path, ASKS))["outcome"]
        assert outcome["status"] == "broken" and "budget of 1 calls" in outcome["story"] and len(server.asked) == 1
        configure(monkeypatch, server, VLM_MAX_CALLS="9", VLM_MAX_COST_USD="1")
        assert "prices are not known" in played(write_env(tmp_path, ASKS))["outcome"]["story"]


def test_a_mode_from_the_environment_judges_a_program_task_by_its_checklist(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write_env(tmp_path, success={"mode": "program", "spec": {"program": "verifier.py::verify"}})
    (root / "tasks" / "type_hello" / "vlm_checklist.json").write_text(json.dumps(CHECKLIST))
    with model_server(said()) as server:
        configure(monkeypatch, server, GYM_ANYTHING_VERIFIER_MODE="vlm_checklist")
        report = played(root)["verifier"]
    assert (report["passed"], report["mode"], report["mode_source"]) == (True, "vlm_checklist", "environment")


def test_a_checklist_is_one_judge_of_several_and_is_not_asked_when_a_gate_is_shut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = [
        {"name": "file", "mode": "program", "gate": True, "spec": {"program": "verifier.py::verify"}},
        {"name": "looks", "mode": "vlm_checklist"},
    ]
    root = write_env(tmp_path, success={"mode": "multi", "spec": {"verifiers": parts}})
    (root / "tasks" / "type_hello" / "vlm_checklist.json").write_text(json.dumps(CHECKLIST))
    with model_server(said()) as server:
        configure(monkeypatch, server)
        report = played(root)["verifier"]
        assert report["passed"] and report["subscores"] == {"file": 100.0, "looks": 100.0}
        with from_config(root) as env:
            env.reset()
            report = env.step([], mark_done=True)[3]["verifier"]
        assert not report["passed"] and report["score"] == 0 and report["not_asked"] == ["looks"]
        assert len(server.asked) == 1
