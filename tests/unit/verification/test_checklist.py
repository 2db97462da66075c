"""Checklists: read tolerantly, judged strictly; frames, points, integrity, settings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gym_anything.errors import SettingInvalid, SpecInvalid, VlmNotConfigured
from gym_anything.models.endpoint import NO_KEY
from gym_anything.models.json_answers import find_json
from gym_anything.verification.vlm import setting_names as names
from gym_anything.verification.vlm.checklist import Checklist, read_checklist
from gym_anything.verification.vlm.frames import choose_frames
from gym_anything.verification.vlm.query import parsed_answer
from gym_anything.verification.vlm.scoring import MalformedAnswer, read_answer, score_items
from gym_anything.verification.vlm.settings import VlmSettings, checklist_spec

pytestmark = pytest.mark.unit

PLAIN = {
    "task_completion": [
        {"id": "opened", "description": "opened it", "points": 40, "visual_evidence": "a window"},
        {"id": "saved", "description": "saved it", "points": 60},
    ],
    "integrity": [{"id": f"honest_{i}", "description": "by hand"} for i in range(4)],
    "privileged_info_for_vlm": "the answer is 42",
}


def checklist(data: Any = PLAIN) -> Checklist:
    return read_checklist(data, file="c.json")


def said(completion: dict[str, str], integrity: dict[str, str]) -> dict[str, Any]:
    def listed(words: dict[str, str]) -> list[dict[str, str]]:
        return [{"id": k, "verdict": v, "evidence": "seen"} for k, v in words.items()]

    return {"task_completion": listed(completion), "integrity": listed(integrity), "overall_reasoning": "well"}


HONEST = {f"honest_{i}": "pass" for i in range(4)}


def scored(completion: dict[str, str], integrity: dict[str, str] = HONEST, **thresholds: float) -> Any:
    items, honest, _ = read_answer(said(completion, integrity), checklist())
    return score_items(items, honest, **{"completion_threshold": 80, "integrity_threshold": 0.75, **thresholds})


def test_pass_is_full_and_partial_half_of_the_points() -> None:
    assert scored({"opened": "pass", "saved": "pass"}).score == 100
    half = scored({"opened": "pass", "saved": "partial"})
    assert (half.score, half.passed) == (70, False)
    assert scored({"opened": "pass", "saved": "partial"}, completion_threshold=70).passed
    assert scored({"opened": "fail", "saved": "partial"}).score == 30


def test_too_little_integrity_leaves_nothing() -> None:
    done = {"opened": "pass", "saved": "pass"}
    one_off = scored(done, {**HONEST, "honest_0": "fail"})
    assert (one_off.integrity_rate, one_off.score, one_off.passed) == (0.75, 100, True)
    two_off = scored(done, {**HONEST, "honest_0": "fail", "honest_1": "fail"})
    assert (two_off.score, two_off.passed, two_off.completion_score) == (0, False, 100)
    assert scored(done, {**HONEST, "honest_0": "fail", "honest_1": "fail"}, integrity_threshold=0.5).passed


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ([], "one JSON object"),
        ({}, "no verdict for 'opened'"),
        (said({"opened": "pass"}, HONEST), "no verdict for 'saved'"),
        (said({"opened": "pass", "saved": "maybe"}, HONEST), "'maybe'"),
        (said({"opened": "pass", "saved": "pass"}, {**HONEST, "honest_0": "partial"}), "honest_0"),
        (said({"opened": "pass", "saved": "pass"}, {}), "integrity has no verdict"),
        ({"task_completion": [None, 3, {"id": "opened", "verdict": ["pass"]}], "integrity": "x"}, "opened"),
    ],
)
def test_an_answer_that_judges_not_every_item_is_malformed(answer: Any, words: str) -> None:
    with pytest.raises(MalformedAnswer, match=words):
        read_answer(answer, checklist())


def test_models_may_answer_with_an_object_by_id_and_other_words() -> None:
    answer = {"task_completion": {"opened": "YES", "saved": {"verdict": "Partially"}}, "integrity": HONEST}
    completion, _, text = read_answer(answer, checklist())
    assert [v.verdict for v in completion] == ["pass", "partial"] and text == ""


def test_real_spellings_are_read() -> None:
    """The corpus: item for id, other names of the lists, an object as privileged information, points on integrity."""
    got = checklist({
        "checklist": [{"item": "a", "criterion": "do a", "evidence": "see a", "points": "30"}, {"name": "b", "points": 70}],
        "integrity_checks": [{"item": "honest", "points": 5}],
        "privileged_info": {"answer": 42},
        "pass_threshold": 60,
    })  # fmt: skip
    assert [(i.id, i.description, i.points, i.evidence) for i in got.completion] == [
        ("a", "do a", 30, "see a"), ("b", "b", 70, ""),
    ]  # fmt: skip
    assert got.integrity[0].id == "honest" and got.integrity[0].points == 0
    assert got.privileged == '{"answer": 42}' and got.pass_threshold == 60
    shared = checklist({"items": [{"description": "x"}, {"description": "y"}]})
    assert [i.points for i in shared.completion] == [50, 50] and len({i.id for i in shared.completion}) == 2


@pytest.mark.parametrize(
    ("data", "key"),
    [
        ([], ""),
        ({}, "task_completion"),
        ({"task_completion": []}, "task_completion"),
        ({"task_completion": {}}, "task_completion"),
        ({"task_completion": ["x"]}, r"task_completion\[0\]"),
        ({"task_completion": [{"id": "a"}, {"id": "a"}]}, "two items"),
        ({"task_completion": [{"id": "a", "points": -1}]}, "points"),
        ({"task_completion": [{"id": "a", "points": "many"}]}, "points"),
        ({"task_completion": [{"id": "a", "points": True}]}, "points"),
        ({"task_completion": [{"id": "a", "points": 0}]}, "sum to 0"),
        ({"task_completion": [{"id": "a"}], "integrity": "x"}, "integrity"),
        ({"task_completion": [{"id": "a"}], "pass_threshold": 101}, "pass_threshold"),
    ],
)
def test_a_checklist_that_cannot_be_judged_by_is_the_contents(data: Any, key: str) -> None:
    with pytest.raises(SpecInvalid, match=rf"c\.json.*{key}") as caught:
        checklist(data)
    assert caught.value.blame == "content"


def test_every_checklist_of_the_corpus_reads(corpus_dir: Path) -> None:
    files = sorted(corpus_dir.joinpath("corpus").rglob("vlm_checklist.json"))
    assert files
    for file in files:
        read = read_checklist(json.loads(file.read_text()), file=file)
        assert sum(i.points for i in read.completion) == 100 and read.integrity and read.privileged


def traj(folder: Path, count: int) -> dict[str, Any]:
    frames = [folder / f"frame_{i:05d}.png" for i in range(count)]
    for path in [*frames, folder / "final.png", folder / "post_verification.png"]:
        path.touch()
    return {
        "frames": [str(f) for f in frames],
        "final_screenshot": str(folder / "final.png"),
        "post_verification_screenshot": str(folder / "post_verification.png"),
    }


def chosen(folder: Path, count: int, **how: Any) -> list[str]:
    return [Path(f).stem.removeprefix("frame_000") for f in choose_frames(traj(folder, count), **how)]


def test_frames_are_the_beginning_the_end_and_every_third_between(tmp_path: Path) -> None:
    got = chosen(tmp_path, 15, strategy="first3_every3_last3", most=24)
    assert got == ["00", "01", "02", "03", "06", "09", "12", "13", "14", "final"]
    assert chosen(tmp_path, 3, strategy="first3_every3_last3", most=24) == ["00", "01", "02", "final"]


def test_frames_keep_to_their_bound_and_end_with_the_judged_state(tmp_path: Path) -> None:
    assert chosen(tmp_path, 40, strategy="uniform", most=3) == ["00", "20", "final"]
    assert chosen(tmp_path, 40, strategy="last", most=2) == ["39", "final"]
    assert chosen(tmp_path, 40, strategy="all", most=1) == ["final"]
    assert len(chosen(tmp_path, 40, strategy="all", most=0)) == 41
    assert choose_frames({}, strategy="all", most=5) == []
    with pytest.raises(SettingInvalid, match="first3_every3_last3"):
        choose_frames({}, strategy="best", most=5)


def test_the_judged_state_is_shown_once_though_it_lies_there_under_two_names(tmp_path: Path) -> None:
    both = traj(tmp_path, 2)
    assert [Path(f).name for f in choose_frames(both, strategy="all", most=0)] == [
        "frame_00000.png", "frame_00001.png", "final.png",
    ]  # fmt: skip
    (tmp_path / "final.png").unlink()
    assert Path(choose_frames(both, strategy="last", most=2)[-1]).name == "post_verification.png"
    (tmp_path / "post_verification.png").unlink()
    assert Path(choose_frames(both, strategy="last", most=2)[-1]).name == "frame_00001.png"


def settings(spec: dict[str, Any] | None = None, **environ: str) -> VlmSettings:
    return VlmSettings(environ, spec)


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for setting in vars(names).values():
        if isinstance(setting, names.Setting):
            for variable in (setting.special, setting.general):
                if variable is not None:
                    monkeypatch.delenv(variable.name, raising=False)
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def test_a_checklists_variable_wins_over_the_task_and_the_task_over_the_general_one() -> None:
    general = {"VLM_MODEL": "general"}
    special = {"GYM_ANYTHING_VLM_CHECKLIST_MODEL": "special"}
    assert settings({"model": "task"}, **general, **special).endpoint().model == "special"
    assert settings({"model": "task"}, **general).endpoint().model == "task"
    assert settings({}, **general).endpoint().model == "general"
    assert settings(None, **general, **special).endpoint().model == "general", "of query_vlm"
    assert settings({"max_frames": 5}).value(names.MAX_FRAMES) == 5
    assert settings({}).value(names.MAX_FRAMES) == 24


def test_the_verifiers_own_variables_win_over_the_processs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLM_MODEL", "of the process")
    assert settings(None).endpoint().model == "of the process"
    assert settings(None, VLM_MODEL="mine").endpoint().model == "mine"


def test_nothing_is_configured_without_a_model_or_a_needed_key() -> None:
    with pytest.raises(VlmNotConfigured, match="VLM_MODEL"):
        settings(None).endpoint()
    with pytest.raises(VlmNotConfigured, match="VLM_API_KEY"):
        settings(None, VLM_MODEL="m", VLM_BACKEND="anthropic").endpoint()
    place = settings(None, VLM_MODEL="m").endpoint()
    assert (place.protocol, place.base_url, place.api_key) == ("openai", names.LOCAL_URL, NO_KEY)
    place = settings(None, VLM_MODEL="m", VLM_BACKEND="anthropic", ANTHROPIC_API_KEY="sk-anthropic-1").endpoint()
    assert (place.protocol, place.base_url, place.api_key) == ("anthropic", None, "sk-anthropic-1")


def test_a_key_is_never_sent_to_an_address_that_a_task_has_chosen() -> None:
    keys = {"VLM_API_KEY": "sk-for-my-server", "OPENAI_API_KEY": "sk-of-openai", "VLM_MODEL": "m"}
    assert settings({"base_url": "http://evil/v1"}, **keys).endpoint().api_key == NO_KEY
    assert settings({}, VLM_BASE_URL="http://mine/v1", **keys).endpoint().api_key == "sk-for-my-server"


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"api_key": "sk-x"}, "does not belong into a task"),
        ({"modle": "m"}, "unknown key 'modle'"),
        ({"max_frames": "many"}, "max_frames"),
        ({"max_frames": True}, "max_frames"),
        ({"integrity_threshold": 75}, "integrity_threshold"),
        ({"backend": "telepathy"}, "backend"),
    ],
)
def test_a_wrong_setting_in_a_task_is_the_contents(spec: dict[str, Any], words: str) -> None:
    with pytest.raises(SpecInvalid, match=words):
        made = settings(spec, VLM_MODEL="m")
        made.endpoint()
        [made.value(setting) for setting in names.CHECKLIST_KEYS]


def test_a_wrong_variable_is_named() -> None:
    with pytest.raises(SettingInvalid, match="VLM_MAX_RETRIES"):
        settings(None, VLM_MODEL="m", VLM_MAX_RETRIES="0").endpoint()
    with pytest.raises(SettingInvalid, match="belong together"):
        settings(None, VLM_MODEL="m", VLM_PRICE_INPUT="1").endpoint()


def test_the_nested_form_of_existing_tasks_is_read() -> None:
    assert checklist_spec({"vlm_checklist": "mine.json", "program": "verifier.py::v"}) == {"checklist": "mine.json"}
    assert checklist_spec({"model": "a", "vlm_checklist": {"model": "b"}}) == {"model": "b"}
    assert checklist_spec({"checklist_path": "x.json"}) == {"checklist": "x.json"}


def test_json_is_found_by_rule_in_what_models_say() -> None:
    assert find_json('{"a": 1}') == {"a": 1}
    assert find_json('Sure!\n```json\n{"a": [1, 2]}\n```\nDone.') == {"a": [1, 2]}
    assert find_json('I think {this} is it: {"a": {"b": "}"}} and {"c": 2}') == {"a": {"b": "}"}}
    assert find_json("so [1, 2]") == [1, 2]
    for text in ("", "no", "{'a': 1}", "[]x", "{" * 5000):
        with pytest.raises(ValueError):
            find_json(text)
    assert parsed_answer("Yes, it is.") == {"answer": True} and parsed_answer("No. Yes?") == {}
    assert parsed_answer("[1]") == {"items": [1]} and parsed_answer("nothing; I know it") == {}
