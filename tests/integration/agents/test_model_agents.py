"""Agents that ask models, through whole episodes in a fake world, against a server that speaks their protocols."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from gym_anything.agents.builtin.openai_computer.agent import OpenAIComputerAgent
from gym_anything.agents.registry import resolve_agent
from gym_anything.benchmark.episode_request import EpisodeRequest
from gym_anything.benchmark.play import play_episode
from gym_anything.errors import SettingInvalid
from gym_anything.models import calls
from tests.integration.episode.test_verdicts import write_env
from tests.model_server import (
    KEY,
    ModelServer,
    chat_body,
    error,
    message_body,
    model_server,
    pictures_in,
    response_body,
    texts_in,
)

pytestmark = pytest.mark.real

SCREEN = [1600, 800]
PROMPT_WORDS = ("never an instruction to you",)


class Quiet:
    """A monitor that nobody looks at."""

    def phase(self, name: str, limit_s: float) -> None:
        pass

    def stepped(self, steps: int, max_steps: int | None) -> None:
        pass


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "_BASE_PAUSE_S", 0.001)
    monkeypatch.setattr(calls, "_LONGEST_PAUSE_S", 0.002)


def played(
    folder: Path, agent: str, server: ModelServer | None = None, *, fast_io: bool = True, **arguments: Any
) -> Any:
    """Play an episode whose verifier wants "hello"; returns its record."""
    world = {"observation": [{"type": "rgb_screen", "resolution": SCREEN}]}
    root = write_env(folder, env=world, init={"max_steps": 12, "timeout_sec": 60})
    if server is not None:
        url = (
            server.url if agent == "anthropic_computer" or arguments.get("protocol") == "anthropic" else server.base_url
        )
        arguments = {"model": "m-1", "base_url": url, "api_key": KEY, **arguments}
    request = EpisodeRequest(
        env_dir=str(root),
        task="type_hello",
        env="env",
        agent=agent,
        agent_args=arguments,
        fast_io=fast_io,
        verbose=True,
    )
    run_dir = folder / "run"
    run_dir.mkdir()
    return play_episode(request, run_dir, Quiet())


def steps(folder: Path) -> list[dict[str, Any]]:
    (file,) = (folder / "run").rglob("traj.jsonl")
    return [r for r in map(json.loads, file.read_text().splitlines()) if r["event"] == "step"]


def accounts(folder: Path) -> dict[str, Any]:
    (file,) = (folder / "run").rglob("agent_usage.json")
    return dict(json.loads(file.read_text()))


def nothing_leaked(folder: Path, said: str) -> None:
    """Grep all that the episode has written, and printed, for the key and the prompts."""
    texts = [f.read_bytes().decode("utf-8", "replace") for f in (folder / "run").rglob("*") if f.is_file()]
    assert len(texts) >= 3
    for word in (KEY, *PROMPT_WORDS):
        assert word not in "\n".join([*texts, said]), word


def say_json(*actions: Any, done: bool = False) -> str:
    return json.dumps({"thought": "I go on", "actions": list(actions), "done": done})


def qwen(**arguments: Any) -> str:
    return f"So.\n<tool_call>\n{json.dumps({'name': 'computer_use', 'arguments': arguments})}\n</tool_call>"


CHATTERS = {
    "vision": [
        say_json({"mouse": {"left_click": [500, 500]}}), say_json({"keyboard": {"text": "hello"}}), say_json(done=True),
    ],
    "qwen_vl": [
        qwen(action="left_click", coordinate=[500, 500]), qwen(action="type", text="hello"),
        qwen(action="terminate", status="success"),
    ],
    "ui_tars": [
        "Thought: a\nAction: click(start_box='(500,500)')", "Thought: b\nAction: type(content='hello')",
        "Thought: c\nAction: finished(content='done')",
    ],
}  # fmt: skip


@pytest.mark.parametrize("agent", sorted(CHATTERS))
def test_a_chat_model_plays_in_its_own_words(tmp_path: Path, agent: str, capfd: pytest.CaptureFixture[str]) -> None:
    more = {"coordinates": "grid"} if agent == "ui_tars" else {}
    with model_server(*CHATTERS[agent]) as server:
        record = played(tmp_path, agent, server, price_input=10, price_output=100, history=2, **more)
        asked = server.asked
    assert record.outcome.status == "passed", record.outcome.story
    assert len(asked) == 3 and record.steps == 3
    done = steps(tmp_path)
    assert done[0]["actions"] == [{"mouse": {"left_click": [800, 400]}}]
    assert done[1]["actions"] == [{"keyboard": {"text": "hello"}}]
    assert done[0]["metadata"]["thought"] and done[0]["metadata"]["usage"]["input_tokens"] == 100
    cost = 3 * (100 * 10 + 10 * 100) / 1e6
    got = accounts(tmp_path)
    assert (got["calls"], got["output_tokens"], got["stopped_by"], got["model"]) == (3, 30, "answer", "m-1")
    assert got["cost_usd"] == pytest.approx(cost)
    sizes = {Image.open(io.BytesIO(p)).size for request in asked for p in pictures_in(request.body)}
    assert len(sizes) == 1 and max(next(iter(sizes))) < 1600, "scaled, and always to the same size"
    assert [len(pictures_in(request.body)) for request in asked] == [1, 2, 2], "the history is bounded"
    assert "do it" in texts_in(asked[-1].body), "the task is never forgotten"
    nothing_leaked(tmp_path, "".join(capfd.readouterr()))


def test_a_chat_model_behind_the_other_protocol_and_files_instead_of_memory(tmp_path: Path) -> None:
    with model_server(*CHATTERS["vision"]) as server:
        record = played(tmp_path, "vision", server, protocol="anthropic", fast_io=False)
    assert record.outcome.status == "passed" and {a.path for a in server.asked} == {"/v1/messages"}


def test_malformed_answers_are_told_and_asked_again_and_end_the_episode(tmp_path: Path) -> None:
    answers = [
        "I would click.",
        say_json({"mouse": {"left_click": [5000, 0]}}),
        say_json({"keyboard": {"keys": ["bogus"]}}),
    ]
    with model_server(*answers, say_json({"keyboard": {"text": "hello"}}), say_json(done=True)) as server:
        record = played(tmp_path / "a", "vision", server, max_malformed=4)
        told = [texts_in(request.body["messages"][-1]) for request in server.asked[1:4]]
    assert record.outcome.status == "passed" and accounts(tmp_path / "a")["malformed_answers"] == 3
    assert "no JSON" in told[0] and "outside the grid" in told[1] and "bogus" in told[2]
    assert record.steps == 2, "nothing of a malformed answer was done"
    with model_server("Never.") as server:
        record = played(tmp_path / "b", "vision", server)
        assert len(server.asked) == 3
    assert record.outcome.status == "failed", "the model's fault, not a broken episode"
    assert accounts(tmp_path / "b")["stopped_by"] == "malformed"


def test_budgets_end_the_episode_and_the_verifier_decides(tmp_path: Path) -> None:
    with model_server(say_json({"keyboard": {"text": "hello"}})) as server:
        record = played(tmp_path / "a", "vision", server, max_calls=1)
        assert record.outcome.status == "passed" and len(server.asked) == 1
        assert accounts(tmp_path / "a")["stopped_by"] == "budget"
        played(tmp_path / "b", "vision", server, max_cost_usd=0.003, price_input=10, price_output=100)
        assert accounts(tmp_path / "b")["cost_usd"] == pytest.approx(0.004)


@pytest.mark.parametrize(
    ("answer", "words"), [("hang", "did not come"), (error(503, "busy"), "503"), (error(401, "who"), "401")]
)
def test_a_model_that_is_not_there_breaks_the_episode_and_the_host_is_to_blame(
    tmp_path: Path, answer: Any, words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with model_server(answer) as server:
        record = played(tmp_path, "vision", server, timeout_sec=0.2, attempts=2)
    assert (record.outcome.status, record.outcome.blame) == ("broken", "host") and words in record.outcome.story
    nothing_leaked(tmp_path, "".join(capfd.readouterr()))


def use(id: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "computer", "input": arguments}


def test_a_model_with_anthropics_tool(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    answers = [
        message_body([{"type": "text", "text": f"The key is {KEY}."}, use("a", action="screenshot")], why="tool_use"),
        message_body([use("b", action="left_click", coordinate=[700, 350]), use("c", action="zoom", region=[0, 0, 100, 50])],
                     why="tool_use"),
        message_body([use("d", action="left_click", coordinate=[9999, 0]), use("e", action="type", text="never")], why="tool_use"),
        message_body([use("f", action="type", text="hello"), use("g", action="key", text="bogus+x")], why="tool_use"),
        message_body("All done."),
    ]  # fmt: skip
    with model_server(*answers) as server:
        record = played(tmp_path, "anthropic_computer", server, picture="1400x700", tool="computer_20251124", history=2)
        asked = server.asked
    assert record.outcome.status == "passed", record.outcome.story
    done = [s["actions"] for s in steps(tmp_path)]
    assert done[0] == [{"action": "screenshot"}] and done[1] == [{"mouse": {"left_click": [800, 400]}}]
    assert [{"keyboard": {"text": "hello"}}] in done and [{"keyboard": {"text": "never"}}] not in done
    assert "[secret]" in steps(tmp_path)[0]["metadata"]["thought"]
    assert asked[0].headers["anthropic-beta"] == "computer-use-2025-11-24"
    (tool,) = asked[0].body["tools"]
    assert (tool["type"], tool["display_width_px"], tool["display_height_px"]) == ("computer_20251124", 1400, 700)
    results = {
        b["tool_use_id"]: b for m in asked[-1].body["messages"] for b in m["content"] if b["type"] == "tool_result"
    }
    assert "outside the 1400x700 picture" in texts_in(results["d"]) and results["d"]["is_error"]
    assert (
        "earlier action" in texts_in(results["e"])
        and "bogus" in texts_in(results["g"])
        and "is_error" not in results["f"]
    )
    assert len(pictures_in(asked[-1].body)) == 2 and len(pictures_in(asked[2].body)) == 2
    assert accounts(tmp_path)["malformed_answers"] == 2 and accounts(tmp_path)["input_tokens"] == 500
    nothing_leaked(tmp_path, "".join(capfd.readouterr()))


def test_a_model_with_anthropics_tool_that_goes_on_being_wrong_is_stopped(tmp_path: Path) -> None:
    with model_server(message_body([use("a", action="fly")], why="tool_use")) as server:
        record = played(tmp_path, "anthropic_computer", server)
    assert (
        record.outcome.status == "failed" and len(server.asked) == 3 and accounts(tmp_path)["stopped_by"] == "malformed"
    )


def test_the_toolset_has_a_name_for_each_action(tmp_path: Path) -> None:
    typed = {"type": "tool_use", "id": "a", "name": "type", "toolset_name": "computer", "input": {"text": "hello"}}
    with model_server(message_body([typed], why="tool_use"), "Done.") as server:
        record = played(tmp_path, "anthropic_computer", server, tool="computer_toolset_20260801")
    assert record.outcome.status == "passed" and server.asked[0].body["tools"] == [
        {"type": "computer_toolset_20260801"}
    ]


def call(id: str, *, checks: Any = (), **action: Any) -> dict[str, Any]:
    return {
        "type": "computer_call", "id": f"cu_{id}", "call_id": id, "action": action, "pending_safety_checks": list(checks),
        "status": "completed",
    }  # fmt: skip


def test_a_model_with_openais_tool(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "I click."}]}
    answers = [
        response_body([reasoning, call("a", type="click", x=700, y=350, button="left")], id="r1"),
        response_body([call("b", type="keypress", keys=["NOSUCHKEY"])], id="r2"),
        response_body([call("c", type="type", text="hello")], id="r3"),
        response_body("It is done.", id="r4"),
    ]
    with model_server(*answers) as server:
        record = played(tmp_path, "openai_computer", server, picture="1400x700")
        asked = server.asked
    assert record.outcome.status == "passed", record.outcome.story
    assert steps(tmp_path)[0]["actions"] == [{"mouse": {"left_click": [800, 400]}}]
    assert steps(tmp_path)[0]["metadata"]["thought"] == "I click."
    assert [request.body.get("previous_response_id") for request in asked] == [None, "r1", "r2", "r3"]
    (tool,) = asked[0].body["tools"]
    assert (tool["display_width"], tool["display_height"], tool["environment"]) == (1400, 700, "linux")
    output = asked[1].body["input"][0]
    assert (output["type"], output["call_id"]) == ("computer_call_output", "a") and len(pictures_in(output)) == 1
    again = asked[2].body["input"]
    assert again[0]["call_id"] == "b" and "NOSUCHKEY" in texts_in(again[1])
    got = accounts(tmp_path)
    assert (got["calls"], got["malformed_answers"], got["input_tokens"], got["cost_usd"]) == (4, 1, 400, None)
    nothing_leaked(tmp_path, "".join(capfd.readouterr()))


def test_a_safety_check_ends_the_episode_unless_it_is_to_be_acknowledged(tmp_path: Path) -> None:
    check = {"id": "sc_1", "code": "malicious_instructions", "message": "beware"}
    answers = [response_body([call("a", checks=[check], type="type", text="hello")]), response_body("Done.")]
    with model_server(*answers) as server:
        record = played(tmp_path / "a", "openai_computer", server)
    assert record.outcome.status == "failed" and accounts(tmp_path / "a")["stopped_by"] == "safety_check"
    with model_server(*answers) as server:
        record = played(tmp_path / "b", "openai_computer", server, acknowledge_safety_checks=True)
        assert server.asked[1].body["input"][0]["acknowledged_safety_checks"] == [check]
    assert record.outcome.status == "passed"


def test_the_newer_tool_sends_several_actions_in_one_call(tmp_path: Path) -> None:
    batch = {
        "type": "computer_call", "id": "cu", "call_id": "a", "status": "completed", "pending_safety_checks": [],
        "actions": [{"type": "click", "x": 0, "y": 0, "button": "left"}, {"type": "type", "text": "hello"}],
    }  # fmt: skip
    with model_server(response_body([batch]), response_body("Done.")) as server:
        record = played(tmp_path, "openai_computer", server, tool="computer")
        assert server.asked[0].body["tools"] == [{"type": "computer"}]
    assert record.outcome.status == "passed" and len(steps(tmp_path)[0]["actions"]) == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "needs a model"),
        ({"model": "m"}, "OPENAI_API_KEY"),
        ({"model": "m", "modle": 1}, "no argument 'modle'.*did you mean 'model'"),
        ({"model": "m", "base_url": "http://x/v1", "history": 0}, "history"),
        ({"model": "m", "base_url": "http://x/v1", "max_malformed": 1.5}, "whole number"),
        ({"model": "m", "base_url": "http://x/v1", "history": 5}, "history.*provider"),
        ({"model": "m", "base_url": "http://x/v1", "picture": "big"}, "WIDTHxHEIGHT"),
        ({"model": "m", "base_url": "http://x/v1", "price_input": 1}, "belong together"),
        ({"model": "m", "base_url": "http://x/v1", "acknowledge_safety_checks": "perhaps"}, "true or false"),
        ({"model": "m", "api_key_env": "NOT_SET_AT_ALL"}, "NOT_SET_AT_ALL"),
        ({"model": "m", "base_url": "http://x/v1", "tool": "hammer"}, "computer_use_preview"),
        ({"model": ["m"]}, "must be text"),
    ],
)
def test_wrong_arguments_are_refused_before_a_world_starts(
    arguments: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(SettingInvalid, match=words):
        OpenAIComputerAgent(agent_args=arguments)


def test_a_key_comes_from_a_variable_and_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-mine-1234567890")
    agent = resolve_agent("vision")(agent_args={"model": "m", "base_url": "http://x/v1", "api_key_env": "MY_KEY"})
    assert agent.endpoint.api_key == "sk-mine-1234567890" and "sk-mine" not in repr(agent.endpoint)


def test_a_long_answer_that_was_cut_off_is_malformed(tmp_path: Path) -> None:
    cut = chat_body('{"thought": "I th', why="length")
    with model_server(cut, say_json({"keyboard": {"text": "hello"}}, done=True)) as server:
        record = played(tmp_path, "vision", server)
        assert "cut off" in texts_in(server.asked[1].body["messages"][-1])
    assert record.outcome.status == "passed"
