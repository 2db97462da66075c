"""``gym-anything bench desktop``, run whole on real X servers."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gym_anything._util.state_dir import Run
from gym_anything._util.supervisor import Supervisor
from gym_anything.measure import desktop_ways
from gym_anything.measure.desktop_report import ServerReport, servers_here
from gym_anything.measure.desktop_rig import Rig
from tests.conftest import RequireBackend

pytestmark = [pytest.mark.real, pytest.mark.timeout(180)]

BENCH = [sys.executable, "-m", "gym_anything.cli.main", "bench", "desktop"]


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*BENCH, *arguments], capture_output=True, text=True, timeout=150)


@pytest.fixture
def needs(require_backend: RequireBackend) -> None:
    for program in ("Xvfb", "Xvnc", "xterm", "xdotool", "scrot", "import"):
        require_backend(program.lower(), shutil.which(program) is not None, f"{program} is not installed")
    Supervisor.shared()  # one for the whole process: no test leaves it behind


def test_every_series_has_ours_and_the_ways_take_turns(needs: None, no_leaks: Any) -> None:
    result = bench("--rounds", "2", "--json")
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    assert [server["server"] for server in document["servers"]] == ["Xvnc", "Xvfb"]
    for server in document["servers"]:
        series = server["series"]
        assert all(ways["ours"]["p50"] > 0 for name, ways in series.items() if "rest" not in name)
        seen = series["screenshot, after a full change"]
        assert {"ours", "ours, PIL image", "scrot", "import"} <= set(seen)
        assert len(seen["scrot"]["samples"]) == 2 and len(seen["ours"]["samples"]) == 10
        assert series["click, acknowledged"]["xdotool"]["times_ours"] > 10
        assert {"click to changed pixel", "env.step with one click, fast mode"} <= set(series)
        assert "xdotool" in series["typing 1,000 characters, arrived"]
        assert server["wrong_texts"]["ours"] == 0, "our text arrives exactly"


def test_people_get_a_table_and_are_told_what_was_left_out(needs: None, no_leaks: Any) -> None:
    result = bench("--rounds", "1", "--server", "Xvfb")
    assert result.returncode == 0, result.stderr
    assert "screenshot, unchanged" in result.stdout and "× ours" in result.stdout and "Xvnc" not in result.stdout
    if desktop_ways.find_spec("pyautogui") is None:
        assert "left out: pyautogui: pyautogui is not installed" in result.stdout


@pytest.mark.parametrize("wrong", [["--server", "Xorg"], ["--rounds", "0"], ["--rounds", "many"]])
def test_wrong_use_is_said(wrong: list[str]) -> None:
    result = bench(*wrong)
    assert result.returncode == 2 and "Traceback" not in result.stderr


def test_a_desktop_that_does_not_come_up_leaves_nothing(
    needs: None, monkeypatch: pytest.MonkeyPatch, no_leaks: Any
) -> None:
    before = {world.id for world in Run.current().worlds}
    monkeypatch.setattr("gym_anything.measure.desktop_rig.PrivateScreen.start_service", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        Rig(servers_here()[0])
    assert {world.id for world in Run.current().worlds} == before


def test_a_way_that_is_missing_says_why(needs: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    missing = {way.name: way.missing for way in desktop_ways.ways_to_click(None)}  # type: ignore[arg-type]
    assert missing["ours"] is None and missing["xdotool"] == "xdotool is not installed"


def test_ratios_are_against_ours() -> None:
    report = ServerReport("Xvfb", {"click": {"ours": [1.0, 2.0, 3.0], "other": [20.0], "none": []}})
    found = report.to_dict()["series"]["click"]
    assert found["other"]["times_ours"] == 10 and found["ours"]["times_ours"] == 1 and "none" not in found
