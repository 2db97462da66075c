"""The chart of ``bench desktop`` says what the record says, and nothing lies over anything else."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from itertools import pairwise
from typing import Any

import pytest
from tools.desktop_chart import desktop_chart, duration

pytestmark = pytest.mark.unit

SVG = "{http://www.w3.org/2000/svg}"
WIDEST_PX = 0.62  # of a letter, in its size


def record() -> dict[str, Any]:
    names = {
        "see_unchanged": {
            "title": "picture, unchanged",
            "characters": None,
            "ways": {"ours": "ours", "http": "PNG <HTTP>"},
        },
        "type_ascii_1000": {"title": "typed", "characters": 1000, "ways": {"ours": "ours", "xdotool": "xdotool"}},
    }
    summary = {
        "xvnc_see_unchanged_ours_ms_p50": 0.05, "xvnc_see_unchanged_http_ms_p50": 44.0,
        "xvnc_see_unchanged_http_times_ours": 880.0, "xvfb_see_unchanged_ours_ms_p50": 0.04,
        "xvnc_type_ascii_1000_ours_ms_p50": 30.0, "xvfb_type_ascii_1000_ours_ms_p50": 30.0,
        "xvnc_type_ascii_1000_xdotool_ms_p50": 3000.0, "xvnc_type_ascii_1000_xdotool_times_ours": 100.0,
        "xvnc_type_ascii_1000_xdotool_characters_arrived_fewest": 990,
        "xvfb_type_ascii_1000_xdotool_ms_p50": 2000.0,
    }  # fmt: skip
    return {"summary": summary, "names": names}


def texts(svg: str) -> list[str]:
    return [node.text or "" for node in ET.fromstring(svg).iter(f"{SVG}text")]


def test_values_ratios_and_what_was_not_measured_are_said() -> None:
    said = texts(desktop_chart(record()))
    assert {"50 µs", "44.0 ms · 880×", "3.0 s · 100× · 990 of 1,000", "not measured", "PNG <HTTP>"} <= set(said)
    assert {"10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s", "10 s"} <= set(said), "the axis"


def test_the_same_record_gives_the_same_picture() -> None:
    assert desktop_chart(record()) == desktop_chart(record())


def test_no_bar_or_word_leaves_its_place() -> None:
    root = ET.fromstring(desktop_chart(record()))
    width, height = float(root.get("width", "")), float(root.get("height", ""))
    rows: dict[float, list[tuple[float, float]]] = {}
    for node in root.iter(f"{SVG}text"):
        x, y, long = float(node.get("x", "")), float(node.get("y", "")), len(node.text or "") * 11.5 * WIDEST_PX
        left = {"middle": x - long / 2, "end": x - long}.get(node.get("text-anchor", ""), x)
        assert left >= 0 and left + long <= width and y <= height, node.text
        rows.setdefault(y, []).append((left, left + long))
    for y, spans in rows.items():
        spans.sort()
        assert all(one[1] <= two[0] for one, two in pairwise(spans)), f"words overlap at {y}"
    assert all(float(bar.get("width", "")) > 0 for bar in root.iter(f"{SVG}rect"))


def test_ten_times_the_time_is_as_much_longer_everywhere() -> None:
    bars = re.findall(r'<rect class="(?:ours|other)" x="\d+" y="[\d.]+" width="([\d.]+)"', desktop_chart(record()))
    ours_vnc, ours_vfb, http, typed, _, xdotool_vnc, xdotool_vfb = map(float, bars)
    decade = (xdotool_vnc - typed) / 2  # 3000 ms and 30 ms
    assert http - ours_vnc == pytest.approx(math.log10(44 / 0.05) * decade, abs=0.2)
    assert ours_vnc - ours_vfb == pytest.approx(math.log10(0.05 / 0.04) * decade, abs=0.2)
    assert xdotool_vnc - xdotool_vfb == pytest.approx(math.log10(1.5) * decade, abs=0.2)


@pytest.mark.parametrize(
    ("ms", "words"),
    [(0.0312, "31 µs"), (0.9994, "999 µs"), (1.0, "1.0 ms"), (44.04, "44.0 ms"), (104.4, "104 ms"), (2500, "2.5 s")],
)
def test_a_duration_is_said_in_its_unit(ms: float, words: str) -> None:
    assert duration(ms) == words
