"""What the pages about reports and exports show is run as written, on an experiment that was played before and after."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.command_line import CommandLine
from tests.unit.data.played import play
from tests.unit.docs.doc_snippets import command_lines, python_snippets, run_python

pytestmark = pytest.mark.real

REPORT, EXPORT = "docs/how-to/report.md", "docs/how-to/export.md"
TASKS = ("a", "b", "c", "d", "e", "f")


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CommandLine]:
    """The folder of somebody who follows the pages: experiments ``first`` and ``second`` were played."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for number, task in enumerate(TASKS):
        for attempt in range(2):
            play(tmp_path / "all_runs", task, "passed" if number == 0 else "failed", attempt=attempt)
            play(tmp_path / "all_runs", task, "passed", exp="second", attempt=attempt)
    play(tmp_path / "all_runs", "g", "broken")
    yield CommandLine(tmp_path)


def test_the_page_about_reports(reader: CommandLine, capsys: pytest.CaptureFixture[str]) -> None:
    shown = command_lines(REPORT)
    printed = [reader(*words) for words in shown]
    assert "100.0 %" in printed[0] and "pass@2" in printed[0] and "by difficulty" in printed[0]
    assert "notes/f" in printed[1] and "by task" in printed[1]
    assert "exact paired permutation test by task" in printed[2]
    assert (
        printed[3].startswith("## second\n") and "| all | 6 | 16.7 % | 100.0 % | +83.3 | 5 | 0 | 0.0625 |" in printed[3]
    )
    first = reader.json("report", "first")["models"][0]["total"]
    assert (first["passed"], first["failed"], first["broken"], first["pass_rate"]) == (2, 10, 1, 0.166667)
    (example,) = python_snippets(REPORT)
    run_python(example, {})
    assert capsys.readouterr().out.startswith("m 1.0 Interval(low=0.75")


def test_the_page_about_exports(reader: CommandLine, capsys: pytest.CaptureFixture[str]) -> None:
    printed = [reader(*words) for words in command_lines(EXPORT)]
    assert "2 episodes, 6 steps" in printed[0] and "left out: 10 failed" in printed[0]
    assert "12 episodes, 36 steps" in printed[1] and "left out: 1 broken" in printed[1]
    chat, tables, data_set = python_snippets(EXPORT)
    namespace: dict[str, object] = {}
    for snippet in (chat, tables):
        run_python(snippet, namespace)
    assert namespace["example"]["status"] == "passed"  # type: ignore[index]
    assert {"task": "a", "status": "passed", "step_count": 6} in eval_list(capsys.readouterr().out.splitlines()[-1])
    program = Path("load.py")
    program.write_text(data_set.text, encoding="utf-8")
    loaded = CommandLine(reader.folder, (sys.executable,))(str(program))
    assert loaded.splitlines()[-1] == "(64, 48) The task: Type it into a"


def test_datasets_reads_the_conversations_as_json(reader: CommandLine) -> None:
    reader("export", "first", "--format", "sft", "--out", "set")
    program = Path("load.py")
    program.write_text(
        "from datasets import load_dataset\n"
        "data = load_dataset('json', data_files='set/train.jsonl', split='train')\n"
        "text, image = data[0]['messages'][1]['content']\n"  # keys without a value are there or not, as its release likes
        "print(len(data), data[0]['turns'], text['text'], image['type'], data.features['score'].dtype)\n"
    )
    loaded = CommandLine(reader.folder, (sys.executable,))(str(program)).splitlines()[-1]
    assert loaded == "12 3 The task: Type it into a image float64"


def test_what_cannot_be_done_is_said_in_one_line(reader: CommandLine) -> None:
    reader("report", "frist", code=1)
    reader("report", "first", "--against", "first", code=1)
    reader("report", "first", "--by", "colour", code=2)
    reader("export", "first", code=2)
    reader("export", "first", "--format", "sft", "--status", "broken", "--task", "a", code=1)
    reader("export", "nowhere", "--format", "sft", code=1)
    assert not list(reader.folder.glob("first-*")) and not list(reader.folder.glob(".first*"))


def eval_list(text: str) -> list[dict[str, object]]:
    import ast

    found = ast.literal_eval(text)
    assert isinstance(found, list)
    return found
