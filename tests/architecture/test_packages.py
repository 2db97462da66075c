"""The system packages that `make setup` installs cover what the native programs and the runners say they need."""

from __future__ import annotations

import pytest

from tests.architecture.source_tree import ROOT

pytestmark = pytest.mark.unit


def names(text: str) -> set[str]:
    return {line.split()[0] for line in (raw.split("#")[0] for raw in text.splitlines()) if line.split()}


def test_set_up_installs_what_the_native_programs_need() -> None:
    installed = names((ROOT / "tools" / "debian-packages.txt").read_text(encoding="utf-8"))
    for listing in (ROOT / "native").glob("*/packages.txt"):
        assert names(listing.read_text(encoding="utf-8")) <= installed, listing
