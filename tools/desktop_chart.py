"""The picture of ``gym-anything bench desktop``: time per action on a logarithmic scale, ours beside the other ways.

Drawn from the record alone, the same bytes for the same record. Colours follow the reader's light or dark scheme, on a
ground of their own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Any

SHOWN = ("see_unchanged", "see_full_change", "click_acknowledged", "click_to_pixel", "step", "type_ascii_1000", "start")
"""Series, from top to bottom."""

_BAR, _GAP, _GROUP, _HEAD, _FOOT, _MARGIN = 13, 4, 30, 76, 34, 16
_NAMES, _PANEL, _VALUES = 168, 250, 160  # widths: names of the ways, a panel's bars, room for values beside them
_STYLE = """
  .ground { fill: #ffffff; stroke: #d0d7de; }  text { stroke: #ffffff; stroke-width: 3px; paint-order: stroke; }  .ink { fill: #1f2328; }  .soft { fill: #59636e; }
  .grid { stroke: #d8dee4; }  .ours { fill: #0969da; }  .other { fill: #9aa4b0; }
  text { font-family: system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif; font-size: 11.5px; }
  .title { font-size: 15px; font-weight: 600; }  .group { font-size: 12.5px; font-weight: 600; }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #0d1117; stroke: #3d444d; }  text { stroke: #0d1117; }  .ink { fill: #f0f6fc; }  .soft { fill: #9198a1; }
    .grid { stroke: #2a313c; }  .ours { fill: #4493f8; }  .other { fill: #656c76; }
  }
"""


_LEGEND = "×: how many times as long as ours (as array) takes in the same rounds · “n of 1,000”: only so many characters arrived"


@dataclass(frozen=True)
class Bar:
    """One way in one series on one server: milliseconds, and what stands beside the bar."""

    value: float
    words: str


def desktop_chart(record: dict[str, Any]) -> str:
    """Return the picture as SVG."""
    summary, names = record["summary"], record["names"]
    servers = [name for name in ("Xvnc", "Xvfb") if any(key.startswith(name.lower()) for key in summary)]
    groups = [(names[key]["title"], _ways(key, names[key], summary, servers)) for key in SHOWN if key in names]
    values = [bar.value for _, ways in groups for _, bars in ways for bar in bars if bar]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    rows = sum(_GROUP + len(ways) * (_BAR + _GAP) for _, ways in groups)
    width = 2 * _MARGIN + _NAMES + len(servers) * (_PANEL + _VALUES)
    height = _HEAD + rows + _FOOT
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">',
        "<title>Time of an action on a desktop, ours beside the ways in use elsewhere</title>",
        f"<style>{_STYLE}</style>",
        f'<rect class="ground" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>',
        _text(_MARGIN, 28, "Time of an action, p50, on a logarithmic scale: shorter is better", "title ink"),
        _text(_MARGIN, 47, _LEGEND, "soft"),
    ]
    for number, server in enumerate(servers):
        left = _MARGIN + _NAMES + number * (_PANEL + _VALUES)
        lines += [_text(left, 70, server, "group ink"), *_axis(left, low, high, height)]
    lines += _groups(groups, low, high)
    return "\n".join([*lines, "</svg>"]) + "\n"


def _ways(
    series: str, names: dict[str, Any], summary: dict[str, Any], servers: list[str]
) -> list[tuple[str, list[Bar | None]]]:
    """Return each way's name and its bar for each server; None where it was not measured."""
    ways = []
    for way, name in names["ways"].items():
        bars: list[Bar | None] = []
        for server in servers:
            prefix = f"{server.lower()}_{series}_{way}"
            value = summary.get(f"{prefix}_ms_p50", summary.get(f"{prefix}_ms"))
            bars.append(None if value is None else Bar(value, _words(value, prefix, names, summary)))
        ways.append((name, bars))
    return ways


def _words(value: float, prefix: str, names: dict[str, Any], summary: dict[str, Any]) -> str:
    words = [duration(value)]
    ratio, arrived = summary.get(f"{prefix}_times_ours"), summary.get(f"{prefix}_characters_arrived_fewest")
    if ratio is not None and ratio >= 1.05:
        words.append(f"{ratio:,.0f}×" if ratio >= 10 else f"{ratio:.1f}×")
    if arrived is not None and arrived < names["characters"]:
        words.append(f"{arrived:,} of {names['characters']:,}")
    return " · ".join(words)


def duration(ms: float) -> str:
    """Return a time in the unit that suits it, with two or three digits."""
    value, unit = (ms * 1000, "µs") if ms < 1 else (ms, "ms") if ms < 1000 else (ms / 1000, "s")
    return f"{value:.0f} {unit}" if value >= 100 or unit == "µs" else f"{value:.1f} {unit}"


def _axis(left: int, low: int, high: int, height: int) -> Iterator[str]:
    for decade in range(low, high + 1):
        x = left + _x(10.0**decade, low, high)
        yield f'<line class="grid" x1="{x:.1f}" y1="{_HEAD}" x2="{x:.1f}" y2="{height - _FOOT + 4}"/>'
        label = duration(10.0**decade).replace(".0", "")
        yield _text(x, height - _FOOT + 18, label, "soft", anchor="middle")


def _groups(groups: list[tuple[str, list[tuple[str, list[Bar | None]]]]], low: int, high: int) -> Iterator[str]:
    y = float(_HEAD)
    for title, ways in groups:
        yield _text(_MARGIN, y + 20, title[0].upper() + title[1:], "group ink")
        y += _GROUP
        for name, bars in ways:
            yield _text(
                _MARGIN + _NAMES - 10, y + _BAR - 2, name, "ink" if name.startswith("ours") else "soft", anchor="end"
            )
            for number, bar in enumerate(bars):
                left = _MARGIN + _NAMES + number * (_PANEL + _VALUES)
                yield from _bar(left, y, bar, "ours" if name.startswith("ours") else "other", low, high)
            y += _BAR + _GAP


def _bar(left: int, y: float, bar: Bar | None, look: str, low: int, high: int) -> Iterator[str]:
    if bar is None:
        yield _text(left + 4, y + _BAR - 2, "not measured", "soft")
        return
    length = max(_x(bar.value, low, high), 1.0)
    yield f'<rect class="{look}" x="{left}" y="{y:.1f}" width="{length:.1f}" height="{_BAR}" rx="2"/>'
    yield _text(left + length + 6, y + _BAR - 2, bar.words, "ink")


def _x(value: float, low: int, high: int) -> float:
    return (math.log10(value) - low) / max(1, high - low) * _PANEL


def _text(x: float, y: float, words: str, look: str, anchor: str = "start") -> str:
    place = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text class="{look}" x="{x:.1f}" y="{y:.1f}"{place}>{escape(words)}</text>'
