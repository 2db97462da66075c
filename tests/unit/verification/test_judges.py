"""The judges that need no process: multi, the choice of a mode, where programs are; and the small parts."""

from __future__ import annotations

import math
import socket
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gym_anything.errors import SpecInvalid, VerifierError
from gym_anything.verification.bounded_text import BoundedText
from gym_anything.verification.cancellation import Cancellation
from gym_anything.verification.contract import Verdict
from gym_anything.verification.judge import judge
from gym_anything.verification.judge_process.messages import (
    MAX_MESSAGE_BYTES,
    PeerGone,
    receive_message,
    send_message,
)
from gym_anything.verification.multi import judge_by_several
from gym_anything.verification.program import import_path, locate_program
from gym_anything.verification.trajectory_frames import (
    get_final_screenshot,
    get_first_screenshot,
    sample_trajectory_frames,
)
from tests.unit.verification.requests import request

pytestmark = pytest.mark.unit


def several(spec: dict[str, Any], answers: dict[str, Any]) -> Verdict:
    def judge_one(success: Any) -> Verdict:
        answer = answers[success["spec"]["id"]]
        if isinstance(answer, Exception):
            raise answer
        return Verdict(answer >= 50, float(answer), "said")

    return judge_by_several(spec, judge_one)


def parts(*ids: str, **more: Any) -> dict[str, Any]:
    return {"verifiers": [{"name": i, "mode": "program", "spec": {"id": i}} for i in ids], **more}


def test_all_must_pass_by_default() -> None:
    verdict = several(parts("a", "b"), {"a": 100, "b": 20})
    assert not verdict.passed and verdict.score == 60 and verdict.extra["subscores"] == {"a": 100.0, "b": 20.0}
    assert several(parts("a", "b"), {"a": 100, "b": 60}).passed


def test_any_and_weighted() -> None:
    assert several(parts("a", "b", combine="any"), {"a": 0, "b": 60}).score == 60
    assert several(parts("a", "b", combine="any"), {"a": VerifierError("x"), "b": 60}).passed
    with pytest.raises(VerifierError):
        several(parts("a", "b", combine="any"), {"a": VerifierError("x"), "b": 10})
    spec = parts("a", "b", combine="weighted", pass_score=70)
    spec["verifiers"][0]["weight"] = 3
    assert several(spec, {"a": 80, "b": 40}).score == 70 and several(spec, {"a": 80, "b": 40}).passed
    assert not several(spec, {"a": 79, "b": 40}).passed


def test_milestones_count_in_their_order() -> None:
    spec = parts("a", "b", "c", combine="sequence")
    assert several(spec, {"a": 100, "b": 100, "c": 100}).passed
    verdict = several(spec, {"a": 100, "b": 20, "c": VerifierError("not asked")})
    assert not verdict.passed and verdict.score == 40 and verdict.extra["not_asked"] == ["c"]
    assert "c: not asked" in verdict.feedback
    assert several({**spec, "pass_score": 40}, {"a": 100, "b": 20, "c": 0}).passed
    spec["verifiers"][2]["weight"] = 2
    assert several(spec, {"a": 100, "b": 100, "c": 0}).score == 50


NUMBERS = st.floats(min_value=1e-6, max_value=1e6, allow_nan=False)


@settings(deadline=None)
@given(weights=st.lists(NUMBERS, min_size=1, max_size=8), combine=st.sampled_from(["all", "weighted", "sequence"]))
@example(weights=[0.1, 0.2], combine="weighted")
@example(weights=[1.1, 2.2], combine="sequence")
def test_full_scores_of_all_parts_are_a_full_score_whatever_they_weigh(weights: list[float], combine: str) -> None:
    names = [f"p{n}" for n in range(len(weights))]
    spec = parts(*names, combine=combine, pass_score=100)
    for part, weight in zip(spec["verifiers"], weights, strict=True):
        part["weight"] = weight
    verdict = several(spec, dict.fromkeys(names, 100))
    assert verdict.passed and verdict.score == 100.0


def test_a_score_that_is_just_enough_passes() -> None:
    spec = parts("a", "b", "c", combine="weighted", pass_score=30)
    for part, weight in zip(spec["verifiers"], (0.1, 0.2, 0.7), strict=True):
        part["weight"] = weight
    verdict = several(spec, {"a": 100, "b": 100, "c": 0})
    assert verdict.passed and verdict.score == 30.0


