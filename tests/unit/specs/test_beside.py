"""What is missing beside a spec: reported with key and kind, never a fault."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gym_anything.specs.beside import missing_beside_env, missing_beside_task, program_exists
from gym_anything.specs.loading import load_env, load_task
from tests.unit.specs.minimal import env_data, task_data, write_json

pytestmark = pytest.mark.unit

MOUNTS = [{"source": "scripts", "target": "/workspace/scripts"}, {"source": "tasks", "target": "/workspace/tasks"}]


def missing_env(root: Path, **more: Any) -> list[tuple[str, str, str]]:
    write_json(root / "env.json", env_data(**more))
    return [(m.key, m.kind, m.path) for m in missing_beside_env(load_env(root))]


def missing_task(root: Path, env: dict[str, Any], **more: Any) -> list[tuple[str, str, str]]:
    write_json(root / "env.json", env_data(**env))
    write_json(root / "tasks" / "t" / "task.json", task_data(**more))
    return [(m.key, m.kind, m.path) for m in missing_beside_task(load_env(root), load_task(root, "t"))]


def test_everything_an_environment_names_is_looked_for(tmp_path: Path) -> None:
    found = missing_env(
        tmp_path,
        mounts=MOUNTS,
        apks=["gone.apk"],
        dockerfile="gone/Dockerfile",
        apptainer={"definition": "gone.def"},
        security={"secrets_ref": "gone.json"},
        hooks={
            "pre_start": "chmod +x /workspace/scripts/a.sh && bash -l /workspace/scripts/a.sh",
            "post_start": "echo /tmp/x.sh",
        },
    )
    assert found == [
        ("mounts[0].source", "mount", "scripts"),
        ("mounts[1].source", "mount", "tasks"),
        ("apks[0]", "apk", "gone.apk"),
        ("security.secrets_ref", "secrets", "gone.json"),
        ("dockerfile", "recipe", "gone/Dockerfile"),
        ("apptainer.definition", "recipe", "gone.def"),
        ("hooks.pre_start", "script", "/workspace/scripts/a.sh"),
    ]


def test_what_is_there_is_not_missing(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "a.sh").write_text("")
    (tmp_path / "tasks").mkdir()
    assert missing_env(tmp_path, mounts=MOUNTS, hooks={"pre_start": "sh /workspace/scripts/a.sh --flag"}) == []
    assert missing_env(tmp_path, mounts=MOUNTS, hooks={"pre_start": "cp /workspace/scripts/*.sh /opt"}) == []
    ((_, _, path),) = missing_env(tmp_path, mounts=MOUNTS, hooks={"pre_start": "cp /workspace/scripts/b*.sh /opt"})
    assert path == "/workspace/scripts/b*.sh"


@pytest.mark.parametrize(
    ("os_type", "target", "hook"),
    [
        ("windows", "/workspace/scripts", "powershell -File C:\\workspace\\scripts\\a.ps1"),
        ("windows", "C:\\workspace\\scripts", "C:\\workspace\\scripts\\a.ps1"),
        ("windows", "C:\\workspace", "powershell -File C:/workspace/a.ps1"),
        ("android", "/sdcard/scripts", "sh /sdcard/scripts/a.sh"),
        ("android", "/sdcard/scripts", "/sdcard/scripts/a.sh"),
        ("linux", "/workspace/scripts", "bash -lc '/workspace/scripts/a.sh; true'"),
    ],
)
def test_a_hooks_script_is_found_through_its_mount_in_any_spelling(
    tmp_path: Path, os_type: str, target: str, hook: str
) -> None:
    (tmp_path / "scripts").mkdir()
    mounts = [{"source": "scripts", "target": target}]
    ((_, kind, path),) = missing_env(tmp_path, os_type=os_type, mounts=mounts, hooks={"post_start": hook})
    assert kind == "script" and path in hook
    (tmp_path / "scripts" / path.replace("\\", "/").rsplit("/", 1)[-1]).write_text("")
    assert missing_env(tmp_path, os_type=os_type, mounts=mounts, hooks={"post_start": hook}) == []


def test_everything_a_task_names_is_looked_for(tmp_path: Path) -> None:
    found = missing_task(
        tmp_path,
        {"mounts": MOUNTS},
        hooks={"pre_task": "/workspace/tasks/t/setup.sh", "post_task": "/tmp/elsewhere.sh"},
        success={
            "mode": "multi",
            "spec": {"checks": [{"spec": {"program": "v.py::f"}}, {"spec": {"target": "goal.png"}}]},
        },
    )
    assert found == [
        ("hooks.pre_task", "script", "/workspace/tasks/t/setup.sh"),
        ("success.spec.checks[0].spec.program", "verifier", "v.py::f"),
        ("success.spec.checks[1].spec.target", "image", "goal.png"),
    ]
    folder = tmp_path / "tasks" / "t"
    for name in ("setup.sh", "v.py", "goal.png"):
        (folder / name).write_text("")
    again = missing_task(
        tmp_path,
        {"mounts": MOUNTS},
        hooks={"pre_task": "/workspace/tasks/t/setup.sh"},
        success={"spec": {"program": "v.py::f", "target": "goal.png"}},
    )
    assert again == []


def test_a_checklist_is_looked_for(tmp_path: Path) -> None:
    assert missing_task(tmp_path, {}, success={"mode": "vlm_checklist"}) == [
        ("success.mode", "checklist", "vlm_checklist.json")
    ]


def test_a_verifier_module_is_found_where_imports_look(tmp_path: Path) -> None:
    env, task = tmp_path / "env", tmp_path / "env" / "tasks" / "t"
    (env / "utils").mkdir(parents=True)
    task.mkdir(parents=True)
    assert not program_exists("checks.deep:f", task, env)
    for place in (task, task.parent, env, env / "utils"):
        (place / "checks").mkdir()
        (place / "checks" / "deep.py").write_text("raise SystemExit('never imported')")
        assert program_exists("checks.deep:f", task, env)
        (place / "checks" / "deep.py").unlink()
    assert program_exists("json.decoder:JSONDecoder", task, env)
    assert not program_exists(":", task, env) and not program_exists("..:f", task, env)
