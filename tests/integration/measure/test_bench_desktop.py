"""``gym-anything bench desktop``, run whole on real X servers."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tools.desktop_chart import desktop_chart
from tools.reference_figures import DESKTOP, keys_of

from gym_anything._util.deadline import Deadline
from gym_anything._util.state_dir import Run
from gym_anything._util.supervisor import Supervisor
from gym_anything._util.waiting import wait_until
from gym_anything.measure.desktop_report import Effort, document, measure_desktop, servers_here
from gym_anything.measure.desktop_rig import Rig
from gym_anything.measure.way import WAYS
from gym_anything.runtime.native.locate import native_program
from tests.bench.figure_bench_desktop import names, summary_and_samples
from tests.conftest import RequireBackend

pytestmark = [pytest.mark.real, pytest.mark.timeout(180)]

BENCH = [sys.executable, "-m", "gym_anything.cli.main", "bench", "desktop"]
SERIES = {
    "see_unchanged", "see_full_change", "see_part_change", "click_acknowledged", "click_to_pixel", "step", "step_unchanged",
    "cpu_of_a_picture", "cpu_60_changes", "cpu_at_rest", "memory_in_use", "memory_at_rest", "memory_beyond_frames",
    "start", "type_ascii_1000", "type_mixed_120",
}  # fmt: skip
WAY_KEYS = {"name", "p50", "p95", "min", "max", "times_ours", "times_ours_95", "wrong", "arrived_fewest", "samples"}


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*BENCH, *arguments], capture_output=True, text=True, timeout=150)


@pytest.fixture
def needs(require_backend: RequireBackend) -> None:
    for program in ("Xvfb", "Xvnc", "xterm", "xdotool", "scrot", "import"):
        require_backend(program.lower(), shutil.which(program) is not None, f"{program} is not installed")
    native_program("ga-desktop")
    Supervisor.shared()  # one for the whole process: no test leaves it behind


@pytest.mark.soak
@pytest.mark.parametrize("server", ["Xvnc", "Xvfb"])
def test_every_series_has_every_way_and_each_turn_did_what_it_measures(
    server: str, needs: None, no_leaks: Any, require_backend: RequireBackend
) -> None:
    result = bench("--quick", "--server", server, "--json")
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert set(found) == {"schema", "conditions", "rounds", "servers"} and found["schema"] == 1 and found["rounds"] == 3
    (report,) = found["servers"]
    require_backend("pyautogui", "pyautogui" not in report["skipped"], report["skipped"].get("pyautogui", ""))
    assert set(report) == {"server", "series", "skipped"} and report["server"] == server and report["skipped"] == {}
    series = report["series"]
    assert set(series) == SERIES
    for key, one in series.items():
        assert set(one) == {"title", "unit", "characters", "ways"}
        for way in one["ways"].values():
            assert set(way) == WAY_KEYS, key
            assert 0 <= way["min"] <= way["p50"] <= way["p95"] <= way["max"], key
    seen, clicks = series["see_full_change"]["ways"], series["click_acknowledged"]["ways"]
    assert set(seen) == {*WAYS, "ours_image"} - {"xdotool"} and set(clicks) == {"ours", "xdotool", "pyautogui", "http"}
    assert len(seen["scrot"]["samples"]) == 3 and len(seen["ours"]["samples"]) == 15, "by turns, ours five times"
    wrong = {(key, way): found["wrong"] for key, one in series.items() for way, found in one["ways"].items()}
    assert {where for where, count in wrong.items() if count and where[1].startswith("ours")} == set()
    assert {where for where, count in wrong.items() if count and where[0].startswith("see")} == set(), (
        "nobody saw an old one"
    )
    assert clicks["xdotool"]["times_ours"] > 10
    for key, characters in (("type_ascii_1000", 1000), ("type_mixed_120", 120)):
        assert series[key]["characters"] == characters == series[key]["ways"]["ours"]["arrived_fewest"]
    assert series["type_mixed_120"]["ways"]["pyautogui"]["arrived_fewest"] < 120, "it has no keys for other scripts"
    assert series["memory_beyond_frames"]["ways"]["ours"]["p50"] < series["memory_in_use"]["ways"]["ours"]["p50"]


@pytest.mark.soak
def test_the_record_has_what_the_page_of_figures_shows(needs: None, tmp_path: Path) -> None:
    """Of a run with one way, so that it is short: what the rows name, and what the chart is drawn from."""
    effort = Effort(rounds=5, window_s=0.2)
    found = document(measure_desktop(["Xvfb"], effort, ["xdotool"]), effort)
    summary, _ = summary_and_samples(found)
    shown = {key for row in DESKTOP if row.record == "bench_desktop" for key in keys_of(row.shows()["Xvfb"])}
    assert shown and shown <= set(summary), shown - set(summary)
    assert desktop_chart({"summary": summary, **names(found)}).count("xdotool") == 4


@pytest.mark.soak
def test_people_get_a_table_of_the_ways_they_want(needs: None, no_leaks: Any) -> None:
    result = bench("--quick", "--server", "Xvfb", "--ways", "scrot,xdotool")
    assert result.returncode == 0, result.stderr
    assert "picture, screen unchanged" in result.stdout and "× ours" in result.stdout
    assert "xdotool + scrot" in result.stdout and "1,000 of 1,000 arrived; 1 of 1 exact" in result.stdout
    assert not {"Xvnc", "HTTP", "pyautogui", "left out"} & set(result.stdout.replace(":", " ").split())
    assert "Xvfb: step: click, then picture" in result.stderr, "how far it is"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["--server", "Xorg"], "Xvfb"),
        (["--rounds", "0"], "--rounds"),
        (["--rounds", "many"], "--rounds"),
        (["--ways", "xdotools"], "xdotool "),
        (["--quick", "--rounds", "3"], "leave out --rounds"),
    ],
)
def test_wrong_use_is_said(wrong: list[str], said: str) -> None:
    result = bench(*wrong)
    assert result.returncode == 2 and said in result.stderr and "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("phase", "ways"),
    [
        ("picture, screen unchanged", "scrot,http"),
        pytest.param("click to changed pixel", "xdotool", marks=pytest.mark.soak),
    ],
)
def test_ctrl_c_leaves_nothing(phase: str, ways: str, tmp_path: Path, needs: None, no_leaks: Any) -> None:
    """L2: in the middle of other people's programs, too. What is left is found by label and folder."""
    with (tmp_path / "said").open("wb+") as said:
        argv = [*BENCH, "--server", "Xvfb", "--rounds", "20", "--ways", ways]
        process = subprocess.Popen(argv, stdout=said, stderr=said, start_new_session=True)
        try:
            wait_until(
                lambda: phase in (tmp_path / "said").read_text(),
                deadline=Deadline.after(60),
                awaited=phase,
                status=(tmp_path / "said").read_text,
            )
            os.killpg(process.pid, signal.SIGINT)  # as a terminal does
            assert process.wait(30) == 130
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    text = (tmp_path / "said").read_text()
    assert text.endswith("interrupted\n") and "Traceback" not in text
    assert not list(Path.cwd().glob(".screenshot*"))


def test_a_desktop_that_does_not_come_up_leaves_nothing(
    needs: None, monkeypatch: pytest.MonkeyPatch, no_leaks: Any
) -> None:
    before = {world.id for world in Run.current().worlds}
    monkeypatch.setattr("gym_anything.measure.desktop_rig.PrivateScreen.start_service", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        Rig(servers_here()[0])
    assert {world.id for world in Run.current().worlds} == before