@pytest.mark.parametrize("combine", ["all", "any", "weighted", "sequence"])
def test_a_gate_that_is_shut_leaves_nothing_and_asks_nobody(combine: str) -> None:
    spec = parts("a", "b", combine=combine, pass_score=10)
    spec["verifiers"][1]["gate"] = True
    verdict = several(spec, {"a": VerifierError("not asked"), "b": 20})
    assert not verdict.passed and verdict.score == 0 and verdict.extra["not_asked"] == ["a"]
    verdict = several(spec, {"a": 80, "b": 60})
    assert verdict.passed and verdict.score == 80, "a gate carries no weight"
    with pytest.raises(VerifierError):
        several(spec, {"a": 100, "b": VerifierError("x")})


def test_a_broken_part_breaks_the_whole() -> None:
    with pytest.raises(VerifierError):
        several(parts("a", "b"), {"a": 100, "b": VerifierError("x")})


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"verifiers": []},
        {"verifiers": {}},
        {"verifiers": ["x"]},
        parts("a", "a"),
        parts("a", combine="most"),
        parts("a", combine="weighted", pass_score=101),
        {"verifiers": [{"spec": {"id": "a"}, "weight": 0}]},
        {"verifiers": [{"spec": {"id": "a"}, "weight": math.nan}]},
        {"verifiers": [{"spec": {"id": "a"}, "weight": True}]},
        {"verifiers": [{"spec": {"id": "a"}, "gate": True}]},
        {"verifiers": [{"spec": {"id": "a"}, "gate": 1}, {"spec": {"id": "b"}}]},
        {"verifiers": [{"spec": {"id": "a"}, "gate": True, "weight": 2}, {"spec": {"id": "b"}}]},
    ],
)
def test_a_malformed_multi_is_the_contents(spec: dict[str, Any]) -> None:
    with pytest.raises(SpecInvalid):
        several(spec, {"a": 100})


