"""Loading whole benchmarks: counts, one error for each broken file, and what lies around."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from gym_anything.benchmark.corpus import find_benchmarks_under, verify_benchmark, verify_path
from gym_anything.benchmark.layout import Benchmark
from gym_anything.errors import SpecNotFound
from tests.unit.specs.minimal import env_data, task_data, write_json

pytestmark = pytest.mark.unit


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "benchmarks" / "b"
    good = root / "environments" / "good_env"
    write_json(good / "env.json", env_data(mounts=[{"source": "gone", "target": "/x"}]))
    write_json(good / "tasks" / "fine" / "task.json", task_data())
    write_json(good / "tasks" / "fine" / "vlm_checklist.json", {"task_completion": [{"description": "a note"}]})
    (good / "tasks" / "broken").mkdir()
    (good / "tasks" / "broken" / "task.json").write_text('{"id": ')
    (good / "tasks" / "no_file").mkdir()
    (good / "tasks" / "seed_tasks.json").write_text("[")
    bad = root / "environments" / "bad_env"
    write_json(bad / "env.json", env_data(base="no-such-preset"))
    write_json(bad / "tasks" / "fine" / "task.json", task_data())
    write_json(root / "environments" / "only_tasks_env" / "tasks" / "fine" / "task.json", task_data())
    (root / "environments" / "README.md").write_text("x")
    write_json(root / "splits" / "good_split.json", {"env_folder": "good_env", "train_tasks": ["fine", "gone"]})
    write_json(root / "splits" / "away_split.json", {"env_folder": "examples/away_env", "train_tasks": []})
    write_json(root / "splits" / "bad_split.json", {"train_tasks": []})
    write_json(root / "splits" / "verified.json", {"by_environment": {}})
    return root


def test_broken_files_give_one_error_each_and_spoil_nothing_else(root: Path) -> None:
    seen: list[str] = []
    report = verify_benchmark(Benchmark("b", root), seen.append)
    assert not report.ok
    assert report.loaded == {"environments": 1, "tasks": 3, "splits": 3, "checklists": 1}
    assert sorted(Path(e.detail["file"]).relative_to(root).as_posix() for e in report.broken) == [
        "environments/bad_env/env.json",
        "environments/good_env/tasks/broken/task.json",
        "splits/bad_split.json",
    ]
    assert seen == ["bad_env", "good_env", "only_tasks_env"]
    assert Counter(m.kind for m in report.missing) == {"mount": 1, "verifier": 1}
    assert Counter(r.kind for r in report.remarks) == {
        "stray-file": 2, "no-task-file": 1, "no-env-file": 1, "no-environment": 1, "tasks-gone": 1,
    }  # fmt: skip


def test_the_plain_form_is_json(root: Path) -> None:
    import json

    body = json.loads(json.dumps(verify_benchmark(Benchmark("b", root)).as_dict()))
    assert body["ok"] is False and len(body["broken"]) == 3
    assert {"code", "message", "blame", "retryable", "detail"} == set(body["broken"][0])


def test_benchmarks_are_found_at_the_folder_and_below_it(root: Path, tmp_path: Path) -> None:
    for folder in (root, root.parent, tmp_path):
        assert [b.root for b in find_benchmarks_under(folder)] == [root]
    (tmp_path / "loop").symlink_to(tmp_path)
    assert [b.root for b in find_benchmarks_under(tmp_path)] == [root]
    with pytest.raises(SpecNotFound, match="no benchmark here or below"):
        find_benchmarks_under(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("path", "loaded", "broken"),
    [
        ("environments/good_env", {"environments": 1, "tasks": 1, "checklists": 1}, 1),
        ("environments/good_env/env.json", {"environments": 1, "tasks": 1, "checklists": 1}, 1),
        ("environments/bad_env", {"tasks": 1}, 1),
        ("environments/good_env/tasks/fine", {"tasks": 1}, 0),
        ("environments/good_env/tasks/fine/task.json", {"tasks": 1}, 0),
        ("environments/good_env/tasks/broken", {}, 1),
        ("environments/bad_env/tasks/fine", {"tasks": 1}, 0),
        ("splits/good_split.json", {"splits": 1}, 0),
        ("splits/bad_split.json", {}, 1),
        ("splits/verified.json", {"splits": 1}, 0),
    ],
)
def test_one_path_is_verified_for_what_it_is(root: Path, path: str, loaded: dict[str, int], broken: int) -> None:
    report = verify_path(root / path)
    assert (dict(report.loaded), len(report.broken)) == (loaded, broken)


@pytest.mark.parametrize("path", ["", "environments", "environments/README.md", "nowhere", "splits"])
def test_a_path_that_is_none_of_these_is_refused(root: Path, path: str) -> None:
    with pytest.raises(SpecNotFound, match="neither an environment"):
        verify_path(root / path)
