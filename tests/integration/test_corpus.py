"""Real environments, tasks and splits of public benchmarks load unchanged; broken ones give one clear error each."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gym_anything.benchmark.corpus import find_benchmarks_under, verify_benchmark
from gym_anything.benchmark.layout import find_benchmark
from gym_anything.benchmark.splits import load_splits
from gym_anything.errors import SpecError
from gym_anything.specs import EnvSpec, TaskSpec
from gym_anything.specs.loading import list_tasks, load_env, scan_tasks
from gym_anything.specs.preset import preset_data, preset_names
from gym_anything.specs.reading import find_spec_file, read_document

pytestmark = pytest.mark.real

# What presets say for people is ours; what they mean to a machine is theirs.
FOR_PEOPLE = {"id", "version", "description", "about"}


@pytest.fixture(scope="module")
def corpus(corpus_dir: Path) -> Path:
    return corpus_dir / "corpus"


def env_folders(corpus: Path) -> list[Path]:
    return sorted(p.parent for p in corpus.glob("benchmarks/*/environments/*/env.*"))


def test_every_environment_task_and_split_loads(corpus: Path) -> None:
    benchmarks = find_benchmarks_under(corpus)
    reports = [verify_benchmark(benchmark) for benchmark in benchmarks]
    broken = [str(error) for report in reports for error in report.broken]
    assert not broken
    loaded: Counter[str] = sum((report.loaded for report in reports), Counter())
    on_disk = {
        "environments": len(env_folders(corpus)),
        "tasks": len(list(corpus.glob("benchmarks/*/environments/*/tasks/*/task.*"))),
        "splits": len(list(corpus.glob("benchmarks/*/splits/*.json"))),
    }
    assert {name: loaded[name] for name in on_disk} == on_disk, "each file was loaded, none passed over"
    assert on_disk["environments"] >= 78 and on_disk["tasks"] >= 163


def test_what_is_missing_beside_the_specs_is_reported_apart(corpus: Path) -> None:
    reports = [verify_benchmark(benchmark) for benchmark in find_benchmarks_under(corpus)]
    kinds = Counter(missing.kind for report in reports for missing in report.missing)
    assert all(report.ok for report in reports)
    assert {"mount", "script", "verifier", "apk"} <= set(kinds), "this corpus holds specs only"
    # One verifier is named by each task, and none is there.
    assert kinds["verifier"] == sum(report.loaded["tasks"] for report in reports)


def test_every_broken_file_gives_exactly_one_clear_error_and_spoils_nothing_else(corpus_dir: Path) -> None:
    folder = (corpus_dir / "corpus_invalid").resolve()
    files = {str(p) for p in folder.rglob("*") if p.is_file()}
    errors = [error for b in find_benchmarks_under(folder) for error in verify_benchmark(b).broken]
    assert Counter(error.detail["file"] for error in errors) == Counter(files)
    for error in errors:
        assert str(error).startswith(error.detail["file"]) and error.detail["fix"] and error.detail["key"]
        assert "Traceback" not in str(error) and len(str(error)) < 1500


def resolved_by_hand(env: dict[str, Any], presets: Path) -> dict[str, Any]:
    """Merge an environment over the corpus's own preset, written apart from the code under test."""

    def merge(low: Any, high: Any) -> Any:
        if isinstance(low, dict) and isinstance(high, dict):
            return {**low, **{k: merge(low[k], v) if k in low else v for k, v in high.items()}}
        return high

    if "base" not in env:
        return env
    preset = json.loads((presets / f"{env['base']}.json").read_text())
    result = merge({k: v for k, v in preset.items() if k not in FOR_PEOPLE}, env)
    for key in ("observation", "action"):
        items = {item["type"]: item for item in preset.get(key, [])}
        for item in env.get(key, []):
            items[item["type"]] = merge(items.get(item["type"], {}), item)
        result[key] = list(items.values())
    assert isinstance(result, dict)
    return result


def for_machines(value: Any) -> Any:
    """Leave out what is written for people only."""
    if isinstance(value, dict):
        return {k: for_machines(v) for k, v in value.items() if k != "note"}
    return [for_machines(v) for v in value] if isinstance(value, list) else value