def test_modes_come_from_override_environment_task_or_default(pictures: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world: Any = None
    success = {"mode": "image_match", "spec": {"target": "same.png"}}
    verdict = judge(request(pictures, success=success), world)
    assert (verdict.mode, verdict.mode_source, verdict.decided) == ("image_match", "task", True)
    verdict = judge(request(pictures, success={**success, "mode": None}, mode_override="image_match"), world)
    assert verdict.mode_source == "override"
    monkeypatch.setenv("GYM_ANYTHING_VERIFIER_MODE", "image_match")
    assert judge(request(pictures, success={**success, "mode": "program"}), world).mode_source == "environment"
    for word in ("task", "auto", "default"):
        monkeypatch.setenv("GYM_ANYTHING_VERIFIER_MODE", word)
        assert judge(request(pictures, success=success), world).mode_source == "task"
    overridden = request(pictures, success=success, environment={"GYM_ANYTHING_VERIFIER_MODE": "Image-Match"})
    assert judge(overridden, world).mode_source == "environment"
    report = judge(request(pictures, success=success), world).report()
    assert {"passed", "score", "feedback", "decided", "mode", "mode_source", "ssim"} <= set(report)


def test_nothing_to_judge_by_is_undecided(tmp_path: Path) -> None:
    verdict = judge(request(tmp_path), None)  # type: ignore[arg-type]
    assert not verdict.decided and not verdict.passed and verdict.mode == "none"


@pytest.mark.parametrize(
    ("success", "kind"),
    [
        ({"mode": "telepathy", "spec": {}}, SpecInvalid),
        ({"mode": "vlm_checklist", "spec": {}}, SpecInvalid),
        ({"mode": "program", "spec": {}}, SpecInvalid),
        ({"mode": "program", "spec": []}, SpecInvalid),
        ({"mode": "program", "spec": "x"}, SpecInvalid),
    ],
)
def test_modes_that_cannot_judge_say_so(tmp_path: Path, success: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        judge(request(tmp_path, success=success), None)  # type: ignore[arg-type]


def test_multi_in_multi_is_bounded(pictures: Path) -> None:
    success: dict[str, Any] = {"mode": "image_match", "spec": {"target": "same.png"}}
    for _ in range(3):
        success = {"mode": "multi", "spec": {"checks": [success]}}
    assert judge(request(pictures, success=success), None).passed  # type: ignore[arg-type]
    for _ in range(5):
        success = {"mode": "multi", "spec": {"checks": [success]}}
    with pytest.raises(SpecInvalid, match="nested"):
        judge(request(pictures, success=success), None)  # type: ignore[arg-type]


def test_programs_are_files_beside_the_task_or_modules(tmp_path: Path) -> None:
    (tmp_path / "verifier.py").touch()
    file = str(tmp_path / "verifier.py")
    assert locate_program("verifier.py::check", tmp_path) == {"file": file, "module": "", "function": "check"}
    assert locate_program("verifier.py", tmp_path)["function"] == "verify"
    assert locate_program(file + "::f", None)["file"] == file
    assert locate_program("pkg.mod:func", None) == {"file": "", "module": "pkg.mod", "function": "func"}
    assert locate_program("pkg.mod::func", None) == {"file": "", "module": "pkg.mod", "function": "func"}


@pytest.mark.parametrize("reference", [None, 5, "", " ", "nope.py::f", "verifier", "a b:c", "::f", ":f", {}])
def test_a_program_that_is_not_there_is_the_contents(tmp_path: Path, reference: Any) -> None:
    with pytest.raises(SpecInvalid) as error:
        locate_program(reference, tmp_path)
    assert error.value.blame == "content"


def test_imports_are_looked_for_in_the_task_first(tmp_path: Path) -> None:
    env, task = tmp_path / "env", tmp_path / "env" / "tasks" / "t"
    task.mkdir(parents=True)
    assert import_path(task, env)[:4] == [str(task), str(task.parent), str(env), str(env / "utils")]


def test_frames_are_sampled_evenly(tmp_path: Path) -> None:
    frames = [tmp_path / f"frame_{n:05d}.png" for n in range(10)]
    for frame in frames:
        frame.touch()
    traj = {"frames": [str(f) for f in frames] + [str(tmp_path / "gone.png")], "first_frame": str(frames[0])}
    assert sample_trajectory_frames(traj, n=4) == [str(frames[i]) for i in (0, 3, 6, 9)]
    assert sample_trajectory_frames(traj, 1) == [str(frames[-1])]
    assert sample_trajectory_frames(traj, num_samples=3) == [str(frames[i]) for i in (0, 4, 9)]
    assert len(sample_trajectory_frames(traj)) == 5 and sample_trajectory_frames(traj, 0) == []
    assert len(sample_trajectory_frames(traj, 99)) == 10 and sample_trajectory_frames({}, 5) == []
    assert get_first_screenshot(traj) == str(frames[0]) and get_first_screenshot({}) is None
    (tmp_path / "final.png").touch()
    assert get_final_screenshot({**traj, "final_screenshot": str(tmp_path / "final.png")}) == str(
        tmp_path / "final.png"
    )
    assert get_final_screenshot({"frames": [str(frames[3])]}) == str(frames[3])


def test_long_output_keeps_its_beginning_and_end() -> None:
    text = BoundedText(head_bytes=10, tail_bytes=10)
    for _ in range(1000):
        text.add(b"0123456789abcdef")
    assert text.text() == "0123456789\n… 15980 bytes left out …\n6789abcdef"
    short = BoundedText()
    short.add("ä".encode()[:1])
    short.add("ä".encode()[1:])
    assert short.text() == "ä"


def test_cancelling_calls_back_once_registered_and_at_once_when_late() -> None:
    calls: list[str] = []
    button = Cancellation()
    with button.calls(lambda: calls.append("early")):
        button.cancel()
    button.cancel()
    with button.calls(lambda: calls.append("late")):
        pass
    assert calls == ["early", "late"] and button.is_set()


def test_messages_arrive_whole_or_not_at_all() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        send_message(ours, {"text": "ä\ud800", "list": [1, None]})
        assert receive_message(theirs) == {"text": "ä\ud800", "list": [1, None]}
        with pytest.raises(ValueError):
            send_message(ours, {"nan": math.nan})
        theirs.sendall(b"\xff\xff\xff\xff")
        with pytest.raises(ValueError, match=str(MAX_MESSAGE_BYTES)):
            receive_message(ours)
        theirs.sendall(b"\0\0\0\x02[]")
        with pytest.raises(ValueError, match="object"):
            receive_message(ours)
        theirs.sendall(b"\0\0\0\x09{")
        theirs.close()
        with pytest.raises(PeerGone):
            receive_message(ours)
