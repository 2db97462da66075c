"""The generated pages are current, and no figure in the docs lacks a record."""

from __future__ import annotations

import json
import re

import pytest
from tools import reference

from tests.architecture.source_tree import ROOT

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("page", sorted(reference.PAGES))
def test_a_generated_page_is_current(page: str) -> None:
    written = (reference.REFERENCE / page).read_text(encoding="utf-8")
    assert written == reference.NOTICE + reference.PAGES[page](), f"run `make docs`: {page} is out of date"


def test_the_chart_is_drawn_once_there_is_a_record_of_it() -> None:
    chart = f"figures/{reference.CHART}"
    measured = (reference.RECORDS / "bench_desktop.json").is_file()
    assert (reference.REFERENCE / chart).is_file() == (chart in reference.PAGES) == measured
    assert (chart in (reference.REFERENCE / "performance.md").read_text(encoding="utf-8")) == measured


FIGURE = re.compile(r"(?<![\w.`])\d[\d.,]*\s?(ms|s|MiB|GiB|min|µs)(?![\w`])")


@pytest.mark.parametrize("name", ["README.md", "docs/status.md"])
def test_a_table_row_with_a_figure_links_its_record(name: str) -> None:
    """A number with a unit in a table is a claim; a claim has a record."""
    path = ROOT / name
    claims = [
        line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("|") and FIGURE.search(line)
    ]
    bare = [
        line
        for line in claims
        if not re.search(r"\(((docs/)?reference/)?figures/\w+\.json\)", line) and "≤" not in line
    ]
    assert not bare, bare


def test_each_record_says_how_it_was_made() -> None:
    for path in reference.RECORDS.glob("*.json"):
        record = json.loads(path.read_text(encoding="utf-8"))
        for key in ("figure", "command", "commit", "date", "machine", "summary", "series", "conditions"):
            assert key in record, f"{path.name} lacks {key!r}"


def test_status_names_only_tests_and_records_that_exist() -> None:
    text = (ROOT / "docs" / "status.md").read_text(encoding="utf-8")
    for target in re.findall(r"`((?:tests|docs|native|tools|benchmarks|examples|src)/[\w./-]+)`", text):
        assert (ROOT / target).exists(), f"docs/status.md names {target}, which does not exist"
