"""The judges that need no process: image_match, multi, the choice of a mode; and the small parts."""

from __future__ import annotations

import math
import socket
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from gym_anything.errors import SpecInvalid, UnsupportedFeature, VerifierError
from gym_anything.verification.bounded_text import BoundedText
from gym_anything.verification.cancellation import Cancellation
from gym_anything.verification.contract import JudgeRequest, Verdict
from gym_anything.verification.image_match import judge_by_image
from gym_anything.verification.judge import judge
from gym_anything.verification.judge_process.messages import (
    MAX_MESSAGE_BYTES,
    PeerGone,
    receive_message,
    send_message,
)
from gym_anything.verification.judge_process.returned import InvalidReturn, plain_number, plain_verdict
from gym_anything.verification.multi import judge_by_several
from gym_anything.verification.program import import_path, locate_program
from gym_anything.verification.similarity import structural_similarity
from gym_anything.verification.trajectory_frames import (
    get_final_screenshot,
    get_first_screenshot,
    sample_trajectory_frames,
)

pytestmark = pytest.mark.unit

C1, C2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2


def flat(value: float, height: int = 9, width: int = 9) -> Any:
    return np.full((height, width, 3), value, np.float64)


def request(folder: Path, **changes: Any) -> JudgeRequest:
    return JudgeRequest(
        **{
            "success": None, "task_root": folder, "env_root": None, "episode_dir": folder,
            "traj": {}, "env_info": {}, "task_info": {}, **changes,
        }
    )  # fmt: skip


# --- structural similarity, against values computed by hand ------------------------------------------------------


def test_equal_pictures_are_wholly_similar() -> None:
    rng = np.random.default_rng(1)
    picture = rng.integers(0, 256, (40, 30, 3)).astype(np.float64)
    assert structural_similarity(picture, picture) == pytest.approx(1.0, abs=1e-12)


def test_flat_pictures_differ_by_their_brightness_alone() -> None:
    """Without variance SSIM is (2ab + C1) / (a² + b² + C1)."""
    expected = (2 * 100 * 150 + C1) / (100**2 + 150**2 + C1)
    assert expected == pytest.approx(0.923092, abs=1e-6)
    assert structural_similarity(flat(100), flat(150)) == pytest.approx(expected, abs=1e-9)
    assert structural_similarity(flat(0), flat(255)) == pytest.approx(C1 / (255**2 + C1), abs=1e-9)


def test_one_window_by_hand() -> None:
    """A 7×7 picture is one window: x has one bright pixel of 49, y has none."""
    x, y = flat(0, 7, 7), flat(0, 7, 7)
    x[3, 3, :] = 98.0
    mean_x = 98.0 / 49  # 2
    var_x = (98.0**2 / 49 - mean_x**2) * 49 / 48  # 192 * 49/48 = 196
    assert (mean_x, var_x) == (2.0, 196.0)
    expected = (C1 * C2) / ((mean_x**2 + C1) * (var_x + C2))
    assert structural_similarity(x, y) == pytest.approx(expected, abs=1e-12)


def test_opposite_patterns_are_negatively_similar() -> None:
    x = np.indices((7, 7)).sum(axis=0) % 2 * 255.0
    pattern, inverse = np.stack([x] * 3, axis=2), np.stack([255 - x] * 3, axis=2)
    mx, my = 24 / 49 * 255, 25 / 49 * 255
    var = (24 * 255**2 / 49 - mx**2) * 49 / 48
    expected = (2 * mx * my + C1) * (-2 * var + C2) / ((mx**2 + my**2 + C1) * (2 * var + C2))
    assert structural_similarity(pattern, inverse) == pytest.approx(expected, abs=1e-9)
    assert expected < -0.99


def test_windows_are_averaged() -> None:
    """A 7×8 picture has two windows; only the right one sees the bright column."""
    x, y = flat(0, 7, 8), flat(0, 7, 8)
    x[:, 7, :] = 49.0
    mean, var = 7.0, (49.0**2 / 7 - 49) * 49 / 48
    right = (C1 * C2) / ((mean**2 + C1) * (var + C2))
    assert structural_similarity(x, y) == pytest.approx((1.0 + right) / 2, abs=1e-12)


