"""What a person at a terminal sees while episodes run."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from gym_anything.benchmark.episode_record import EpisodeRecord
from gym_anything.benchmark.episode_request import EpisodeRequest
from gym_anything.benchmark.execute import EpisodeNews
from gym_anything.cli import progress
from gym_anything.episode.outcome import Outcome

pytestmark = pytest.mark.unit

REQUEST = EpisodeRequest(benchmark="b", env_dir="/nowhere/editor", env="editor", task="greet", agent="noop")


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    text = io.StringIO()
    terminal = Console(file=text, force_terminal=True, width=90)
    monkeypatch.setattr(progress, "make_console", lambda *, stderr: terminal)
    return text


def test_an_episode_that_runs_is_shown_with_its_phase_and_is_not_called_cut_off(screen: io.StringIO) -> None:
    with progress.RunProgress(1) as shown:
        shown.news(EpisodeNews(0, REQUEST, "started"))
        shown.news(EpisodeNews(0, REQUEST, "phase", phase="agent"))
        shown.news(EpisodeNews(0, REQUEST, "step", steps=3, max_steps=7))
        shown._live.refresh()
        assert "editor/greet: agent" in screen.getvalue()
        assert "3/7" in screen.getvalue()
        assert "cut off" not in screen.getvalue()


def test_a_finished_episode_is_counted_once_under_its_verdict(screen: io.StringIO) -> None:
    record = EpisodeRecord(REQUEST.public(), Outcome(status="passed", score=100.0), steps=5, duration_s=4.2)
    with progress.RunProgress(2) as shown:
        shown.news(EpisodeNews(0, REQUEST, "started"))
        shown.news(EpisodeNews(1, REQUEST, "started"))
        shown.news(EpisodeNews(0, REQUEST, "finished", record=record))
        shown.news(EpisodeNews(1, REQUEST, "cut_off"))
        assert shown._live.tasks[0].completed == 2
        assert "1 passed" in shown._live.tasks[0].description
    assert screen.getvalue().count("cut off") == 1
