"""``gym-anything bench input-latency`` on real desktops, and on one that only the runner contract gives away."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from tests.conftest import RequireBackend
from tests.docker_engine import TestEngine
from tests.e2e.local_world import require_local_world
from tests.qemu_machines import require_qemu
from tests.strangers_on_path import STRANGERS

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]

BENCH = [sys.executable, "-m", "gym_anything.cli.main", "bench", "input-latency"]
TOOL = Path(__file__).parents[3] / "benchmarks" / "desktop_basics" / "tools" / "measure_input_latency.py"
GESTURES = ["click", "double click", "drag selection", "triple click", "click with shift held", "chords", "text"]
ACTIONS = 10


def measured(argv: list[str], **environ: str) -> dict[str, Any]:
    """Run it and return what it found in one world; everything must have arrived."""
    done = subprocess.run(
        [*argv, "--json"], capture_output=True, text=True, timeout=280, env={**os.environ, **environ}, check=False
    )
    assert done.stdout, done.stderr[-3000:]
    (world,) = json.loads(done.stdout)["worlds"]
    assert [check for check in world["checks"] if not check["ok"]] == []
    assert done.returncode == 0, done.stderr[-3000:]
    return world  # type: ignore[no-any-return]


def names(world: dict[str, Any], part: str) -> list[str]:
    return [check["name"] for check in world["checks"] if check["part"] == part]


@pytest.fixture
def local_world(require_backend: RequireBackend) -> None:
    """What a local world needs; what it starts stays for the whole process, so it comes before leaks are looked for."""
    require_local_world(require_backend)


@pytest.mark.soak
def test_all_evidence_of_a_local_world_and_nothing_left(tmp_path: Path, local_world: None, no_leaks: Any) -> None:
    """By the script that lies beside the benchmark."""
    world = measured([sys.executable, str(TOOL), "--runner", "local", "--rounds", "2", "--out", str(tmp_path)])
    assert names(world, "editor") == GESTURES
    assert len(names(world, "events")) == ACTIONS == len(world["boundaries"]["env_step"])
    assert len(names(world, "map")) == 5 and len(names(world, "menus")) == 2
    assert world["left_out"] == {} and world["acks_input_delivery"] and world["over"] == "a text editor"
    assert {device["use"] for device in world["devices"]} >= {"pointer", "keyboard"}
    assert world["events"]["click"]["devices"]["Virtual core XTEST pointer"]["button_press"] == 2
    saved = (tmp_path / "local" / "editor" / "text.txt").read_text(encoding="utf-8")
    assert "東京で会いましょう" in saved and "the whole line is new" in saved
    for sheet, rows in (("menus", 2), ("drag", 3)):
        with Image.open(tmp_path / "local" / f"{sheet}.png") as picture:
            assert picture.width > 1900 and picture.height > rows * 200
    assert json.loads((tmp_path / "local" / "report.json").read_text(encoding="utf-8")) == world


@pytest.mark.slow
def test_a_world_of_somebody_elses_is_reached_by_the_contract_alone(local_world: None, no_leaks: Any) -> None:
    """It has one picture, no settle, commands without a time-out: what the guide for authors asks for."""
    move = '{"mouse": {"move": [5, 6]}}'
    argv = [*BENCH, "--runner", "borrowed_desktop.world:BorrowedDesktop", "--quick", "--evidence", "editor"]
    world = measured([*argv, "--action", move], PYTHONPATH=str(STRANGERS))
    assert names(world, "editor") == GESTURES and list(world["boundaries"]["env_step"]) == [move]


@pytest.mark.soak
def test_containers_and_machines_take_all_input(
    docker_desktop: TestEngine, apptainer_desktop: None, require_backend: RequireBackend, tmp_path: Path
) -> None:
    require_qemu(require_backend)
    for runner in ("docker", "apptainer", "qemu_native"):
        world = measured(
            [*BENCH, "--runner", runner, "--quick", "--out", str(tmp_path)], DOCKER_HOST=docker_desktop.host
        )
        assert world["left_out"] == {} and names(world, "editor") == GESTURES
        assert (tmp_path / runner / "menus.png").is_file()


@pytest.mark.soak
def test_ctrl_c_leaves_nothing(tmp_path: Path, local_world: None, no_leaks: Any) -> None:
    said = tmp_path / "said"
    with said.open("wb") as file:
        argv = [*BENCH, "--runner", "local", "--evidence", "events"]
        process = subprocess.Popen(argv, stdout=file, stderr=file, start_new_session=True)
        try:
            _wait_for("times", said)
            os.killpg(process.pid, signal.SIGINT)  # as a terminal does
            assert process.wait(30) == 130
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    assert said.read_text().endswith("interrupted\n") and "Traceback" not in said.read_text()


def _wait_for(word: str, said: Path) -> None:
    read: Callable[[], str] = said.read_text
    wait_until(lambda: word in read(), deadline=Deadline.after(60), awaited=word, status=read)