@pytest.mark.parametrize("shape", [(1, 1), (3, 9), (9, 3), (2, 2)])
def test_small_pictures_are_one_window(shape: tuple[int, int]) -> None:
    assert structural_similarity(flat(7, *shape), flat(7, *shape)) == pytest.approx(1.0)
    assert structural_similarity(flat(7, *shape), flat(9, *shape)) < 1.0


def test_shapes_must_agree() -> None:
    with pytest.raises(ValueError, match="shape"):
        structural_similarity(flat(1, 9, 9), flat(1, 9, 8))


# --- image_match ---------------------------------------------------------------------------------------------------


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    rng = np.random.default_rng(3)
    screen = rng.integers(0, 256, (48, 64, 3), dtype=np.uint8)
    other = screen.copy()
    other[:24] = 255 - other[:24]
    Image.fromarray(screen).save(tmp_path / "final.png")
    Image.fromarray(screen).save(tmp_path / "same.png")
    Image.fromarray(other).save(tmp_path / "other.png")
    Image.fromarray(screen).resize((32, 24)).save(tmp_path / "half.png")
    (tmp_path / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n then nothing")
    return tmp_path


def test_the_same_picture_passes_and_another_fails(pictures: Path) -> None:
    same = judge_by_image(request(pictures), {"target": "same.png"})
    assert same.passed and same.score == 100 and same.extra["ssim"] == 1.0 and same.extra["ssim_gt"] == 0.95
    other = judge_by_image(request(pictures), {"target": "other.png"})
    assert not other.passed and other.score == pytest.approx(100 * max(0, other.extra["ssim"]), abs=1e-3)
    low = judge_by_image(request(pictures), {"target": "other.png", "metric": {"ssim_gt": -1}})
    assert low.passed
    assert judge_by_image(request(pictures), {"target": "other.png", "region": [0, 24, 64, 24]}).passed
    assert judge_by_image(request(pictures), {"target": "same.png", "observed": "same.png", "metric": "ssim"}).passed


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"target": 5},
        {"target": "missing.png"},
        {"target": "broken.png"},
        {"target": "half.png"},
        {"target": "same.png", "ssim_gt": "high"},
        {"target": "same.png", "ssim_gt": 2},
        {"target": "same.png", "ssim_gt": math.nan},
        {"target": "same.png", "metric": "psnr"},
        {"target": "same.png", "metric": {"psnr": 3}},
        {"target": "same.png", "region": [0, 0, 65, 1]},
        {"target": "same.png", "region": [0, 0, 1]},
        {"target": "same.png", "region": "all"},
    ],
)
def test_what_the_content_got_wrong_is_blamed_on_it(pictures: Path, spec: dict[str, Any]) -> None:
    with pytest.raises(SpecInvalid) as error:
        judge_by_image(request(pictures), spec)
    assert error.value.blame == "content"


def test_another_size_is_compared_when_scaling_is_asked_for(pictures: Path) -> None:
    assert judge_by_image(request(pictures), {"target": "half.png", "resize": True, "ssim_gt": 0.1}).passed


def test_a_missing_screenshot_is_the_judges_trouble(pictures: Path) -> None:
    with pytest.raises(VerifierError):
        judge_by_image(request(pictures), {"target": "same.png", "observed": "nothing.png"})


# --- multi ---------------------------------------------------------------------------------------------------------


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
    ],
)
def test_a_malformed_multi_is_the_contents(spec: dict[str, Any]) -> None:
    with pytest.raises(SpecInvalid):
        several(spec, {"a": 100})


# --- the choice of a mode --------------------------------------------------------------------------------------------


