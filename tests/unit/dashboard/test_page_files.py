"""The page's own files: nothing from elsewhere, no text that becomes a page, all of them loaded at once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import gym_anything.dashboard.app as app

pytestmark = pytest.mark.unit
STATIC = Path(app.__file__).parent / "static"
FILES = sorted(path.name for path in STATIC.iterdir())


@pytest.mark.parametrize("name", FILES)
def test_no_text_is_ever_made_into_a_page_and_nothing_comes_from_elsewhere(name: str) -> None:
    text = (STATIC / name).read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|new Function|srcdoc", text)
    assert not re.search(r"https?:|//[a-z]+\.[a-z]|@import", text)
    assert not re.search(r"\sstyle=|\son\w+=|javascript:", text), "forbidden by the page's own rules"


def test_every_module_is_loaded_ahead() -> None:
    page = (STATIC / app.PAGE).read_text(encoding="utf-8")
    named = set(re.findall(r'(?:href|src)="/static/([\w.]+)"', page))
    assert named | {app.PAGE} == set(FILES)
    for name in FILES:
        imported = re.findall(r'from "\./([\w.]+)"', (STATIC / name).read_text(encoding="utf-8"))
        assert set(imported) <= set(FILES), name
