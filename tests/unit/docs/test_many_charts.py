"""The pictures of very many worlds say what their records say, and stay inside their frame."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import pytest
from tools.many_charts import recovery_chart, scale_chart

pytestmark = pytest.mark.unit

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return [node.text or "" for node in ET.fromstring(svg).iter(f"{SVG}text")]


def test_throughput_says_what_share_of_the_ideal_is_reached() -> None:
    record: dict[str, Any] = {"series": {"count": [1, 16, 128, 1024], "efficiency": [0.99, 0.985, 0.98, 0.955]}}
    svg = scale_chart(record)
    assert {"1: 0.990", "16: 0.985", "128: 0.980", "1,024: 0.955", "1,000", "replicas"} <= set(texts(svg))
    assert svg == scale_chart(record)


def test_recovery_says_when_the_last_task_is_back() -> None:
    record: dict[str, Any] = {"series": {"vm_back_each_s": [3.0, 9.5, 21.25], "desktop_back_each_s": [1.0, 4.0, 12.5]}}
    svg = recovery_chart(record)
    assert {"forked machines: 21.2 s", "local desktops: 12.5 s", "100%", "25"} <= set(texts(svg))
    root = ET.fromstring(svg)
    for line in root.iter(f"{SVG}polyline"):
        places = [tuple(map(float, point.split(","))) for point in line.attrib["points"].split()]
        assert all(0 <= x <= float(root.attrib["width"]) and 0 <= y <= float(root.attrib["height"]) for x, y in places)