def test_modes_come_from_override_environment_task_or_default(pictures: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world: Any = None
    success = {"mode": "image_match", "spec": {"target": "same.png"}}
    verdict = judge(request(pictures, success=success), world)
    assert (verdict.mode, verdict.mode_source, verdict.decided) == ("image_match", "task", True)
    verdict = judge(request(pictures, success={**success, "mode": None}, mode_override="image_match"), world)
    assert verdict.mode_source == "override"
    monkeypatch.setenv("GYM_ANYTHING_VERIFIER_MODE", "image_match")
    assert judge(request(pictures, success={**success, "mode": "program"}), world).mode_source == "environment"
    report = judge(request(pictures, success=success), world).report()
    assert {"passed", "score", "feedback", "decided", "mode", "mode_source", "ssim"} <= set(report)


def test_nothing_to_judge_by_is_undecided(tmp_path: Path) -> None:
    verdict = judge(request(tmp_path), None)  # type: ignore[arg-type]
    assert not verdict.decided and not verdict.passed and verdict.mode == "none"


@pytest.mark.parametrize(
    ("success", "kind"),
    [
        ({"mode": "telepathy", "spec": {}}, SpecInvalid),
        ({"mode": "vlm_checklist", "spec": {}}, UnsupportedFeature),
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


# --- programs: where they are --------------------------------------------------------------------------------------


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


# --- small parts -----------------------------------------------------------------------------------------------------


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


# --- what verifiers return -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("returned", "passed", "score"),
    [
        ({"passed": True}, True, None),
        ({"passed": False, "score": 40}, False, 40.0),
        ({"passed": np.bool_(True), "score": np.float64(120)}, True, 100.0),
        ({"passed": 1, "score": np.int64(-5)}, True, 0.0),
        ({"passed": "", "score": None}, False, None),
        ({"passed": None}, False, None),
        ({"passed": [], "score": 5}, False, 5.0),
    ],
)
def test_clear_verdicts_are_taken(returned: Any, passed: bool, score: float | None) -> None:
    plain = plain_verdict(returned)
    assert plain["passed"] is passed and plain["score"] == score


@pytest.mark.parametrize(
    "returned",
    [
        None, True, 5, "passed", [], {}, {"score": 100}, {"passed": "false"}, {"passed": "yes"}, {"passed": [0]},
        {"passed": math.nan}, {"passed": np.array([True, False])}, {"passed": object()}, {"passed": True, "score": "9"},
        {"passed": True, "score": math.nan}, {"passed": True, "score": math.inf}, {"passed": True, "score": True},
        {"passed": True, "score": [1]},
    ],
)  # fmt: skip
def test_doubtful_verdicts_are_refused(returned: Any) -> None:
    """V2: nonsense is broken, not 0."""
    with pytest.raises(InvalidReturn):
        plain_verdict(returned)


def test_endless_feedback_is_cut_and_says_so() -> None:
    """V8: results keep what a person reads, not what a verifier dumps."""
    plain = plain_verdict({"passed": True, "feedback": "x" * 5_000_000})
    assert len(plain["feedback"]) < 21_000
    assert plain["feedback"].endswith("(4980000 more characters left out)")


def test_extras_become_plain_json_and_feedback_text() -> None:
    plain = plain_verdict(
        {"passed": True, "feedback": ["a", "b"], "subscores": {"x": np.float32(0.5), 3: math.nan}, "path": Path("/a"),
         "set": {1}, "deep": None}
    )  # fmt: skip
    assert plain["feedback"] == "a\nb"
    assert plain["extra"] == {"subscores": {"x": 0.5, "3": None}, "path": "/a", "set": [1], "deep": None}
    cyclic: dict[str, Any] = {}
    cyclic["self"] = cyclic
    assert plain_verdict({"passed": True, "x": cyclic})["passed"]


def test_rewards_are_finite_numbers() -> None:
    assert plain_number(np.float32(0.5)) == 0.5 and plain_number(-3) == -3.0
    for wrong in (None, True, "1", math.nan, math.inf, [1]):
        with pytest.raises(InvalidReturn):
            plain_number(wrong)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.binary(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8) | st.integers(), inner, max_size=4),
    max_leaves=12,
)
RETURNS = st.fixed_dictionaries(
    {}, optional={"passed": ANYTHING, "score": ANYTHING, "feedback": ANYTHING, "x": ANYTHING}
)


@settings(max_examples=2000, deadline=None)
@given(RETURNS | ANYTHING)
def test_any_return_is_a_verdict_or_a_clear_refusal(returned: Any) -> None:
    try:
        plain = plain_verdict(returned)
    except InvalidReturn as error:
        assert str(error)
        return
    assert isinstance(plain["passed"], bool) and isinstance(plain["feedback"], str)
    assert plain["score"] is None or 0 <= plain["score"] <= 100
    ours, theirs = socket.socketpair()
    with ours, theirs:
        send_message(ours, plain)  # it is JSON without NaN
        receive_message(theirs)
