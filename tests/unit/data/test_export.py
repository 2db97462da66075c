"""Exports of episodes that were played: what is in them, what is not, and that they come back as they went."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from gym_anything.benchmark.results_reading import read_experiment
from gym_anything.data import hub
from gym_anything.data.arrow import VERSION_KEY
from gym_anything.data.columns import EPISODE_COLUMNS, STEP_COLUMNS, episode_row, step_row
from gym_anything.data.export import ExportSummary, Format, export
from gym_anything.data.output_folder import PictureStore, new_folder
from gym_anything.data.sft import read_sft
from gym_anything.data.sources import Choice, LeftOut, trajectories_of, trajectory_of_folder
from gym_anything.data.tables import read_episodes, read_steps
from gym_anything.data.trajectory import Trajectory
from gym_anything.errors import BenchmarkError
from tests.unit.data.played import TURNS, play

pytestmark = pytest.mark.unit


def trajectories(root: Path, choice: Choice | None = None, exp: str = "first") -> list[Trajectory]:
    return list(trajectories_of(read_experiment(root / exp), choice or Choice(), LeftOut()))


def exported(root: Path, form: Format, choice: Choice | None = None, **options: Any) -> ExportSummary:
    left_out = LeftOut()
    source = trajectories_of(read_experiment(root / "first"), choice or Choice(), left_out)
    return export(source, root / "out", form, left_out=left_out, **options)


def test_a_trajectory_is_read_as_it_was_played(tmp_path: Path) -> None:
    run_dir = play(tmp_path)
    (found,) = trajectories(tmp_path)
    assert (found.prompt, found.env_id, found.task_id, found.screen) == ("Type it into a", "fake@1", "a@1", (64, 48))
    assert found.source == str(run_dir.relative_to(tmp_path / "first")) and found.agent_finished
    assert [(list(step.actions), step.thought) for step in found.steps[:2]] == list(TURNS)
    assert [step.number for step in found.steps] == [1, 2, 3] and found.steps[2].mark_done
    pictures = [step.before for step in found.steps] + [found.steps[-1].after]
    assert [path.name if path else None for path in pictures] == [f"frame_{n:05d}.png" for n in range(4)]
    assert found.id == trajectories(tmp_path)[0].id


def test_conversations_name_their_pictures_and_each_is_there_once(tmp_path: Path) -> None:
    run_dir = play(tmp_path)
    play(tmp_path, "b", "failed")
    summary = exported(tmp_path, "sft")
    assert (summary.episodes, summary.steps, dict(summary.left_out)) == (2, 6, {})
    first, second = read_sft(tmp_path / "out")
    assert (first["status"], second["status"], first["schema"]) == ("passed", "failed", 1)
    frames = [next(run_dir.glob(f"episode_*/frame_{number:05d}.png")).read_bytes() for number in range(3)]
    assert [(tmp_path / "out" / image).read_bytes() for image in first["images"]] == frames
    parts = [part for message in first["messages"] for part in message["content"] if part["type"] == "image"]
    assert len(parts) == len(first["images"]) == first["turns"] == 3
    stored = sorted(path.name for path in (tmp_path / "out" / "images").iterdir())
    assert stored == sorted({Path(image).name for line in (first, second) for image in line["images"]})
    assert str(tmp_path) not in (tmp_path / "out" / "train.jsonl").read_text()
    assert "/nowhere" not in (tmp_path / "out" / "train.jsonl").read_text()


def test_broken_and_interrupted_episodes_are_left_out_unless_asked_for(tmp_path: Path) -> None:
    play(tmp_path, "a")
    play(tmp_path, "b", "broken")
    play(tmp_path, "c", "failed", interrupted=True)
    summary = exported(tmp_path, "parquet")
    assert (summary.episodes, dict(summary.left_out)) == (1, {"broken": 1, "interrupted": 1})
    all_of_them = Choice(("passed", "failed", "broken"), interrupted=True)
    assert [found.record.outcome.status for found in trajectories(tmp_path, all_of_them)] == [
        "passed",
        "broken",
        "failed",
    ]
    assert [found.record.request["task"] for found in trajectories(tmp_path, Choice(tasks=("a",)))] == ["a"]
    assert trajectories(tmp_path, Choice(models=("n",))) == []


def test_an_attempt_that_was_tried_again_is_there_once(tmp_path: Path) -> None:
    play(tmp_path, "a", "broken")
    play(tmp_path, "a", "failed", finished_at="2026-01-01T00:02:00+00:00")
    (found,) = trajectories(tmp_path, Choice(("passed", "failed", "broken")))
    assert found.record.outcome.status == "failed"


def test_an_episode_whose_picture_was_not_kept_is_left_out_of_conversations(tmp_path: Path) -> None:
    run_dir = play(tmp_path)
    next(run_dir.glob("episode_*/frame_00001.png")).unlink()
    with pytest.raises(BenchmarkError, match=r"1 without all its pictures; play without --fast-io"):
        exported(tmp_path, "sft")
    assert not (tmp_path / "out").exists()
    exported(tmp_path, "sft", allow_missing=True)
    (line,) = read_sft(tmp_path / "out")
    assert (line["missing"], len(line["images"]), line["turns"]) == (1, 2, 3)
    assert line["messages"][3]["content"] == [{"type": "text", "text": "(the screenshot was not kept)"}]


@pytest.mark.parametrize("form", ["sft", "hf"])
def test_an_episode_with_refused_turns_is_whole(tmp_path: Path, form: Format) -> None:
    """The agent has seen nothing new after a refusal, by the parser or by the world: no picture is missing."""
    click, far_out, unknown = TURNS[0][0], [{"mouse": {"left_click": [900, 20]}}], [{"voice": "hello"}]
    play(tmp_path, turns=[(click, "there"), (far_out, "far out"), (unknown, None), (click, None)])
    (found,) = trajectories(tmp_path)
    assert [(step.number, bool(step.error)) for step in found.steps] == [
        (1, False),
        (2, True),
        (2, True),
        (3, False),
        (4, False),
    ]
    before = [step.before.name if step.before else None for step in found.steps]
    assert before == [f"frame_{number:05d}.png" for number in (0, 1, 1, 1, 3)]
    assert [step.after is None for step in found.steps] == [False, True, True, False, False]
    summary = exported(tmp_path, form)
    assert (summary.episodes, dict(summary.left_out)) == (1, {})
    if form == "sft":
        (line,) = read_sft(tmp_path / "out")
        assert (line["refused"], line["missing"], line["turns"]) == (2, 0, 5)
        words = [part["text"] for message in line["messages"] for part in message["content"] if "text" in part]
        assert sum(text.startswith("The last action was refused and not done") for text in words) == 2
        assert json.loads(line["messages"][4]["content"][0]["text"])["actions"] == far_out


def test_a_picture_that_fast_mode_did_not_keep_is_missing_after_a_refusal_too(tmp_path: Path) -> None:
    click, far_out = TURNS[0][0], [{"mouse": {"left_click": [900, 20]}}]
    play(tmp_path, turns=[(click, None), (far_out, None), (click, None)], fast_io=True)
    (found,) = trajectories(tmp_path)
    assert [step.before is None for step in found.steps[:3]] == [False, True, True]


def test_tables_come_back_as_they_went(tmp_path: Path) -> None:
    play(tmp_path, usage={"input_tokens": 12, "output_tokens": 3, "cost_usd": 0.5}, warnings=("w",))
    play(tmp_path, "b", "broken", verifier={"passed": False})
    choice = Choice(("passed", "broken"))
    exported(tmp_path, "parquet", choice)
    out, played = tmp_path / "out", trajectories(tmp_path, choice)
    place = PictureStore(out).place
    assert read_episodes(out) == [episode_row(each) for each in played]
    assert read_steps(out) == [step_row(each, step, place) for each in played for step in each.steps]
    first, second = read_episodes(out)
    assert (first["cost_usd"], first["input_tokens"], first["tags"], first["seed"]) == (0.5, 12, ["typing"], 7)
    assert (second["blame"], second["cost_usd"], json.loads(second["verifier"])) == ("world", None, {"passed": False})
    assert first["started_at"].isoformat() == "2026-01-01T00:00:00.250000+00:00"
    steps = read_steps(out)
    assert json.loads(steps[0]["actions"]) == TURNS[0][0] and steps[0]["thought"] == "open the field"
    assert all((out / step[side]).is_file() for step in steps for side in ("before", "after"))


def test_rows_have_a_value_for_each_column_and_no_more(tmp_path: Path) -> None:
    play(tmp_path)
    (found,) = trajectories(tmp_path)
    assert set(episode_row(found)) == {column.name for column in EPISODE_COLUMNS}
    row = step_row(found, found.steps[0], lambda path: None if path is None else path.name)
    assert set(row) == {column.name for column in STEP_COLUMNS}


def test_a_table_of_another_version_is_refused(tmp_path: Path) -> None:
    play(tmp_path)
    exported(tmp_path, "parquet")
    path = tmp_path / "out" / "episodes.parquet"
    table = pyarrow.parquet.read_table(path)
    assert table.schema.metadata[VERSION_KEY] == b"1"
    assert table.schema.field("score").metadata[b"about"].startswith(b"0 to 100")
    newer = table.append_column("more", pyarrow.array([1]))
    pyarrow.parquet.write_table(newer, path)
    assert len(read_episodes(tmp_path / "out")) == 1, "a column may be added"
    pyarrow.parquet.write_table(table.replace_schema_metadata({VERSION_KEY: b"2"}), path)
    with pytest.raises(BenchmarkError, match="schema 2"):
        read_episodes(tmp_path / "out")
    path.write_bytes(b"PAR1")
    with pytest.raises(BenchmarkError, match="cannot be read"):
        read_episodes(tmp_path / "out")


def test_a_data_set_holds_its_pictures_and_says_what_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "_GROUP_BYTES", 1)
    monkeypatch.setattr(hub, "_SHARD_BYTES", 1)
    run_dir = play(tmp_path)
    play(tmp_path, "b")
    exported(tmp_path, "hf")
    shards = sorted(path.name for path in (tmp_path / "out" / "data").iterdir())
    assert shards == ["train-00000-of-00002.parquet", "train-00001-of-00002.parquet"]
    table = pyarrow.parquet.read_table(tmp_path / "out" / "data" / shards[0])
    (row,) = table.to_pylist()
    frame = next(run_dir.glob("episode_*/frame_00000.png"))
    assert row["images"][0] == {"bytes": frame.read_bytes(), "path": frame.name}
    assert row["messages"][1]["content"] == [
        {"type": "text", "text": "The task: Type it into a"},
        {"type": "image", "text": None},
    ]
    features = json.loads(table.schema.metadata[b"huggingface"])["info"]["features"]
    assert list(features) == table.column_names
    card = (tmp_path / "out" / "README.md").read_text()
    assert card.startswith("---\ndataset_info:") and "2 episodes" in card and "path: data/train-*" in card


def test_a_folder_that_is_taken_is_left_alone(tmp_path: Path) -> None:
    play(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    with pytest.raises(BenchmarkError, match="is there already"):
        exported(tmp_path, "sft")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine.txt"]
    (tmp_path / "out" / "mine.txt").unlink()
    assert exported(tmp_path, "sft").episodes == 1, "an empty one is as good as none"


@pytest.mark.parametrize("form", ["sft", "parquet", "hf"])
def test_an_export_that_is_cut_off_leaves_nothing(tmp_path: Path, form: Format) -> None:
    play(tmp_path)

    def stopped() -> Iterator[Trajectory]:
        yield from trajectories(tmp_path)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export(stopped(), tmp_path / "new" / "out", form)
    assert list((tmp_path / "new").iterdir()) == []


def test_what_a_killed_export_left_is_removed_by_the_next_one(tmp_path: Path) -> None:
    dead, alive = tmp_path / ".out.4194399.ab.part", tmp_path / ".out.1.ab.part"
    for part in (dead, alive):
        (part / "images").mkdir(parents=True)
    with new_folder(tmp_path / "out") as folder:
        (folder / "file").write_text("")
    assert not dead.exists() and alive.exists() and (tmp_path / "out" / "file").exists()


def test_a_run_without_artifacts_is_named_and_stops_nothing(tmp_path: Path) -> None:
    gone, cut, spoilt = play(tmp_path, "a"), play(tmp_path, "b"), play(tmp_path, "c")
    for path in sorted(gone.glob("episode_*/*")):
        path.unlink()
    next(gone.glob("episode_*")).rmdir()
    with next(cut.glob("episode_*/traj.jsonl")).open("a") as stream:
        stream.write('{"event": "st')
    next(spoilt.glob("episode_*/traj.jsonl")).write_text("no\nevents\n")
    summary = exported(tmp_path, "sft")
    assert (summary.episodes, dict(summary.left_out)) == (1, {"without a trajectory": 2})
    assert "no artifacts" in summary.stories[0] and "line 1" in summary.stories[1]


def test_an_episode_of_ones_own_program_is_exported_too(tmp_path: Path) -> None:
    folder = next(play(tmp_path).glob("episode_*"))
    found = trajectory_of_folder(folder, exp="mine", env="notes", task="a", agent="oracle")
    assert (found.prompt, found.record.request["model"], found.record.request["seed"]) == (
        "Type it into a",
        "oracle",
        7,
    )
    assert found.agent_finished and found.record.duration_s >= 0
    (folder / "summary.json").unlink()
    with pytest.raises(BenchmarkError, match="no finished episode"):
        trajectory_of_folder(folder, exp="mine", env="notes", task="a")