def test_every_environment_resolves_to_the_same_values_as_with_the_public_presets(corpus: Path) -> None:
    for folder in env_folders(corpus):
        file, _ = find_spec_file(folder, "env")
        assert file is not None
        expected = resolved_by_hand(read_document(file).data, corpus / "presets")
        spec = load_env(folder).spec
        resolved = {k: v for k, v in spec.to_dict().items() if k != "base_resolved"}
        assert for_machines(resolved) == for_machines(expected), folder.name


def test_our_presets_mean_the_same_as_the_public_ones_of_the_same_name(corpus: Path) -> None:
    public = {path.stem: json.loads(path.read_text()) for path in (corpus / "presets").glob("*.json")}
    assert set(public) <= set(preset_names())
    for name, data in public.items():
        theirs = {k: v for k, v in data.items() if k not in FOR_PEOPLE}
        assert for_machines(preset_data(name)) == for_machines(theirs), name


def test_no_words_for_people_are_copied_from_the_public_presets(corpus: Path) -> None:
    """The corpus is here to be loaded; none of it is copied into the project."""

    def words(value: Any) -> set[str]:
        if isinstance(value, dict):
            mine = {str(v) for k, v in value.items() if k in {"note", "description", "about"}}
            return mine.union(*(words(v) for v in value.values())) if value else mine
        return set().union(*(words(v) for v in value)) if isinstance(value, list) and value else set()

    for path in (corpus / "presets").glob("*.json"):
        ours = words(preset_data(path.stem))
        assert not ours & words(json.loads(path.read_text())), path.stem


def test_every_spec_survives_the_round_trip_through_json(corpus: Path) -> None:
    for folder in env_folders(corpus):
        spec = load_env(folder).spec
        assert EnvSpec.from_dict(json.loads(json.dumps(spec.to_dict()))) == spec
        for entry in scan_tasks(folder):
            assert entry.task is not None
            task = entry.task.spec
            file, _ = find_spec_file(entry.task.root, "task")
            assert file is not None and task.to_dict() == read_document(file).data, "nothing is lost and nothing added"
            assert TaskSpec.from_dict(task.to_dict()) == task
            assert task.prompt not in (task.id, task.name), "every task tells the agent something"


def test_what_the_corpus_teaches_about_single_environments(corpus: Path) -> None:
    environments = {folder.name: load_env(folder).spec for folder in env_folders(corpus)}
    assert any(spec.default_cache_level == "post_start" for spec in environments.values())
    assert any(spec.default_use_savevm for spec in environments.values())
    by_system = Counter(spec.os_type for spec in environments.values())
    assert set(by_system) == {"linux", "windows", "android", "macos"}, "from the preset alone in most of them"
    assert all(spec.screen_size is not None for spec in environments.values())
    assert all(spec.action_of("keyboard") and spec.action_of("mouse") for spec in environments.values())
    # Inherited item by item: their own files list a screen only.
    assert environments["gimp_env"].observation_of("audio_waveform") is not None


def test_splits_give_only_tasks_that_exist_and_report_the_rest(corpus: Path) -> None:
    gone = 0
    for found in find_benchmarks_under(corpus):
        splits = load_splits(find_benchmark(found.root))
        assert not splits.errors
        for env in found.environments():
            tasks = set(list_tasks(found.env_dir(env)))
            for name in splits.names(env):
                selection = splits.select(env, name)
                assert set(selection.tasks) <= tasks and not set(selection.gone) & tasks
                gone += len(selection.gone)
            assert set(splits.select(env, "disk").tasks) == tasks
            if splits.verified is not None:
                assert set(splits.select(env, "all", "verified").tasks) <= tasks
    assert gone > 0, "this corpus lists more tasks than it holds"


def test_a_task_that_does_not_parse_is_still_listed(corpus_dir: Path) -> None:
    folder = corpus_dir / "corpus_invalid" / "benchmarks" / "cua_world" / "environments" / "aerobridge_env"
    assert list_tasks(folder) == ["calculate_operational_bounds", "change_admin_password"]
    assert all(entry.task is None and isinstance(entry.error, SpecError) for entry in scan_tasks(folder))
