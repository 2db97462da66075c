"""The viewer in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gym_anything.benchmark.results import ResultsFolder
from gym_anything.dashboard.server import ViewServer
from gym_anything.episode.outcome import Outcome
from gym_anything.episode.video import Video
from gym_anything.specs.recording import Recording
from tests.viewed_runs import EVIL, add_run, pilot, request
from tests.viewer_browser import wait_shown

pytestmark = pytest.mark.real
RUN, SHORT = "pilot/m-1/editor/write/run_001", "pilot/m-2/editor/write/run_001"
FIT = "document.documentElement.scrollWidth <= innerWidth"


@pytest.fixture(scope="module")
def profile(chromium: Any) -> Iterator[Any]:
    """Return a profile of the browser for these tests."""
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    yield context
    context.close()


@pytest.fixture
def page(profile: Any, served: tuple[ViewServer, Path]) -> Iterator[Any]:
    """Return the list of runs in a page of its own; whatever the page complains about fails the test."""
    page = profile.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.goto(served[0].url)
    wait_shown(page, "list")
    yield page
    page.evaluate("localStorage.clear()")
    page.close()
    assert complaints == []


def go(page: Any, hash_: str, what: str) -> None:
    page.evaluate("hash => { location.hash = hash; }", hash_)
    wait_shown(page, what)


def tasks(page: Any) -> list[str]:
    return page.locator(".row .c-task").all_text_contents()


def test_runs_are_listed_filtered_sorted_and_linked_to(page: Any) -> None:
    assert "token" not in page.url, "the address that is copied holds no key"
    assert page.locator(".row").count() == 6
    assert page.locator(".sum").inner_text() == "6 runs · 50.0 % of 4 judged ones passed · 21.5 s each"
    page.keyboard.press("/")
    page.keyboard.type("env:editor -fold")
    assert tasks(page) == ["write"] * 3
    page.locator(".chip.failed").click()
    assert page.locator(".row").count() == 2
    page.locator(".head .c-model").click()
    page.locator(".head .c-model").click()
    assert page.locator(".row .c-model").all_text_contents() == ["m-2", "m-1"]
    page.reload()
    wait_shown(page, "list")
    assert page.locator(".row .c-model").all_text_contents() == ["m-2", "m-1"], "the address holds what is shown"
    page.keyboard.press("Escape")
    assert page.locator(".row").count() == 6


def test_the_grid_has_a_tile_for_each_run(page: Any) -> None:
    page.keyboard.press("g")
    assert page.locator(".head span").all_text_contents() == ["task", "m-1", "m-2"]
    assert [page.locator(f".tile.{name}").count() for name in ("passed", "failed", "broken", "unfinished")] == [
        2,
        2,
        1,
        1,
    ]
    page.locator(".tile.broken").click()
    wait_shown(page, "run pilot/m-2/editor/fold/run_001")
    assert "no disk is left" in page.locator(".said").inner_text()


def test_links_of_the_grid_leave_runs_of_exactly_that_name(chromium: Any, tmp_path: Path) -> None:
    """``a`` is a part of ``ab``, and ``m`` one of ``m-2``; in two experiments a lane is of one of them."""
    names = [("a", "m", "e"), ("ab", "m", "e"), ("a", "m-2", "e"), ("a", "m", "e-2"), ("A", "m", "e")]
    for exp, times in (("first", 9), ("second", 1)):
        for task, model, env in names:
            for attempt in range(times):
                asked = request(task, model, env, attempt=attempt)
                add_run(ResultsFolder(tmp_path, exp), asked, Outcome.passed(100), steps=None)
    with ViewServer({exp: tmp_path / exp for exp in ("first", "second")}) as server:
        page = chromium.new_page()
        page.goto(f"{server.url}#/?as=grid")
        wait_shown(page, "list")
        row = page.locator(".row", has=page.locator('.c-task[title="e/a"]'))
        more, task = row.locator(".more").first.get_attribute("href"), row.locator(".c-task").get_attribute("href")
        go(page, more, "list")
        assert page.locator(".sum").inner_text().startswith("9 runs of 50 ")
        go(page, task, "list")
        assert set(tasks(page)) == {"a"} and page.locator(".sum").inner_text().startswith("20 runs of 50 ")
        go(page, "#/?q=task:a", "list")
        assert page.locator(".sum").inner_text().startswith("50 runs ")
        go(page, "#/?q=-task:%3Dab%20env:%3De", "list")
        assert page.locator(".sum").inner_text().startswith("30 runs of 50 ")
        page.context.close()


def test_an_episode_is_gone_through_by_keys(page: Any) -> None:
    go(page, f"#/run/{RUN}", f"run {RUN}")
    assert page.locator("figcaption").inner_text() == "step 1 of 3 · before the action"
    assert page.locator(".frame img").get_attribute("src").partition("?")[0].endswith("frame_00000.png")
    mark = page.locator(".marks .dot").bounding_box()
    frame = page.locator(".frame img").bounding_box()
    scale = frame["width"] / 640
    seen = [mark["x"] + mark["width"] / 2 - frame["x"], mark["y"] + mark["height"] / 2 - frame["y"]]
    assert seen == pytest.approx([120 * scale, 80 * scale], abs=2), "the click is drawn where it went"
    assert page.locator(".task").inner_text().splitlines()[-1] == "Write it down."
    assert "The menu is at the top." in page.locator(".said").inner_text()
    page.keyboard.press("b")
    assert page.locator(".frame img").get_attribute("src").partition("?")[0].endswith("frame_00001.png")
    assert page.locator(".marks .dot").count() == 0
    page.keyboard.press("b")
    page.keyboard.press("ArrowRight")
    assert page.locator(".actions li").all_text_contents() == ['type "Hello"', "press Ctrl+s"]
    assert page.url.endswith(f"#/run/{RUN}?step=2")
    page.keyboard.press("End")
    assert "the text is there" in page.locator(".said").inner_text()
    assert page.locator(".said th").all_text_contents() == ["file is there", "text is right"]
    page.reload()
    wait_shown(page, f"run {RUN}")
    assert page.locator("figcaption").inner_text() == "end, after 3 steps"
    page.keyboard.press("u")
    wait_shown(page, "list")


def test_what_an_agent_wrote_is_text_and_never_runs(page: Any) -> None:
    go(page, f"#/run/{RUN}?step=2", f"run {RUN}")
    assert page.locator(".thought .prose").inner_text() == EVIL
    go(page, "#/run/pilot/m-1/editor/write/run_002?step=4", "run pilot/m-1/editor/write/run_002")
    assert "<b>text is right</b>" in page.locator(".said").inner_text()
    assert page.title() == "write run_002 · failed" and page.locator(".said b").count() == 0


def test_two_runs_side_by_side_go_together(page: Any) -> None:
    page.locator(".row", has_text="m-1").filter(has_text="#001").filter(has_text="write").click(
        position={"x": 5, "y": 5}
    )
    wait_shown(page, f"run {RUN}")
    page.keyboard.press("x")
    go(page, f"#/run/{SHORT}", f"run {SHORT}")
    page.keyboard.press("x")
    wait_shown(page, f"compare {RUN} {SHORT}")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.locator("figcaption").all_text_contents() == ["step 3 of 3 · before the action", "end, after 1 step"]
    assert page.locator(".facts th", has_text="asked: model").count() == 1
    assert page.url.endswith("?step=3")


def test_it_is_readable_on_a_phone_and_in_the_dark(page: Any) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    page.emulate_media(color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 28)"
    assert page.evaluate(FIT)
    for hash_, what in (
        (f"#/run/{RUN}", f"run {RUN}"),
        (f"#/compare/{RUN.replace('/', '%2F')}/{SHORT.replace('/', '%2F')}", f"compare {RUN} {SHORT}"),
    ):
        go(page, hash_, what)
        assert page.evaluate(FIT), f"{what} is wider than the phone"
    page.keyboard.press("t")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(246, 247, 249)"


def test_a_wrong_link_says_so(page: Any) -> None:
    page.evaluate("location.hash = '#/nowhere'")
    page.locator("#trouble:visible").wait_for()
    assert "there is no page" in page.locator("#trouble").inner_text()


def test_new_runs_appear_by_themselves(chromium: Any, tmp_path: Path) -> None:
    exp = pilot(tmp_path)
    with ViewServer({"pilot": exp}) as server:
        page = chromium.new_page()
        page.clock.install()
        page.goto(server.url)
        page.locator(".row").nth(5).wait_for()
        add_run(ResultsFolder(tmp_path, "pilot"), request("new"), Outcome.passed(100), steps=None)
        page.clock.run_for(6000)
        page.locator(".row", has_text="new").wait_for()
        assert page.locator(".row").count() == 7
        page.context.close()


def test_an_episode_that_is_still_played_grows(chromium: Any, tmp_path: Path) -> None:
    run, exp = "pilot/m-1/editor/fold/run_001", pilot(tmp_path)
    (trajectory,) = exp.glob("m-1/editor/fold/run_001/episode_*/traj.jsonl")
    with ViewServer({"pilot": exp}) as server:
        page = chromium.new_page()
        page.clock.install()
        page.goto(f"{server.url}#/run/{run}")
        page.locator("figcaption", has_text="step 1 of 3").wait_for()
        with trajectory.open("a") as stream:
            for step in (4, 5):
                stream.write(f'{{"event": "step", "step": {step}, "actions": []}}\n')
        page.clock.run_for(6000)
        page.locator("figcaption", has_text="step 1 of 5").wait_for()
        page.keyboard.press("End")
        page.keyboard.press("ArrowLeft")
        caption = "step 5 of 5 · the frame was not kept; this one is 1 step earlier"
        page.locator("figcaption", has_text=caption).wait_for()
        page.keyboard.press("ArrowLeft")
        page.locator("figcaption", has_text="step 4 of 5 · before the action").wait_for()
        page.context.close()


def test_the_recording_is_played(page: Any, served: tuple[ViewServer, Path]) -> None:
    (folder,) = served[1].glob("m-1/painter/draw/run_001/episode_*")
    video = Video(folder / "recording.mp4", Recording())
    for n in range(4):
        video.add(np.full((64, 96, 3), 60 * n, np.uint8), n / 2)
    video.close(2.0)
    go(page, "#/run/pilot/m-1/painter/draw/run_001", "run pilot/m-1/painter/draw/run_001")
    page.keyboard.press("v")
    page.wait_for_function("() => document.querySelector('video')?.readyState >= 2")
    assert page.evaluate("[document.querySelector('video').videoWidth, document.querySelector('.frame').hidden]") == [
        96,
        True,
    ]
    page.keyboard.press("v")
    assert page.locator("video").count() == 0


def test_a_long_list_holds_only_what_can_be_seen(page: Any) -> None:
    page.evaluate(
        """async () => {
            const { VirtualList } = await import("/static/virtual.js");
            const list = new VirtualList((row, n) => row.append(String(n)), "many");
            document.querySelector(".runs").replaceChildren(list.element);
            list.show(10000, 0);
            list.choose(9999);
            window.many = list;
        }"""
    )
    page.locator(".row", has_text="9999").wait_for()
    assert page.locator(".row").count() < 60
    assert page.evaluate("many.element.scrollTop + many.element.clientHeight") == 10000 * 34
