"""The live view's page in a real browser: what a person does with the mouse is what is wished, once."""

from __future__ import annotations

import io
import queue
from collections.abc import Iterator
from typing import Any

import pytest
from PIL import Image

from gym_anything.agents.builtin.human.commands import DONE
from gym_anything.agents.builtin.human.view import LiveView
from tests.conftest import RequireBackend
from tests.viewer_browser import CHROMIUM, browser

pytestmark = pytest.mark.real

SCREEN = (640, 400)
COUNT_ACTS = """
window.acts = 0;
const plain = window.fetch;
window.fetch = (url, ...more) => { window.acts += String(url).startsWith("/act"); return plain(url, ...more); };
"""


@pytest.fixture(scope="module")
def chromium(require_backend: RequireBackend) -> Iterator[Any]:
    """Return a running Chromium."""
    require_backend("chromium", CHROMIUM is not None, "no chromium is installed")
    with browser() as running:
        yield running


def png() -> bytes:
    data = io.BytesIO()
    Image.new("RGB", SCREEN, "navy").save(data, "PNG")
    return data.getvalue()


class Person:
    """Somebody at the page; the screen is shown in its own size."""

    def __init__(self, page: Any, wishes: queue.SimpleQueue[Any]) -> None:
        self.page, self._wishes = page, wishes
        self._taken = 0
        self._box = page.locator("#screen").bounding_box()

    def at(self, x: int, y: int) -> tuple[float, float]:
        return self._box["x"] + x + 0.5, self._box["y"] + y + 0.5

    def wish(self) -> Any:
        """Return the wish that the page has sent since the last one; it has sent no other."""
        wish = self._wishes.get(timeout=20)
        self._taken += 1
        assert self.page.evaluate("window.acts") == self._taken, "one thing done is one wish"
        return wish


@pytest.fixture
def person(chromium: Any) -> Iterator[Person]:
    """Return a person who sees a first screen; whatever the page complains about fails the test."""
    wishes: queue.SimpleQueue[Any] = queue.SimpleQueue()
    view = LiveView("do it", SCREEN, wishes)
    context = chromium.new_context(viewport={"width": 1000, "height": 800})
    try:
        page = context.new_page()
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.add_init_script(COUNT_ACTS)
        view.show(png())
        page.goto(view.url)
        page.wait_for_function("w => document.getElementById('screen').naturalWidth === w", arg=SCREEN[0])
        yield Person(page, wishes)
        assert complaints == []
    finally:
        context.close()
        view.close()


@pytest.mark.parametrize(
    ("button", "action"), [("left", "left_click"), ("right", "right_click"), ("middle", "middle_click")]
)
def test_each_button_is_that_button_and_no_other(person: Person, button: str, action: str) -> None:
    for x in (30, 600):
        person.page.mouse.click(*person.at(x, 40), button=button)
        (wish,) = person.wish()
        assert wish == {"mouse": {action: [x, 40]}}


def test_a_drag_of_the_left_button_alone_is_a_drag(person: Person) -> None:
    mouse = person.page.mouse
    mouse.move(*person.at(10, 20))
    mouse.down()
    mouse.move(*person.at(200, 100), steps=4)
    mouse.up()
    assert person.wish() == [{"mouse": {"left_click_drag": [[10, 20], [200, 100]]}}]
    mouse.move(*person.at(10, 20))
    mouse.down(button="right")
    mouse.move(*person.at(200, 100), steps=4)
    mouse.up(button="right")
    (wish,) = person.wish()
    assert list(wish["mouse"]) == ["right_click"]


def test_what_is_chosen_typed_pressed_and_said(person: Person) -> None:
    page = person.page
    page.select_option("#kind", "double_click")
    page.mouse.click(*person.at(5, 6))
    assert person.wish() == [{"mouse": {"double_click": [5, 6]}}]
    page.click("#down")
    assert person.wish() == [{"mouse": {"move": [5, 6], "scroll": 3}}]
    page.fill("#text", "Grüße")
    page.press("#text", "Enter")
    assert person.wish() == [{"keyboard": {"text": "Grüße"}}]
    page.fill("#keys", "ctrl+s")
    page.press("#keys", "Enter")
    assert person.wish() == [{"keyboard": {"keys": ["ctrl+s"]}}]
    page.click("#done")
    assert person.wish() == DONE
