"""A benchmark of a few tasks on the fake world, written into a temporary folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FAKE_WORLD = "gym_anything.testing.fakes.world:FakeWorld"

ENV: dict[str, Any] = {
    "id": "small.notes@1",
    "runner": FAKE_WORLD,
    "observation": [{"type": "rgb_screen", "resolution": [320, 200]}],
    "action": [{"type": "mouse"}, {"type": "keyboard"}],
    "step_cycle_ms": 0,
    "recording": {"enable": False},
}
VERIFIER = """
import os, tempfile
def verify(traj, env_info, task_info):
    with tempfile.TemporaryDirectory() as folder:
        local = os.path.join(folder, "typed.txt")
        try:
            env_info["copy_from_env"]("/home/ga/typed.txt", local)
            typed = open(local, encoding="utf-8").read()
        except FileNotFoundError:
            typed = ""
    passed = typed == task_info["metadata"]["text"]
    return {"passed": passed, "score": 100 if passed else 0, "feedback": f"typed {typed!r}"}
"""


def write_task(env_dir: Path, task: str, *, text: str = "hello", verifier: str = VERIFIER, **more: Any) -> Path:
    """Write a task that wants ``text`` typed, with an oracle and a near miss."""
    root = env_dir / "tasks" / task
    root.mkdir(parents=True)
    spec = {
        "id": f"{task}@1",
        "description": f"Type {text}",
        "init": {"timeout_sec": 60, "max_steps": 10},
        "metadata": {"text": text},
        "success": {"mode": "program", "spec": {"program": "verifier.py::verify"}},
        **more,
    }
    (root / "task.json").write_text(json.dumps(spec), "utf-8")
    (root / "verifier.py").write_text(verifier, "utf-8")
    (root / "oracle.json").write_text(json.dumps([{"keyboard": {"text": text}}]), "utf-8")
    (root / "near_miss_1.json").write_text(json.dumps([{"keyboard": {"text": text[:-1]}}]), "utf-8")
    return root


def write_env(root: Path, env: str = "notes", tasks: tuple[str, ...] = ("a", "b", "c"), **changes: Any) -> Path:
    """Write an environment with tasks; returns its folder."""
    env_dir = root / "environments" / env
    env_dir.mkdir(parents=True)
    (env_dir / "env.json").write_text(json.dumps({**ENV, **changes}), "utf-8")
    for task in tasks:
        write_task(env_dir, task)
    return env_dir


def write_split(root: Path, env: str, **lists: list[str]) -> None:
    """Write an environment's split file (``train_tasks=[…]``)."""
    (root / "splits").mkdir(exist_ok=True)
    content = {"env_folder": f"examples/{env}", **lists}
    (root / "splits" / f"{env}_split.json").write_text(json.dumps(content), "utf-8")
