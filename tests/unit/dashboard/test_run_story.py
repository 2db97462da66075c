"""One run as the page gets it, from whole folders and from spoilt ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gym_anything.benchmark.results import ResultsFolder
from gym_anything.dashboard.confined import NotInside
from gym_anything.dashboard.run_list import RunList, chosen_experiments
from gym_anything.dashboard.run_story import run_story
from gym_anything.episode import observing
from gym_anything.episode.outcome import Outcome
from gym_anything.errors import ActionError, BenchmarkError, SettingInvalid
from tests.unit.episode.fake_envs import fake_env
from tests.viewed_runs import EVIL, STEPS, add_run, pilot, request

pytestmark = pytest.mark.unit
PLACE = ["m-1", "editor", "write", "run_001"]


def test_each_step_has_the_frame_that_the_agent_saw_and_the_one_after(tmp_path: Path) -> None:
    story = run_story(pilot(tmp_path), PLACE)
    episode = story["episode"]
    assert [(step["before"], step["after"]) for step in episode["steps"]] == [
        ("frame_00000.png", "frame_00001.png"),
        ("frame_00001.png", "frame_00002.png"),
        ("frame_00002.png", "frame_00003.png"),
    ]
    assert (episode["resolution"], episode["last"], episode["video"]) == ([640, 400], "final.png", None)
    assert [step["before_s"] for step in episode["steps"]] == [3.32] * 3, "what was neither acting nor looking"
    assert episode["steps"][1]["metadata"]["thought"] == EVIL
    assert [one["text"] for one in episode["steps"][1]["drawn"]] == ['type "Hello"', "press Ctrl+s"]
    assert story["finished"] and story["notes"] == []
    assert story["info"]["outcome"]["status"] == "passed"
    assert f"{episode['dir']}/frame_00003.png" in [file["path"] for file in story["files"]]


def test_a_frame_that_is_gone_is_not_shown(tmp_path: Path) -> None:
    exp = pilot(tmp_path)
    next(exp.joinpath(*PLACE).glob("episode_*/frame_00001.png")).unlink()
    steps = run_story(exp, PLACE)["episode"]["steps"]
    assert [(step["before"], step["after"]) for step in steps[:2]] == [
        ("frame_00000.png", None),
        ("frame_00000.png", "frame_00002.png"),
    ]
    assert [step["steps_earlier"] for step in steps] == [0, 1, 0], "an older one is called so"


def test_fast_mode_shows_no_frame_for_another_and_refused_turns_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_dir = ResultsFolder(tmp_path, "fast").new_run_dir(request())
    click, far_out = {"mouse": {"left_click": [10, 20]}}, {"mouse": {"left_click": [900, 20]}}
    with fake_env(run_dir, recording={"output_dir": str(run_dir)}, fast_io=True) as env:
        env.reset()
        for _ in range(2):
            env.step(click)
        with pytest.raises(ActionError):
            env.step(far_out, trajectory_metadata={"thought": "far out"})
        monkeypatch.setattr(observing, "_SAVE_EVERY_S", 0.0)
        env.step(click)
        monkeypatch.undo()
        env.step(click)
    (trajectory,) = run_dir.glob("episode_*/traj.jsonl")
    written = [json.loads(line) for line in trajectory.read_text().splitlines()]
    frames = [event["frame"] for event in written if event["event"] == "step"]
    assert frames == [None, None, "frame_00003.png", None], "its own, or none"
    steps = run_story(tmp_path / "fast", PLACE)["episode"]["steps"]
    assert [(step["before"], step["steps_earlier"], step["after"]) for step in steps] == [
        ("frame_00000.png", 0, None),
        ("frame_00000.png", 1, None),
        ("frame_00000.png", 2, None),
        ("frame_00000.png", 2, "frame_00003.png"),
        ("frame_00003.png", 0, None),
    ]
    assert "900" in steps[2]["error"]["message"] and steps[2]["metadata"] == {"thought": "far out"}


def test_what_older_versions_wrote_of_another_steps_frame_is_not_believed(tmp_path: Path) -> None:
    exp = pilot(tmp_path)
    (trajectory,) = exp.joinpath(*PLACE).glob("episode_*/traj.jsonl")
    (trajectory.parent / "frame_00002.png").unlink()
    trajectory.write_text(trajectory.read_text().replace("frame_00002.png", "frame_00001.png"))
    steps = run_story(exp, PLACE)["episode"]["steps"]
    assert [(step["before"], step["after"]) for step in steps[1:]] == [
        ("frame_00001.png", None),
        ("frame_00001.png", "frame_00003.png"),
    ]


def test_a_run_that_is_still_played_shows_what_there_is(tmp_path: Path) -> None:
    story = run_story(pilot(tmp_path), ["m-1", "editor", "fold", "run_001"])
    assert (story["finished"], story["info"], len(story["episode"]["steps"])) == (False, None, len(STEPS))


def test_a_run_without_artifacts_has_its_record(tmp_path: Path) -> None:
    story = run_story(pilot(tmp_path), ["m-2", "editor", "fold", "run_001"])
    assert story["episode"] is None and story["info"]["outcome"]["blame"] == "world"


def test_spoilt_lines_and_links_are_left_out_and_told(tmp_path: Path) -> None:
    exp = pilot(tmp_path)
    (trajectory,) = exp.joinpath(*PLACE).glob("episode_*/traj.jsonl")
    lines = trajectory.read_text().splitlines()
    trajectory.write_text(
        "\n".join([*lines[:3], "{cut", '"text"', '{"event": "step", "actions": 7, "ts": NaN}', *lines[3:]])
    )
    (trajectory.parent / "passwd.txt").symlink_to("/etc/passwd")
    story = run_story(exp, PLACE)
    assert story["notes"] == ["1 line of traj.jsonl cannot be read"]
    assert len(story["episode"]["steps"]) == len(STEPS) + 1
    assert not [file for file in story["files"] if "passwd" in file["path"]]
    json.dumps(story, allow_nan=False)


def test_a_spoilt_record_is_told(tmp_path: Path) -> None:
    exp = pilot(tmp_path)
    exp.joinpath(*PLACE, "info.json").write_text("[1, 2")
    story = run_story(exp, PLACE)
    assert story["info"] is None and "info.json cannot be read" in story["notes"][0]


def test_there_is_no_run_outside(tmp_path: Path) -> None:
    exp = pilot(tmp_path)
    for place in (["m-1", "editor", "write", "run_009"], ["..", "pilot", "m-1", "editor"]):
        with pytest.raises(NotInside):
            run_story(exp, place)


def test_the_list_follows_the_folders(tmp_path: Path) -> None:
    exp = pilot(tmp_path)
    runs = RunList({"pilot": exp})
    first = runs.listing()
    document = json.loads(first.content)
    status = document["columns"]["status"]
    found = sorted(status["words"][n] for n in status["index"])
    assert (document["count"], found) == (6, ["broken", "failed", "failed", "passed", "passed", "unfinished"])
    assert document["columns"]["score"].count(None) == 2, "neither broken nor unfinished runs have a score"
    assert runs.listing() is first
    add_run(ResultsFolder(tmp_path, "pilot"), request("new"), Outcome.passed(100), steps=None)
    second = runs.listing()
    assert second.tag != first.tag and json.loads(second.content)["count"] == 7


def test_experiments_are_found_by_name_and_by_folder(tmp_path: Path) -> None:
    exp = pilot(tmp_path)
    assert chosen_experiments([], tmp_path) == chosen_experiments(["pilot"], tmp_path) == {"pilot": exp}
    assert chosen_experiments([str(exp)], tmp_path / "elsewhere") == {"pilot": exp}
    with pytest.raises(BenchmarkError, match="pilot"):
        chosen_experiments(["pliot"], tmp_path)
    with pytest.raises(SettingInvalid, match="there is no experiment"):
        chosen_experiments([], tmp_path / "elsewhere")
    other = pilot(tmp_path / "other")
    with pytest.raises(SettingInvalid, match="two of the experiments"):
        chosen_experiments(["pilot", str(other)], tmp_path)
