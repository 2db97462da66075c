"""The pictures of very many worlds: throughput from one replica to a thousand, and tasks that come back after a kill.

Drawn from records alone, the same bytes for the same record. Colours follow the reader's light or dark scheme.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

_LEFT, _TOP, _WIDE, _HIGH, _RIGHT, _FOOT = 70, 64, 460, 230, 160, 52
_STYLE = """
  .ground { fill: #ffffff; stroke: #d0d7de; }  .ink { fill: #1f2328; }  .soft { fill: #59636e; }  .grid { stroke: #d8dee4; }
  .ours { stroke: #0969da; fill: none; stroke-width: 2; }  .dot { fill: #0969da; }  .other { stroke: #9a6700; fill: none; stroke-width: 2; }
  .ideal { stroke: #9aa4b0; fill: none; stroke-dasharray: 5 4; }
  text { font-family: system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif; font-size: 11.5px; }
  .title { font-size: 15px; font-weight: 600; }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #0d1117; stroke: #3d444d; }  .ink { fill: #f0f6fc; }  .soft { fill: #9198a1; }  .grid { stroke: #2a313c; }
    .ours { stroke: #4493f8; }  .dot { fill: #4493f8; }  .other { stroke: #d29922; }  .ideal { stroke: #656c76; }
  }
"""
Point = tuple[float, float]


def scale_chart(record: dict[str, Any]) -> str:
    """Return steps a second against replicas, both on logarithmic scales, beside what so many worlds could do alone."""
    series = record["series"]
    counts, shares = series["count"], series["efficiency"]
    decades = math.ceil(math.log10(max(counts)))

    def place(count: float, rate: float) -> Point:
        return _at(math.log10(count) / decades, math.log10(max(rate, 1e-9)) / decades)

    lines = []
    for decade in range(decades + 1):
        (x, y), words = place(10.0**decade, 10.0**decade), f"{10**decade:,}"
        lines += [_line(x, _TOP, x, _TOP + _HIGH), _line(_LEFT, y, _LEFT + _WIDE, y)]
        lines += [_text(x, _TOP + _HIGH + 18, words, "soft", "middle"), _text(_LEFT - 8, y + 4, words, "soft", "end")]
    lines.append(_path([place(1, 1), place(max(counts), max(counts))], "ideal"))
    measured = [place(count, count * share) for count, share in zip(counts, shares, strict=True)]
    lines.append(_path(measured, "ours"))
    for (x, y), count, share in zip(measured, counts, shares, strict=True):
        lines.append(f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>')
        lines.append(_text(x + 10, y + (14 if count > 1 else -8), f"{count:,}: {share:.3f}", "ink"))
    return _picture(
        "Steps a second of a pool, against its replicas (simulated, a second a step)",
        "dashed: what so many worlds do by themselves · beside each point: the share of it that the pool reaches",
        "replicas",
        lines,
    )


def recovery_chart(record: dict[str, Any]) -> str:
    """Return the share of tasks that are at work again, against the seconds since all worlds were killed."""
    curves = {"forked machines": ("ours", record["series"]["vm_back_each_s"])}
    curves["local desktops"] = ("other", record["series"]["desktop_back_each_s"])
    most = max(max(values) for _, values in curves.values())
    step = next(unit for unit in (0.5, 1, 2, 5, 10, 20, 50, 100, 500) if most / unit <= 8)
    end = step * math.ceil(most / step)
    lines = []
    for number in range(round(end / step) + 1):
        x, _ = _at(number * step / end, 0)
        lines += [_line(x, _TOP, x, _TOP + _HIGH), _text(x, _TOP + _HIGH + 18, f"{number * step:g}", "soft", "middle")]
    for share in (0, 0.25, 0.5, 0.75, 1):
        _, y = _at(0, share)
        lines += [_line(_LEFT, y, _LEFT + _WIDE, y), _text(_LEFT - 8, y + 4, f"{share:.0%}", "soft", "end")]
    for name, (look, values) in curves.items():
        lines.append(_path(_stairs(sorted(values), end), look))
        x, y = _at(max(values) / end, 1)
        lines.append(_text(x + 6, y + (14 if look == "ours" else -4), f"{name}: {max(values):.1f} s", "ink"))
    return _picture(
        "Tasks at work again after every world was killed at once",
        f"{len(record['series']['vm_back_each_s'])} of each; at work: it has done a step on a fresh world",
        "seconds since the kill",
        lines,
    )


def _stairs(values: Sequence[float], end: float) -> list[Point]:
    points = [_at(0, 0)]
    for number, value in enumerate(values):
        points += [_at(value / end, number / len(values)), _at(value / end, (number + 1) / len(values))]
    return points


def _at(across: float, up: float) -> Point:
    return _LEFT + across * _WIDE, _TOP + (1 - up) * _HIGH


def _path(points: Sequence[Point], look: str) -> str:
    return f'<polyline class="{look}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>'


def _line(x: float, y: float, to_x: float, to_y: float) -> str:
    return f'<line class="grid" x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}"/>'


def _text(x: float, y: float, words: str, look: str, anchor: str = "start") -> str:
    place = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text class="{look}" x="{x:.1f}" y="{y:.1f}"{place}>{escape(words)}</text>'


def _picture(title: str, note: str, axis: str, lines: Sequence[str]) -> str:
    width, height = _LEFT + _WIDE + _RIGHT, _TOP + _HIGH + _FOOT
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{_STYLE}</style>",
        f'<rect class="ground" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>',
        _text(16, 26, title, "title ink"),
        _text(16, 45, note, "soft"),
        _text(_LEFT + _WIDE / 2, _TOP + _HIGH + 38, axis, "soft", "middle"),
    ]
    return "\n".join([*head, *lines, "</svg>"]) + "\n"
