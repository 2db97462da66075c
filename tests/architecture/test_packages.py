"""The system packages that `make setup` installs cover what the native programs and the runners say they need; each is
listed once, with a reason."""

from __future__ import annotations

import pytest

from tests.architecture.source_tree import ROOT

pytestmark = pytest.mark.unit


def lines(text: str) -> list[str]:
    return [line for line in (raw.split("#")[0] for raw in text.splitlines()) if line.split()]


def names(text: str) -> set[str]:
    return {line.split()[0] for line in lines(text)}


def test_set_up_installs_what_the_native_programs_need() -> None:
    installed = names((ROOT / "tools" / "debian-packages.txt").read_text(encoding="utf-8"))
    for listing in (ROOT / "native").glob("*/packages.txt"):
        assert names(listing.read_text(encoding="utf-8")) <= installed, listing


def test_each_package_stands_in_one_list_once_with_a_reason() -> None:
    listed = [
        line
        for name in ("debian-packages.txt", "debian-packages-test.txt")
        for line in lines((ROOT / "tools" / name).read_text(encoding="utf-8"))
    ]
    assert [line for line in listed if len(line.split()) < 2] == []
    assert len(names("\n".join(listed))) == len(listed)
