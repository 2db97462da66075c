"""Experiments to look at, written by the writers that real runs use, without playing anything."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

from gym_anything._util.atomic_write import write_json
from gym_anything._util.secrets import Redactor
from gym_anything.benchmark.episode_record import EpisodeRecord
from gym_anything.benchmark.episode_request import EpisodeRequest
from gym_anything.benchmark.results import INFO_FILE, ResultsFolder
from gym_anything.episode.artifacts import FINAL, SUMMARY, EpisodeFolder
from gym_anything.episode.outcome import Outcome

SIZE = (640, 400)
_BEGAN = 1772359205.0
EVIL = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>"
"""What an agent may think to get at who looks."""

STEPS: tuple[dict[str, Any], ...] = (
    {
        "actions": [{"mouse": {"left_click": [120, 80]}}],
        "metadata": {"thought": "The menu is at the top.", "model": "m-1"},
    },
    {
        "actions": [{"keyboard": {"text": "Hello"}}, {"keyboard": {"keys": ["ctrl", "s"]}}],
        "metadata": {"thought": EVIL},
    },
    {"actions": [{"mouse": {"left_click_drag": [[100, 100], [300, 200]]}}], "metadata": {}},
)


def request(
    task: str = "write", model: str = "m-1", env: str = "editor", seed: int | None = None, attempt: int = 0
) -> EpisodeRequest:
    """Return what was asked."""
    return EpisodeRequest("/envs/" + env, task, env, agent="some", model=model, seed=seed, attempt=attempt)


def add_run(
    results: ResultsFolder,
    asked: EpisodeRequest,
    outcome: Outcome | None,
    *,
    steps: Sequence[Mapping[str, Any]] | None = STEPS,
    size: tuple[int, int] = SIZE,
    frame: Path | None = None,
    prompt: str = "Write it down.",
    seconds: float = 21.5,
) -> Path:
    """Write one run and return its folder; ``outcome`` None leaves it unfinished, ``steps`` None without artifacts.

    With ``frame`` every frame is that picture, of ``size``; else they are drawn.
    """
    run_dir = results.new_run_dir(asked)
    verifier = None
    if outcome is not None and not outcome.is_broken:
        verifier = {
            "passed": outcome.status == "passed",
            "score": outcome.score,
            "feedback": outcome.story,
            "subscores": {"file is there": 60, "text is right": outcome.score - 60},
        }
    episode = None if steps is None else _episode(run_dir, steps, verifier, size, frame, prompt)
    if outcome is None:
        return run_dir
    record = EpisodeRecord(
        asked.public(),
        outcome,
        reason="Agent Completed",
        steps=len(steps or ()),
        reward=outcome.score / 100,
        verifier=verifier,
        runner="local",
        started_at="2026-03-01T10:00:00.000+00:00",
        finished_at="2026-03-01T10:00:21.500+00:00",
        duration_s=seconds,
        timings={"load_s": 0.4, "reset_s": 5.25, "agent_s": seconds - 9.5, "judge_s": 1.5},
        episode_dir=episode.name if episode is not None else None,
    )
    write_json(run_dir / INFO_FILE, record.to_dict())  # as finish_run does, without waiting for the disk
    return run_dir


def _episode(
    run_dir: Path,
    steps: Sequence[Mapping[str, Any]],
    verifier: Mapping[str, Any] | None,
    size: tuple[int, int],
    shown: Path | None,
    prompt: str,
) -> Path:
    folder = EpisodeFolder(run_dir, Redactor())
    folder.append("reset", {"env_id": "editor@1", "task_id": "write@1", "prompt": prompt, "runner": "local"})
    draw = picture if shown is None else lambda path, _number, _size: shutil.copyfile(shown, path)
    draw(folder.path_of_frame(0), 0, size)
    folder.append("session", {"ts": _BEGAN, "env_id": "editor@1", "resolution": list(size)})
    for number, step in enumerate(steps, 1):
        frame = folder.path_of_frame(number)
        if number < 10:
            draw(frame, number, size)
        else:
            shutil.copyfile(folder.path_of_frame(number % 9 + 1), frame)
        timings = {"actions_s": 0.02, "pacing_s": 0.05, "observation_s": 0.01, "step_s": 0.08}
        folder.append(
            "step",
            {
                "ts": _BEGAN + 3.4 * number,
                "step": number,
                "mark_done": False,
                **step,
                "frame": frame.name,
                "timings": timings,
            },
        )
    draw(folder.path / FINAL, len(steps), size)
    folder.append("finalize", {"reason": "Agent Completed", "verifier": verifier})
    folder.write_json(SUMMARY, {"steps": len(steps), "verifier": verifier})
    folder.close()
    return folder.path


def picture(path: Path, number: int, size: tuple[int, int]) -> None:
    """Draw something like a screen that says which one it is."""
    image = Image.new("RGB", size, (56, 92, 130))
    draw = ImageDraw.Draw(image)
    width, height = size
    draw.rectangle((width // 12, height // 10, width - width // 12, height - height // 10), (244, 244, 240))
    draw.rectangle((width // 12, height // 10, width - width // 12, height // 10 + 24), (210, 214, 220))
    draw.text((width // 12 + 10, height // 10 + 6), f"Editor, screen {number}", (20, 20, 20))
    for line in range(number * 3 % 17 + 1):
        top = height // 10 + 40 + 12 * line
        draw.line((width // 12 + 14, top, width // 2 + 31 * (line * 7 % 5), top), (90, 90, 90), 2)
    image.save(path)


def pilot(root: Path) -> Path:
    """Write a small experiment of six runs by two models; returns its folder."""
    results = ResultsFolder(root, "pilot")
    add_run(results, request(), Outcome.passed(100, "the text is there"))
    add_run(results, request(attempt=1), Outcome.failed(60, "missing: <b>text is right</b>"))
    add_run(results, request(model="m-2"), Outcome.failed(60, "missing: text is right"), steps=STEPS[:1])
    add_run(results, request("fold", "m-2"), Outcome.broken("world", "while booting: no disk is left"), steps=None)
    add_run(results, request("fold"), None)
    add_run(results, request("draw", env="painter"), Outcome.passed(100, "drawn"), steps=STEPS[2:])
    return results.exp_dir
