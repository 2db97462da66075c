"""What `desktop_basics` holds, without playing it: each task is whole, the splits cover all of them, points add up."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from gym_anything.actions.solution import read_solution
from gym_anything.benchmark.layout import find_benchmark
from gym_anything.benchmark.splits import load_splits
from gym_anything.specs.loading import load_env
from gym_anything.specs.mounts import resolve_mounts
from tests.e2e.proofs import expected_points

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[3] / "benchmarks" / "desktop_basics"
ENV = ROOT / "environments" / "debian_desktop"
GREENHOUSE = Path(__file__).parents[3] / "examples" / "greenhouse" / "greenhouse_world"
TASKS = sorted(path.parent for path in ENV.glob("tasks/*/task.json"))
ASKED = {
    "drag selection", "drag and drop", "scroll", "double click", "context menu", "key chords", "unicode", "long text", "waiting",
    "two applications", "editor", "terminal", "file manager", "spreadsheet", "drawing", "calculator", "archive", "image viewer",
    "settings", "notes", "browser",
}  # fmt: skip


def _load(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"content_{file.stem}", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("task", TASKS, ids=lambda path: path.name)
def test_a_task_has_all_that_proves_and_explains_it(task: Path) -> None:
    spec: dict[str, Any] = json.loads((task / "task.json").read_text(encoding="utf-8"))
    assert spec["id"] == f"{task.name}@1" and spec["difficulty"] in ("easy", "medium", "hard")
    near = sorted(task.glob("near_miss_*.json"))
    assert len(near) >= 2
    for file in (task / "oracle.json", *near):
        steps = read_solution(file, screen=(1920, 1080))
        assert 0 < len(steps) <= spec["init"]["max_steps"], f"{file.name}: an agent could not take as many steps"
    readme = (task / "README.md").read_text(encoding="utf-8")
    assert readme.startswith(f"# {task.name}\n") and len(readme.splitlines()) <= 40, "one screen"
    assert spec["description"].split("\n")[0] in readme
    points = expected_points(task)  # what the proofs compare with what was played
    assert all(0 <= given < 100 for given in points.values())
    assert any(given > 0 for given in points.values()), "going half of the way is worth something"
    setup = task / "setup" / "setup.sh"
    assert setup.stat().st_mode & 0o111
    assert not re.search(r"\bsleep (?!0\.\d)", setup.read_text(encoding="utf-8")), "it waits for something"


WORLDS = sorted(path.parent for root in (ROOT, GREENHOUSE) for path in root.glob("environments/*/env.json"))


@pytest.mark.parametrize("env", WORLDS, ids=lambda path: path.name)
def test_no_world_holds_what_solves_or_judges_its_tasks(env: Path) -> None:
    """An agent can read whatever is mounted, also in a task whose terminal is open."""
    loaded = load_env(env)
    mounts = {mount.target: mount.source for mount in resolve_mounts(loaded.spec, loaded.root)}
    assert all(source.is_dir() for source in mounts.values())
    seen = {file for source in mounts.values() for file in source.rglob("*")}
    hidden = [file for task in env.glob("tasks/*") for file in task.iterdir() if file.name != "setup"]
    assert len(hidden) >= 5 * len(list(env.glob("tasks/*"))), "spec, verifier, oracle, near misses"
    assert not seen.intersection(hidden)
    assert not [file for file in seen if file.name in {"verifier.py", "oracle.json"} or "near_miss" in file.name]
    for task in (file.parent for file in env.glob("tasks/*/task.json")):
        assert mounts[f"/workspace/tasks/{task.name}"] == task / "setup"
        hooks = json.loads((task / "task.json").read_text(encoding="utf-8"))["hooks"].values()
        assert all((task / "setup" / Path(hook).name).stat().st_mode & 0o111 for hook in hooks)
        assert all(str(Path(hook).parent) == f"/workspace/tasks/{task.name}" for hook in hooks)


def test_the_tasks_ask_for_what_people_do() -> None:
    tags = {tag for task in TASKS for tag in json.loads((task / "task.json").read_text(encoding="utf-8"))["tags"]}
    assert len(TASKS) >= 24
    assert tags >= ASKED


def test_the_splits_cover_every_task_once() -> None:
    splits = load_splits(find_benchmark(ROOT))
    train, test = (splits.select("debian_desktop", name).tasks for name in ("train", "test"))
    names = [task.name for task in TASKS]
    assert sorted((*train, *test)) == names
    assert sorted(splits.select("debian_desktop", surface="verified").tasks) == names
    by_difficulty = [splits.select("debian_desktop", name).tasks for name in ("easy", "medium", "hard")]
    assert sorted(task for tasks in by_difficulty for task in tasks) == names
    for name, tasks in zip(("easy", "medium", "hard"), by_difficulty, strict=True):
        for task in tasks:
            assert json.loads((ENV / "tasks" / task / "task.json").read_text(encoding="utf-8"))["difficulty"] == name


def test_the_page_of_the_benchmark_lists_every_task() -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE) and all(f"| `{task.name}` |" in page for task in TASKS)


def test_its_binding_module_knows_its_own_folder() -> None:
    binding = _load(ROOT / "registry" / "splits.py")
    assert binding.benchmark().root == ROOT
    assert "demo" in binding.split_names("debian_desktop")
    assert binding.select("debian_desktop", "demo").tasks[0] == "write_note"


def test_points_feedback_and_what_is_spoiled() -> None:
    judge = _load(ENV / "utils" / "judging.py").judge
    asked = {"the name": (40, True), "the place": (60, False)}
    half = judge(asked, {"the rest": True})
    assert (half["passed"], half["score"], half["feedback"]) == (False, 40, "missing: the place")
    spoiled = judge({"the name": (100, True)}, {"the rest": False}, "two files")
    assert (spoiled["passed"], spoiled["score"]) == (False, 50)
    assert spoiled["feedback"] == "spoiled: the rest (two files)"
    assert judge({"the name": (100, True)})["passed"]
