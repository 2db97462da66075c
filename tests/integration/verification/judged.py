"""Tasks with verifiers written by the test, judged on a stand-in of a world."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

from gym_anything._util import proc
from gym_anything._util.deadline import Deadline
from gym_anything.errors import GuestFileNotFound, VlmNotConfigured
from gym_anything.verification.cancellation import Cancellation
from gym_anything.verification.contract import JudgeRequest, Verdict
from gym_anything.verification.program import judge_by_program


class DictWorld:
    """A world of a few files; what a judge may ask of it."""

    def __init__(self, files: Mapping[str, str] | None = None) -> None:
        self.files = dict(files or {})
        self.commands: list[str] = []
        self.error: Exception | None = None

    def exec_capture(self, command: str, *, deadline: Deadline) -> str:
        if self.error is not None:
            raise self.error
        self.commands.append(command)
        return f"ran {command}"

    def copy_from_env(self, guest_path: str, host_path: str, *, deadline: Deadline) -> None:
        if self.error is not None:
            raise self.error
        if guest_path not in self.files:
            raise GuestFileNotFound(f"no such file in the guest: {guest_path}")
        Path(host_path).write_text(self.files[guest_path], encoding="utf-8")

    def copy_to_env(self, host_path: str, guest_path: str, *, deadline: Deadline) -> None:
        self.files[guest_path] = Path(host_path).read_text(encoding="utf-8")

    def query_vlm(self, arguments: Mapping[str, Any], *, deadline: Deadline) -> Mapping[str, Any]:
        raise VlmNotConfigured("no model")


def write_task(folder: Path, source: str, name: str = "verifier.py") -> Path:
    """Write a verifier and return the task's folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(dedent(source), encoding="utf-8")
    return folder


def judged(
    task_root: Path,
    *,
    world: Any = None,
    program: Any = "verifier.py::verify",
    env_root: Path | None = None,
    seconds: float = 20.0,
    cancellation: Cancellation | None = None,
    **changes: Any,
) -> Verdict:
    """Judge by a task's program."""
    episode_dir = task_root / "episode"
    shutil.rmtree(episode_dir, ignore_errors=True)
    episode_dir.mkdir(parents=True)
    request = JudgeRequest(
        **{
            "success": None,
            "task_root": task_root,
            "env_root": env_root,
            "episode_dir": episode_dir,
            "traj": {"steps": [{"step": 1}], "frames": []},
            "env_info": {"env_id": "env@1", "episode_dir": str(episode_dir), "container": None},
            "task_info": {"task_id": "task@1", "metadata": {"answer": 42}, "task_spec": {}},
            "deadline": Deadline.after(seconds),
            "cancellation": cancellation,
            "output_path": episode_dir / "output.txt",
            **changes,
        }
    )
    return judge_by_program(request, {"program": program}, world or DictWorld())


def running(words: str) -> list[int]:
    """Return the processes of ours whose command line holds ``words``."""
    found = []
    for pid in proc.descendants(os.getpid()):
        try:
            line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if words in line:
            found.append(pid)
    return found
