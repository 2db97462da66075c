"""What is expected of events, what the pictures show, what wrong use is told: without a world."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from PIL import Image, ImageChops

from gym_anything.cli.main import cli
from gym_anything.measure.input_latency.contact_sheet import contact_sheet
from gym_anything.measure.input_latency.events import Expected
from gym_anything.measure.input_latency.evidence import Picture, Strip
from gym_anything.measure.input_latency.timed_actions import usual_actions

pytestmark = pytest.mark.unit

FAKE = "gym_anything.testing.fakes.world:FakeWorld"
ACTIONS = {action.key: action for action in usual_actions((100, 100, 800, 500))}


def bench(*words: str) -> Result:
    return CliRunner().invoke(cli, ["bench", "input-latency", *words], catch_exceptions=True)


def pointed(counts: dict[str, int]) -> dict[str, dict[str, int]]:
    return {"a mouse": counts}


def test_a_lost_or_a_doubled_press_is_noticed() -> None:
    expected = Expected.of(ACTIONS["double_click"], 10)
    assert expected.met_by(pointed({"button_press": 20, "button_release": 20, "motion": 10}))
    assert not expected.met_by(pointed({"button_press": 19, "button_release": 20}))
    assert not expected.met_by(pointed({"button_press": 20, "button_release": 21}))
    assert not expected.met_by(pointed({"button_press": 20, "button_release": 20, "key_press": 1}))


def test_events_of_several_devices_count_together_and_text_may_need_more_keys() -> None:
    expected = Expected.of(ACTIONS["text"], 1)
    half = {"key_press": 10, "key_release": 10}
    assert expected.met_by({"one": half, "other": {"key_press": 12, "key_release": 12}})
    assert not expected.met_by({"one": half})


def test_no_two_places_in_a_row_are_the_same() -> None:
    for key in ("click", "drag", "move"):
        made = [json.dumps(ACTIONS[key].make(number)) for number in range(40)]
        assert all(one != other for one, other in itertools.pairwise(made))


def test_a_contact_sheet_shows_every_picture_and_where_the_pointer_went() -> None:
    screen, box = Image.new("RGB", (1280, 800), "#204060"), (100, 100, 640, 400)
    path = ((300, 300), (500, 200))
    one = contact_sheet("title", [Strip("one", box, (Picture("a", screen),))])
    plain = contact_sheet("title", [Strip("one", box, (Picture("a", screen), Picture("b", screen)))])
    marked = contact_sheet("title", [Strip("one", box, (Picture("a", screen), Picture("b", screen, path)))])
    assert plain.size == marked.size and plain.width > 1.8 * one.width
    difference = ImageChops.difference(plain, marked).getbbox()
    assert difference is not None and difference[0] > plain.width / 2, "the arrow is in the second picture alone"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--rounds", "0"], "--rounds"),
        (["--quick", "--rounds", "3"], "leave out --rounds"),
        (["--resolution", "1920"], "1920x1080"),
        (["--resolution", "10x10"], "640x480"),
        (["--evidence", "editr"], "editor"),
        (["--evidence", ""], "none"),
        (["--action", "{click"], "no JSON"),
        (["--action", '{"mouse": {"left_clik": [1, 2]}}'], "left_click"),
        (["--runner", "dokcer"], "docker"),
        (["no_such_environment"], "no_such_environment"),
        (["--fast", "now"], "--fast"),
    ],
)
def test_wrong_use_is_said_before_a_world_is_made(words: list[str], said: str, tmp_path: Path) -> None:
    result = bench(*words)
    assert result.exit_code != 0
    assert said in result.output + str(result.exception), result.output


def test_a_world_without_programs_is_timed_and_what_is_left_out_is_said(tmp_path: Path) -> None:
    result = bench("--runner", FAKE, "--rounds", "1", "--json", "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    (world,) = found["worlds"]
    assert set(world["boundaries"]) == {"runner_inject_action", "env_step"} == set(found["boundaries"])
    for boundary in world["boundaries"].values():
        assert set(boundary) == set(ACTIONS)
        for samples in boundary.values():
            assert len(samples["samples"]) == 1 and 0 < samples["p50"] <= samples["p95"] <= samples["max"]
    assert set(world["left_out"]) == {"editor", "events", "map"} and "python3" in world["left_out"]["events"]
    assert world["fast_io"] and world["screen"] == [1280, 800] and world["checks"] == []
    (report,) = tmp_path.rglob("report.json")
    assert json.loads(report.read_text(encoding="utf-8")) == world


def test_times_are_for_the_action_that_was_given() -> None:
    result = bench(
        "--runner", FAKE, "--rounds", "2", "--action", '{"mouse": {"move": [5, 6]}}', "--evidence", "none", "--json"
    )
    (world,) = json.loads(result.stdout)["worlds"]
    assert list(world["boundaries"]["env_step"]) == ['{"mouse": {"move": [5, 6]}}'] and world["left_out"].keys() <= {
        "editor"
    }
